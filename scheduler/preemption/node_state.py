"""Nodes and running jobs while planning: what is free and coming on a node, what a job may still lose."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler.model.jobs import SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.resources import Amounts
from scheduler.preemption.pieces import JobPieces

ALL = 1 << 62
"""More than any node has, and than any job could give: what a node lacks of everything that was given away whole."""
GIVEN_AWAY = -ALL // 2
"""Who has less than this has been given away."""


@dataclass(slots=True, eq=False)
class NodeState:
    """A node while planning. `free` may be below zero (an overcommitted node has nothing free).

    `coming` is held by jobs that are ending, `stoppable` together by runners that may go. `holders`: who is on it to
    stay (running jobs not stopped, rooms set aside, jobs of other partitions); `ending`: who is on it but leaves, and
    `leaving`: whether anybody does, of other partitions too.
    """

    node: SnapshotNode
    order: int
    free: dict[str, int]
    coming: dict[str, int] = field(default_factory=dict)
    stoppable: dict[str, int] = field(default_factory=dict)
    holders: int = 0
    ending: list[SnapshotJob] = field(default_factory=list)
    leaving: bool = False
    runners: list["RunningJob"] = field(default_factory=list)
    alone: tuple["NodeState", ...] = ()
    """Itself: what the many jobs that are on this node only have as their places."""


@dataclass(slots=True, eq=False)
class RunningJob:
    """A running job while planning. `first` and `second` are its weights on the mode's axes.

    `ran`: how long it has run, earlier runs that count among it. Tasks of one group may have exchanged that among
    them, and their times of submission (`submitted`): `own_ran` is its own then (`group_order`). `spared`: why it may
    not be stopped (a `Reason`), else empty; `lasting`: whether that holds for the whole plan. `alive`: not stopped yet.
    `may_go`: alive and not spared. `alloc`: what it holds now, in the order of `places`. `pieces`: what of it it may
    lose and go on, for the methods that take parts; the core does not look at it. `tied`: what it holds on one node is
    not to be had without the rest.
    """

    job: SnapshotJob
    order: int
    first: int
    second: int
    ran: int
    spared: str
    places: tuple[NodeState, ...]
    alloc: Mapping[str, Amounts]
    lasting: bool = False
    alive: bool = True
    may_go: bool = True
    pieces: JobPieces | None = None
    tied: bool = True
    own_ran: int | None = None
    submitted: int | None = None

    @property
    def parts(self) -> Iterable[tuple[NodeState, Amounts]]:
        """Each of its nodes with what it holds there."""
        return zip(self.places, self.alloc.values(), strict=True)
