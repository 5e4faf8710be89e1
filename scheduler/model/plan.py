"""The planner's output: one decision per pending job, and those to let elastic jobs grow (contract A)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler.model.reasons import Reason


class DecisionKind(StrEnum):
    """What is to become of a pending job; GROW is about a running one."""

    START = "start"
    SHRINK = "shrink"
    """Only workers of elastic jobs are taken."""
    SWAP = "swap"
    """A young running job exchanges a node for a free one, so that both are even."""
    PREEMPT = "preempt"
    WAIT = "wait"
    RESERVE = "reserve"
    """Nodes are kept for it until `at`."""
    QUEUE = "queue"
    GROW = "grow"
    """A running elastic job gets workers back."""


class How(StrEnum):
    """How a victim gives way."""

    REQUEUE = "requeue"
    CANCEL = "cancel"
    UNITS = "units"
    """It gives back some of its units and goes on."""
    NODES = "nodes"
    """It gives up some of its nodes and goes on."""
    SWAP = "swap"
    """It exchanges nodes for others and goes on."""


class Shrinking(StrEnum):
    """How a job of several nodes is made smaller on the cluster (spec 4.1)."""

    RESTART = "restart"
    """It is put back, and starts again on fewer nodes."""
    INPLACE = "inplace"
    """It gives nodes back while it runs."""


MAKES_ROOM = frozenset({DecisionKind.PREEMPT, DecisionKind.SHRINK, DecisionKind.SWAP})
"""Verdicts by which somebody gives way."""
STOPPED = frozenset({How.REQUEUE, How.CANCEL})
"""The ways in which a whole job ends its run."""


@dataclass(frozen=True, slots=True)
class DecidedVictim:
    """A running job that is stopped for the beneficiary, or gives up a part.

    `units`: how many it gives back (UNITS), `on`: of them so many on each node. `nodes`: which it gives up (NODES,
    SWAP). `gets`: instead of them (SWAP). `worker_of`: the group of the elastic job that loses it as a worker, and goes
    on with at least `least` others. `workers`: while planning, the jobs that are the units. `by`: in which way it is
    made smaller (NODES); it keeps `least` nodes.
    """

    job: str
    how: How = How.REQUEUE
    units: int = 0
    nodes: tuple[str, ...] = ()
    gets: tuple[str, ...] = ()
    on: tuple[tuple[str, int], ...] = ()
    worker_of: str = ""
    least: int = 0
    workers: tuple[str, ...] = ()
    by: Shrinking | None = None


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A running job that was looked at and left alone, and why."""

    job: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class TaskRoom:
    """A task that gets room together with others, and the node on which that is."""

    job: str
    node: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one pending job (grow: on a running one).

    `nodes`: where it is expected to run, or to grow. `placement`: what it takes on each of them. `units`: how many of
    its units it gets (only of requests in units). `at`: epoch second (wait, reserve). `passed_over`: for the
    explanation, not part of contract A's output.

    Tasks of an array that get room together have a verdict each. `tasks`: all of them, on the first one's only, which
    has all victims and the whole placement. `lead`: the first one, on the others'; their placement is their own part.
    """

    job: str
    action: DecisionKind
    reason: Reason
    explain: str
    nodes: tuple[str, ...] = ()
    victims: tuple[DecidedVictim, ...] = ()
    at: int | None = None
    units: int | None = None
    placement: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    passed_over: tuple[PassedOver, ...] = ()
    tasks: tuple[TaskRoom, ...] = ()
    lead: str = ""


@dataclass(frozen=True, slots=True)
class PlanningResult:
    """All decisions of one partition at one moment, in the order in which they were made."""

    partition: str
    decisions: tuple[Decision, ...]
