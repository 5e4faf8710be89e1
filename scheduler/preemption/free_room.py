"""Room for which nobody has to give anything: free now, or held by jobs that are ending."""

from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.preemption.methods import Ask
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.search import Placement


def free_room(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """There is room now: the job starts."""
    if any(method.chooses_free_room(ask) for method in cycle.methods):
        return None
    placement = cycle.search.room(ask.shape, coming=False)
    return None if placement is None else start(cycle, ask, placement)


def room_that_is_coming(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """There is room once jobs that are ending are gone: the job waits, and that room is set aside."""
    placement = cycle.search.room(ask.shape, coming=True) if cycle.cluster_state.coming else None
    return None if placement is None else wait_for_endings(cycle, ask, placement)


def start(cycle: PlanningRun, ask: Ask, placement: Placement) -> Decision:
    """The job starts in free room."""
    words = cycle.say.start(ask.job, placement, cycle.search.free(ask.shape, placement))
    cycle.set_aside(ask.job, placement, coming_first=False)
    return Decision(
        ask.job.id,
        DecisionKind.START,
        Reason.ROOM_IS_FREE,
        words,
        nodes=tuple(placement),
        units=cycle.share(ask).units,
        placement=placement,
    )


def wait_for_endings(cycle: PlanningRun, ask: Ask, placement: Placement) -> Decision:
    """The job waits for room that is coming, which is set aside."""
    cycle.set_aside(ask.job, placement, coming_first=True)
    return Decision(
        ask.job.id,
        DecisionKind.WAIT,
        Reason.ROOM_IS_COMING,
        cycle.say.wait(ask.job, placement),
        nodes=tuple(placement),
        units=cycle.share(ask).units,
        at=cycle.snapshot.now,
        placement=placement,
    )
