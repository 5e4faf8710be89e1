"""The door by which planning methods come into a plan. The core knows methods by this only, and none of them by name.

A method lives in a folder of its own, and its `method.py` has the two classes of this file:

- `Method`, one object for all plans: whether it has anything to do in a partition, what running jobs may give up and
  go on, how requests are counted, and what it does around a whole plan.
- `MethodRun`, one object for each plan that it is on in: its steps among those of the core (`StepTurn`), what it does
  when something is decided, and how its victims give way.

Every hook has a default that does nothing. `planner.METHODS` is the list of them; who is not on in a plan is asked
nothing more in it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import DecidedVictim, Decision, PlanningResult
from scheduler.model.sentence import Sentence
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import GivingWay
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.search import Placement
from scheduler.preemption.shapes import Shape
from scheduler.preemption.spread import Pool

if TYPE_CHECKING:
    from scheduler.preemption.planning_run import PlanningRun

Planning = Callable[[Snapshot], PlanningResult]


class StepTurn(IntEnum):
    """When a step has its turn: what costs others nothing comes first."""

    CHOSEN_ROOM = 1
    """Free room, on nodes that are chosen with care."""
    FREE_ROOM = 2
    COMING_ROOM = 3
    """Room that jobs leave which are ending."""
    PARTS = 4
    """Others give up a part and go on; nobody is stopped."""
    LATER = 5
    """It will get room by itself soon enough."""
    STOPS = 6
    LESS = 7
    """It gets less than it asks for, or is told why it gets nothing."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A pending job at its turn: what it asks for, and what it outranks."""

    job: SnapshotJob
    shape: Shape
    scope: PreemptionScope


Decide = Callable[["PlanningRun", Ask], Decision | None]
"""Decides a job, or leaves it to the next step."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a decision. Of one stage, the steps of methods come in their order, those of the core first.

    `of_claimed`: also for jobs whose nodes another method chooses (`MethodRun.claims`).
    """

    stage: StepTurn
    decide: Decide
    of_claimed: bool = False


@dataclass(frozen=True, slots=True)
class UnitGrant:
    """What a pending job gets of what it asks for. `job`: as one that asked for no more; `units`: how many, for
    `Decision.units`; `said`: what is to be added when that is not all."""

    job: SnapshotJob
    units: int | None = None
    said: Sentence | str = ""


class Method:
    """A planning method, for all plans."""

    def is_on(self, snapshot: Snapshot) -> bool:
        """Whether the partition's policy switches it on, and there is anything for it to do."""
        raise NotImplementedError

    def begin(self, run: "PlanningRun") -> "MethodRun":
        """What it keeps and does in one plan; methods before it in the list have begun already."""
        return MethodRun()

    def around(self, snapshot: Snapshot, planning: Planning) -> PlanningResult:
        """The plan for a snapshot; whether it is on or not."""
        return planning(snapshot)

    def divide(self, runner: RunningJob, rules: PartitionRules) -> bool:
        """Note what a running job may lose and go on; whether there is anything. Who is divided is not asked again."""
        return False

    def giving_way(self, state: ClusterState) -> GivingWay | None:
        """How victims give way in this plan, if anybody does otherwise than as a whole. The first answer counts."""
        return None

    def pool(self, shape: Shape) -> type[Pool] | None:
        """What a request that names no number of nodes is counted in, if not in amounts."""
        return None

    def said_of_running(self, snapshot: Snapshot, job: SnapshotJob) -> Iterable[str]:
        """What `explain` says of a running job on its account; whether it is on or not."""
        return ()


class MethodRun:
    """What a method keeps and does in one plan in which it is on."""

    plans_groups = True
    """Whether jobs that count their nodes by features are given room while it is on."""

    def steps(self) -> Sequence[Step]:
        """Its steps for every job that nobody claims."""
        return ()

    def claims(self, job: SnapshotJob, shape: Shape) -> bool:
        """Whether it chooses the nodes of a pending job, by its own steps instead of the usual ones."""
        return False

    def steps_of_claimed(self) -> Sequence[Step]:
        """Its steps for the jobs that it claims."""
        return ()

    def running_jobs(self) -> Sequence[SnapshotJob]:
        """Running jobs that have a turn among the pending ones, by their rank."""
        return ()

    def decide_running(self, job: SnapshotJob) -> Sequence[Decision]:
        """Their turn."""
        return ()

    def chooses_free_room(self, ask: Ask) -> bool:
        """Whether its own step has looked through all free room for a job, so that nobody need look again."""
        return False

    def afterwards(self, ask: Ask, decision: Decision) -> Decision:
        """The decision that the steps came to, or another one in its place."""
        return decision

    def held_back(self, ask: Ask, decision: Decision) -> Decision:
        """The same, where room was found and a limit forbids that others give way."""
        return decision

    def give_way(self, runner: RunningJob, price: Price) -> DecidedVictim | None:
        """Take from a victim what it loses, if it goes on with the rest; None: it is stopped."""
        return None

    def making_room(self, ask: Ask, nodes: Iterable[str], price: Price) -> Sentence | None:
        """What is said of victims of whom some go on; before it happens."""
        return None

    def share(self, ask: Ask, units: int | None) -> UnitGrant | None:
        """What a job gets, if that is counted in units: so many, or (None) all that it asks for."""
        return None

    def taken(self, placement: Placement, *, kept: bool) -> None:
        """Somebody gets a room. `kept`: not yet, and all that is on the nodes may be meant for it."""

    def take_apart(self) -> None:
        """The plan is made: whatever refers to each other lets go (`collector`)."""
