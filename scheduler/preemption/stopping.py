"""Room that lower jobs make: they are stopped, or not, all or none of them; and what is left to say without room."""

from scheduler.model.plan import DecidedVictim, Decision, DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.model.sentence import join
from scheduler.preemption.limits import Found
from scheduler.preemption.methods import Ask
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import SECOND_TIER, PreemptionScope
from scheduler.preemption.search import Wanted
from scheduler.priority.levels import weight

_NOTHING = weight(None)


def stop_lower_jobs(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Victims make room (`search`), unless a limit forbids to stop those who were found (`limits`)."""
    below = cycle.cluster_state.below(ask.scope)
    found = cycle.limits.victims(ask.job, Wanted(ask.shape, ask.scope), below)
    return None if found is None else stop_or_not(cycle, ask, found)


def stop_or_not(cycle: PlanningRun, ask: Ask, found: Found) -> Decision:
    """Those who were found make room, or it is said why they may not."""
    return _held(cycle, ask, found) if found.held else _preempt(cycle, ask, found)


def no_room(cycle: PlanningRun, ask: Ask) -> Decision:
    """Nothing could be done: the job stays in the queue."""
    below = cycle.cluster_state.below(ask.scope)
    if below.stoppable + below.spared == 0:
        decision = cycle.queued(ask.job, Reason.NOTHING_LOWER_RUNS, cycle.say.nothing_lower(ask.job))
    else:
        decision = cycle.queued(ask.job, Reason.NOT_ENOUGH_EVEN_SO, cycle.say.not_enough(ask.job, below))
    return cycle.with_passed_over(decision, ask)


def _held(cycle: PlanningRun, ask: Ask, found: Found) -> Decision:
    free = cycle.search.free(ask.shape, [place.node.name for place in found.room.places])
    reason = found.held.reason if found.held else Reason.NOT_ENOUGH_EVEN_SO
    cycle.about_to_get(found.room.places or ask.shape.places)
    decision = cycle.queued(ask.job, reason, cycle.say.held(ask.job, found, free))
    return cycle.held_back(ask, cycle.with_passed_over(decision, ask, found))


def _preempt(cycle: PlanningRun, ask: Ask, found: Found) -> Decision:
    room, share = found.room, cycle.share(ask, found.room.price.units)
    names = [place.node.name for place in room.places]
    free = cycle.search.free(ask.shape, names)
    partly = (method.making_room(ask, names, room.price) for method in cycle.methods)
    said = next(filter(None, partly), None) if room.price.losses else None
    victims = _give_way(cycle, room.price)
    cycle.limits.stopped(ask.scope, room.price.victims[::-1])
    placement = cycle.search.placement(ask.shape, room)
    said = said or cycle.say.preempt(ask.job, placement, free, room.price.victims[::-1])
    decision = Decision(
        ask.job.id,
        DecisionKind.PREEMPT,
        lower(cycle.ranking.mode, ask.scope, room),
        join(said, share.said),
        nodes=tuple(placement),
        victims=victims,
        units=share.units,
        placement=placement,
    )
    decision = cycle.with_passed_over(decision, ask, found)
    cycle.set_aside(share.job, placement, coming_first=True)
    return decision


def _give_way(cycle: PlanningRun, price: Price) -> tuple[DecidedVictim, ...]:
    """Stop the victims, or take what they lose and go on: those who go first in front."""
    result = []
    for runner in reversed(price.victims):
        cycle.gave_way.add(runner.job.id)
        partly = (method.give_way(runner, price) for method in cycle.methods)
        victim = next(filter(None, partly), None) if price.losses else None
        if victim is None:
            victim = DecidedVictim(runner.job.id, runner.job.how)
            cycle.cluster_state.stop(runner)
            cycle.quotas.stopped(runner.job)
        result.append(victim)
    return tuple(result)


def lower(mode: Mode, scope: PreemptionScope, room: MadeRoom) -> Reason:
    """Which tiers the victims are of, in the words of the mode."""
    classes = [scope.class_of(runner.first, runner.second) or 0 for runner in room.price.victims]
    second = any(own_class >= SECOND_TIER + _NOTHING for own_class in classes)
    first = any(own_class < SECOND_TIER + _NOTHING for own_class in classes)
    users_first = mode in {Mode.USER, Mode.USER_THEN_TASK}
    if first and second:
        return Reason.LOWER_USER_AND_TASK if users_first else Reason.LOWER_TASK_AND_USER
    return Reason.LOWER_USER if first == users_first else Reason.LOWER_TASK
