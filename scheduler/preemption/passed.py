"""Why running jobs that might have been stopped were left alone: for explanations and the record."""

from itertools import chain, islice

from scheduler.model.plan import Decision, PassedOver
from scheduler.model.reasons import Reason
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.limits import Found
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape

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
