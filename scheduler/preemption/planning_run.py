"""One plan in the making: what every step of a decision works with (`planner` has the order of the steps)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import AS_A_WHOLE
from scheduler.preemption.limits import Found, StopLimits
from scheduler.preemption.methods import Ask, Method, MethodRun, Step, UnitGrant
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.passed import passed_over
from scheduler.preemption.quotas import Quotas, beyond_quota
from scheduler.preemption.ranking import Ranking
from scheduler.preemption.returning import Returning
from scheduler.preemption.search import Placement, RoomSearch
from scheduler.preemption.sentences import ExplanationWriter
from scheduler.preemption.shapes import Shapes

MOST_EXPLAINED = 50
"""So many decisions of a plan tell which running jobs they left alone."""

Run = TypeVar("Run", bound=MethodRun)


class PlanningRun:
    """The state of one plan, and what every step does to it."""

    def __init__(
        self, snapshot: Snapshot, methods: Sequence[Method] = (), alone: frozenset[str] = frozenset()
    ) -> None:
        """`methods`: those that may be on. `alone`: ids of running jobs that this plan does not stop."""
        rules = snapshot.partition
        own = [method for method in methods if method.is_on(snapshot)]
        self.snapshot = snapshot
        self.ranking = Ranking.of(rules)
        self.quotas = Quotas(rules, snapshot.jobs)
        self.demoted = beyond_quota(rules, snapshot.jobs)
        divide = [method.divide for method in own]
        self.cluster_state = ClusterState(snapshot, self.ranking, self.demoted, alone, divide)
        self.shapes = Shapes(self.cluster_state)
        self.search = room_search(self.cluster_state, own)
        returning = Returning(self.ranking, self.quotas, self.demoted)
        self.limits = StopLimits(snapshot, self.cluster_state, self.search, returning)
        self.gave_way: set[str] = set()
        """Ids of the running jobs that are stopped, or give something up, in this plan."""
        self.awaited: set[int] = set()
        """The nodes on which a job that was decided is about to get room: nobody else grows there."""
        self.say = ExplanationWriter(snapshot)
        self._explained = 0
        self.methods: list[MethodRun] = []
        for method in own:
            self.methods.append(method.begin(self))

    def method(self, kind: type[Run]) -> Run | None:
        """What a method keeps in this plan; None when it is not on."""
        return next((each for each in self.methods if isinstance(each, kind)), None)

    def steps(self, core: Sequence[Step], claimed_by: MethodRun | None = None) -> list[Step]:
        """The steps of a job in their order: of the core and of all methods, or of the method that claims it."""
        found = [] if claimed_by else [*core]
        for each in self.methods:
            if claimed_by is None:
                found += each.steps()
            elif each is claimed_by:
                found += each.steps_of_claimed()
            else:
                found += [step for step in each.steps() if step.of_claimed]
        return sorted(found, key=lambda step: step.stage)

    def share(self, ask: Ask, units: int | None = None) -> UnitGrant:
        """What a job gets: so many units, or (None) all that it asks for."""
        found = (each.share(ask, units) for each in self.methods)
        return next(filter(None, found), None) or UnitGrant(ask.job)

    def held_back(self, ask: Ask, decision: Decision) -> Decision:
        """The decision on a job for which there would be room, but a limit forbids that others give way."""
        for each in self.methods:
            decision = each.held_back(ask, decision)
        return decision

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
        self.cluster_state.take(placement, coming_first)
        for each in self.methods:
            each.taken(placement, kept=kept)
        self.limits.changed()

    def about_to_get(self, places: Iterable[NodeState]) -> None:
        """A job stays in the queue for a while, with room on these nodes in sight."""
        self.awaited.update(place.order for place in places)

    def queued(self, job: SnapshotJob, reason: Reason, words: str) -> Decision:
        """The job stays in the queue and takes nothing."""
        return Decision(job.id, DecisionKind.QUEUE, reason, words)

    def take_apart(self) -> None:
        """The plan is made: whatever refers to each other lets go, so that all of it is freed at once (`collector`)."""
        self.cluster_state.take_apart()
        for each in self.methods:
            each.take_apart()
        self.methods.clear()

    def with_passed_over(self, decision: Decision, ask: Ask, found: Found | None = None) -> Decision:
        """The jobs that were looked at and left alone, for the first decisions of a plan (they are many)."""
        if self._explained >= MOST_EXPLAINED:
            return decision
        self._explained += 1
        return replace(
            decision, passed_over=passed_over(self.cluster_state, decision, ask.shape, ask.scope, found)
        )


def room_search(cluster_state: ClusterState, methods: Iterable[Method] = ()) -> RoomSearch:
    """The search for room, with what methods that are on make of victims and of requests."""
    own = list(methods)
    ways = (method.giving_way(cluster_state) for method in own)
    return RoomSearch(
        cluster_state, next(filter(None, ways), None) or AS_A_WHOLE, [method.pool for method in own]
    )
