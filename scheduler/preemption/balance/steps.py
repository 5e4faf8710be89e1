"""The steps of a decision on a balanced job (spec 5): they come before, or instead of, those for any room.

1. An even set is free: it starts. An even set is coming: it waits for the jobs that are ending.
2. What is free is too uneven, but an exchange with a young running job makes both sets even (`exchange`).
3. Where the partition says so, or it has waited as long as it is to, it gets the nearest set, however uneven.
4. Lower jobs make room on nodes that are even enough, in one unit if that does hardly more harm. Else it stays in the
   queue.
"""

from collections.abc import Iterable
from dataclasses import replace

from scheduler.model.plan import DecidedVictim, Decision, DecisionKind, How
from scheduler.model.policy import Otherwise
from scheduler.model.reasons import Reason
from scheduler.model.sentence import join
from scheduler.preemption.balance import words
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.exchange import Exchange
from scheduler.preemption.free_room import start, wait_for_endings
from scheduler.preemption.methods import Ask
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.search import Wanted
from scheduler.preemption.stopping import no_room, stop_lower_jobs, stop_or_not


def even_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 1."""
    placement = balancing.even(ask.shape, coming=False)
    if placement is not None:
        return _said(balancing, cycle, start(cycle, ask, placement))
    placement = balancing.even(ask.shape, coming=True) if cycle.cluster_state.coming else None
    return None if placement is None else _said(balancing, cycle, wait_for_endings(cycle, ask, placement))


def exchange_a_node(exchange: Exchange, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 2."""
    swap = exchange.find(Wanted(ask.shape, ask.scope))
    if swap is None or not cycle.limits.allows(ask.job, 1):
        return None
    sentence = words.exchanged(cycle, ask, swap)
    exchange.apply(swap)
    cycle.limits.stopped(ask.scope, [swap.runner])
    cycle.set_aside(ask.job, swap.placement, coming_first=True)
    up, instead = swap.up.node.name, swap.instead.node.name
    return Decision(
        ask.job.id,
        DecisionKind.SWAP,
        Reason.SWAPS_A_NODE,
        sentence,
        nodes=tuple(swap.placement),
        victims=(DecidedVictim(swap.runner.job.id, How.SWAP, nodes=(up,), gets=(instead,)),),
        placement=swap.placement,
    )


def nearest_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 3."""
    if not balancing.takes_nearest(ask.job):
        return None
    decision = None
    placement = balancing.nearest(ask.shape, coming=False)
    if placement is not None:
        decision = start(cycle, ask, placement)
    elif cycle.cluster_state.coming and (placement := balancing.nearest(ask.shape, coming=True)) is not None:
        decision = wait_for_endings(cycle, ask, placement)
    if decision is None:
        return None
    told = _said(balancing, cycle, decision)
    waited_s = cycle.snapshot.now - ask.job.submit
    if balancing.balance.otherwise is not Otherwise.NEAREST:
        told = replace(told, explain=join(told.explain, words.waited_enough(balancing.balance, waited_s)))
    return replace(told, reason=Reason.NEAREST_SET)


def stop_for_an_even_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 4, inside one unit if that does hardly more harm and no limit forbids it."""
    shape = balancing.inside_a_unit(Wanted(ask.shape, ask.scope))
    if shape is not None:
        below = cycle.cluster_state.below(ask.scope)
        found = cycle.limits.victims(ask.job, Wanted(shape, ask.scope), below)
        if found is not None and not found.held:
            return _said(balancing, cycle, stop_or_not(cycle, replace(ask, shape=shape), found))
    nearest = balancing.takes_nearest(ask.job)
    for shape in balancing.for_victims(Wanted(ask.shape, ask.scope), nearest=nearest):
        decision = stop_lower_jobs(cycle, replace(ask, shape=shape))
        if decision is not None:
            return _said(balancing, cycle, decision)
    return None


def no_even_set(balancing: Balancing, cycle: PlanningRun, ask: Ask) -> Decision:
    """It stays in the queue: is it the evenness that is missing, or the room?"""
    if not balancing.measured_suffice(ask.shape):
        measured = len(balancing.powers.measured(ask.shape).places)
        sentence = words.not_measured(cycle, ask, balancing.balance.resource, measured)
        return cycle.with_passed_over(cycle.queued(ask.job, Reason.NOT_MEASURED, sentence), ask)
    best = balancing.best(ask.shape, coming=True)
    if best is None:
        decision = no_room(cycle, ask)
        return replace(decision, explain=join(decision.explain, words.wants_even(balancing.most)))
    sentence = words.too_uneven(cycle, ask, best[0], balancing.most)
    return cycle.with_passed_over(cycle.queued(ask.job, Reason.NO_EVEN_SET, sentence), ask)


def _said(balancing: Balancing, cycle: PlanningRun, decision: Decision) -> Decision:
    """The decision with a word on how even its nodes are."""
    if not decision.nodes:
        return decision
    words_on_it = words.evenness(balancing, _places(cycle, decision.nodes))
    return replace(decision, explain=join(decision.explain, words_on_it))


def _places(cycle: PlanningRun, names: Iterable[str]) -> Iterable[NodeState]:
    return [cycle.cluster_state.by_name[name] for name in names]
