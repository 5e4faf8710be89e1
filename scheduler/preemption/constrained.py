"""Jobs whose nodes depend on each other by their features: all the same (`[a|b]`), or so many of each (`[a*2&b*1]`).

All the same: it is asked for once with each of the features. Every step tries one after the other, so free room with
the last of them is better than room that is made with the first; where somebody has to be stopped, it is tried first
where that costs least.

So many of each: the nodes of each group are looked for by themselves, among nodes that no other group may have. There
is room when every group has some. Looking ahead, even sets and losing a part are not tried: what is left is the queue.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from scheduler.model.plan import Decision, DecisionKind
from scheduler.preemption.free_room import start, wait_for_endings
from scheduler.preemption.limits import Found
from scheduler.preemption.methods import Ask, Decide
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.pricing import FREE, Price, cost_of_runners
from scheduler.preemption.search import Placement, Wanted
from scheduler.preemption.shapes import Shape
from scheduler.preemption.stopping import stop_lower_jobs, stop_or_not
from scheduler.preemption.trials import Places, needed


def first_of(step: Decide, cycle: PlanningRun, asks: Sequence[Ask]) -> Decision | None:
    """What a step decides with the first of several shapes with which it does not leave the job in the queue; else why
    it does with the first."""
    queued: Decision | None = None
    for ask in _least_cost_first(cycle, asks) if step is stop_lower_jobs else asks:
        decision = step(cycle, ask)
        if decision and decision.action is not DecisionKind.QUEUE:
            return decision
        queued = queued or decision
    return queued


def _least_cost_first(cycle: PlanningRun, asks: Sequence[Ask]) -> list[Ask]:
    found = [(ask, _found(cycle, ask, ask.shape)) for ask in asks]
    losses = [
        (each.held is not None, _priced(each.room.price.victims, ask).cost, number)
        for number, (ask, each) in enumerate(found)
        if each
    ]
    return [asks[number] for _, _, number in sorted(losses)]


def in_groups(cycle: PlanningRun, ask: Ask, groups: Sequence[Shape]) -> Decision | None:
    """The steps of a job that counts its nodes by their features; None when none of them makes room."""
    if not all(method.plans_groups for method in cycle.methods):
        return None
    placement = _room(cycle, groups, coming=False)
    if placement:
        return start(cycle, ask, placement)
    placement = _room(cycle, groups, coming=True) if cycle.cluster_state.coming else None
    if placement:
        return wait_for_endings(cycle, ask, placement)
    found = [_in_group(cycle, ask, group) for group in groups]
    together = _together(cycle, ask, [each for each in found if each]) if all(found) else None
    return stop_or_not(cycle, ask, together) if together else None


def _room(cycle: PlanningRun, groups: Iterable[Shape], *, coming: bool) -> Placement | None:
    rooms = [cycle.search.room(group, coming=coming) for group in groups]
    if not all(rooms):
        return None
    names = sorted(
        chain(*[room for room in rooms if room]), key=lambda name: cycle.cluster_state.by_name[name].order
    )
    return {name: next(room[name] for room in rooms if room and name in room) for name in names}


def _in_group(cycle: PlanningRun, ask: Ask, group: Shape) -> Found | None:
    """Room for one group; nobody is asked for what is free or coming."""
    room = cycle.search.room(group, coming=True)
    if room is None:
        return _found(cycle, ask, group)
    return Found(MadeRoom(tuple([cycle.cluster_state.by_name[name] for name in room]), FREE))


def _found(cycle: PlanningRun, ask: Ask, shape: Shape) -> Found | None:
    return cycle.limits.victims(ask.job, Wanted(shape, ask.scope), cycle.cluster_state.below(ask.scope))


def _together(cycle: PlanningRun, ask: Ask, found: Sequence[Found]) -> Found | None:
    """The victims of all groups as one, without those who are not needed because others leave several nodes at once."""
    if any(each.room.price.losses for each in found):
        return None
    places = tuple(sorted(chain(*[each.room.places for each in found]), key=lambda place: place.order))
    price = _priced(chain(*[each.room.price.victims for each in found]), ask)
    trial = Places(places, ask.shape)
    for runner in price.victims:
        trial.stop(runner)
    victims = needed(trial, price.victims[::-1])
    held = next((each.held for each in found if each.held), None) or cycle.limits.over(victims)
    alone = {runner: reason for each in found for runner, reason in each.alone.items()}
    return Found(MadeRoom(places, _priced(victims, ask)), held, alone)


def _priced(victims: Iterable[RunningJob], ask: Ask) -> Price:
    return cost_of_runners(dict.fromkeys(victims), ask.shape, ask.scope)
