"""One plan in the making: what every step of a decision works with (`planner` has the order of the steps)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, PassedOver
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import AS_A_WHOLE
from scheduler.preemption.limits import Found, StopLimits
from scheduler.preemption.methods import Ask, Method, MethodRun, Step, UnitGrant
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.quotas import Quotas, beyond_quota
from scheduler.preemption.ranking import PreemptionScope, Ranking
from scheduler.preemption.returning import Returning
from scheduler.preemption.search import Placement, RoomSearch
from scheduler.preemption.sentences import ExplanationWriter
from scheduler.preemption.shapes import Shape, Shapes

# --- Why running jobs that might have been stopped were left alone: for explanations and the record ---


_MOST = 50


def passed_over(
    cluster_state: ClusterState,
    decision: Decision,
    shape: Shape,
    scope: PreemptionScope,
    found: Found | None = None,
) -> tuple[PassedOver, ...]:
    """At most 50 running jobs that were left alone (the victims being stopped): first those on the nodes
    chosen, then others, by node. `found`: who was found to make room, whether they may be stopped or not."""
    enough = found is not None
    alone = dict(found.alone) if found else {}
    if found and found.held:
        alone |= {runner: Reason.HELD_BACK for runner in found.room.price.victims if runner not in alone}
    names = decision.nodes or ([place.node.name for place in found.room.places] if found else ())
    chosen = set(names)
    nearest = [cluster_state.by_name[name] for name in names]
    result: dict[str, Reason] = {}
    for place in chain(nearest, shape.places):
        here = Reason.NOT_NEEDED if place.node.name in chosen else Reason.OTHER_PLACE
        otherwise = here if enough else Reason.NOT_ENOUGH
        for job in place.ending:
            result.setdefault(job.id, Reason.ENDING)
        for runner in place.runners:
            if runner.alive and runner.job.id not in result:
                result[runner.job.id] = alone.get(runner) or why(runner, scope, otherwise)
        if len(result) >= _MOST:
            break
    return tuple([PassedOver(job_id, reason) for job_id, reason in islice(result.items(), _MOST)])


def why(runner: RunningJob, scope: PreemptionScope, otherwise: Reason) -> Reason:
    """Why a pending job leaves a running one alone that is alive; `otherwise`: when it might have stopped
    it."""
    if scope.class_of(runner.first, runner.second) is None:
        return Reason.SAME_BAND if _lower_in_band(runner, scope) else Reason.EQUAL_OR_HIGHER
    if runner.spared:
        return Reason(runner.spared)
    return otherwise


def _lower_in_band(runner: RunningJob, scope: PreemptionScope) -> bool:
    """Whether only a band keeps the pending job from reaching it."""
    if runner.first < scope.first:
        return True
    if scope.second_floor is None or runner.first != scope.first:
        return False
    return scope.second_floor <= runner.second < scope.second


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
