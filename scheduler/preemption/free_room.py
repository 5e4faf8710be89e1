"""Room for which nobody has to give anything: free now, or held by jobs that are ending."""

from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.preemption.cycle import Ask, Cycle


def free_room(cycle: Cycle, ask: Ask) -> Decision | None:
    """There is room now: the job starts."""
    placement = cycle.search.room(ask.shape, coming=False)
    if placement is None:
        return None
    words = cycle.say.start(ask.job, placement, cycle.search.free(ask.shape, placement))
    cycle.set_aside(ask.job, placement, coming_first=False)
    return Decision(
        ask.job.id,
        DecisionKind.START,
        Reason.ROOM_IS_FREE,
        words,
        nodes=tuple(placement),
        placement=placement,
    )


def room_that_is_coming(cycle: Cycle, ask: Ask) -> Decision | None:
    """There is room once jobs that are ending are gone: the job waits, and that room is set aside."""
    placement = cycle.search.room(ask.shape, coming=True) if cycle.universe.coming else None
    if placement is None:
        return None
    cycle.set_aside(ask.job, placement, coming_first=True)
    return Decision(
        ask.job.id,
        DecisionKind.WAIT,
        Reason.ROOM_IS_COMING,
        cycle.say.wait(ask.job, placement),
        nodes=tuple(placement),
        at=cycle.snapshot.now,
        placement=placement,
    )
