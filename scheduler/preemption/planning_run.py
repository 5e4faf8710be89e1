"""One plan in the making: what every step of a decision works with (`planner` has the order of the steps)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Dispatch
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.exchange import Exchange
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.elastic.shrinks import Shrinks
from scheduler.preemption.limits import Found, StopLimits
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.passed import passed_over
from scheduler.preemption.quotas import Quotas, beyond_quota
from scheduler.preemption.ranking import PreemptionScope, Ranking
from scheduler.preemption.reservation.outlook import Outlook
from scheduler.preemption.returning import Returning
from scheduler.preemption.search import Placement, RoomSearch
from scheduler.preemption.sentences import ExplanationWriter
from scheduler.preemption.shapes import Shape, Shapes

MOST_EXPLAINED = 50
"""So many decisions of a plan tell which running jobs they left alone."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A pending job at its turn: what it asks for, and what it outranks."""

    job: SnapshotJob
    shape: Shape
    reach: PreemptionScope


class PlanningRun:
    """The state of one plan, and what every step does to it."""

    def __init__(self, snapshot: Snapshot, alone: frozenset[str] = frozenset()) -> None:
        """`alone`: ids of running jobs that this plan does not stop."""
        rules = snapshot.partition
        self.snapshot = snapshot
        self.ranking = Ranking.of(rules)
        self.quotas = Quotas(rules, snapshot.jobs)
        self.demoted = beyond_quota(rules, snapshot.jobs)
        self.universe = ClusterState(snapshot, self.ranking, self.demoted, alone)
        self.shapes = Shapes(self.universe)
        self.search = RoomSearch(self.universe)
        returning = Returning(self.ranking, self.quotas, self.demoted)
        self.limits = StopLimits(snapshot, self.universe, self.search, returning)
        self.shrinks = Shrinks(self.universe, self.search)
        self.gave_way: set[str] = set()
        """Ids of the running jobs that are stopped, or give something up, in this plan."""
        self.awaited: set[int] = set()
        """The nodes on which a job that was decided is about to get room: elastic jobs do not grow there."""
        self.say = ExplanationWriter(snapshot)
        balance = rules.balance
        self.balancing = Balancing(self.universe, self.search, balance) if balance else None
        self.exchange = Exchange(self.universe, self.balancing) if self.balancing else None
        ahead = rules.dispatch is Dispatch.MANAGED or rules.patience_s
        self.outlook = Outlook(self.universe, self.balancing) if ahead else None
        self._explained = 0

    def set_aside(
        self, job: SnapshotJob, placement: Placement, *, coming_first: bool, kept: bool = False
    ) -> None:
        """A job gets a room: out of what is coming as far as possible, or out of what is free only.

        `kept`: it does not start there yet, and all that is on the nodes may be meant for it.
        """
        self.take(placement, coming_first=coming_first, kept=kept)
        self.quotas.started(job)

    def take(self, placement: Placement, *, coming_first: bool, kept: bool = False) -> None:
        """A room is taken: what was worked out before may hold no longer."""
        self.universe.take(placement, coming_first)
        if self.outlook:
            self.outlook.left(placement, kept=kept)
        self.limits.changed()

    def about_to_get(self, places: Iterable[NodeState]) -> None:
        """A job stays in the queue for a while, with room on these nodes in sight."""
        self.awaited.update(place.order for place in places)

    def queued(self, job: SnapshotJob, reason: Reason, words: str) -> Decision:
        """The job stays in the queue and takes nothing."""
        return Decision(job.id, DecisionKind.QUEUE, reason, words)

    def take_apart(self) -> None:
        """The plan is made: whatever refers to each other lets go, so that all of it is freed at once (`collector`)."""
        self.universe.take_apart()
        self.shrinks.take_apart()
        if self.outlook:
            self.outlook.take_apart()

    def with_passed_over(self, decision: Decision, ask: Ask, found: Found | None = None) -> Decision:
        """The jobs that were looked at and left alone, for the first decisions of a plan (they are many)."""
        if self._explained >= MOST_EXPLAINED:
            return decision
        self._explained += 1
        return replace(
            decision, passed_over=passed_over(self.universe, decision, ask.shape, ask.reach, found)
        )


Step = Callable[[PlanningRun, Ask], Decision | None]
"""Decides a job, or leaves it to the next step."""
