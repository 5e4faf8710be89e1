"""The steps of a decision that look ahead (spec 3.1), for partitions with managed dispatch or with patience.

1. Managed: the best nodes that can run it now (`score`); they leave the node set, like all that are given later.
2. It is predicted to start by itself within the partition's patience, and has not waited that long for it before:
   nobody is stopped. Where Slurm places the job it
   waits, in managed dispatch nodes are kept for it; both ways that room is set aside.
3. Managed: a node that another job starts on has room for it too: nobody is stopped for what the next plan gives it.
4. Whoever would stay in the queue: in managed dispatch the nodes that it can start on earliest are kept for it; where
   Slurm places, that room counts as taken in the predictions for lower jobs.
"""

from dataclasses import replace

from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.sentence import join
from scheduler.preemption.free_room import start
from scheduler.preemption.planning_run import Ask, PlanningRun
from scheduler.preemption.reservation import words
from scheduler.preemption.reservation.outlook import Later

_NEVER = frozenset({Reason.NOT_MEASURED, Reason.BLOCKED, Reason.DOES_NOT_FIT_EVER})


def best_free_nodes(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 1."""
    nodes = cycle.outlook.nodes if cycle.outlook else None
    placement = nodes.best(ask.shape) if nodes and ask.shape.count else None
    return None if placement is None else start(cycle, ask, placement)


def starts_soon(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 2."""
    outlook = cycle.outlook
    if outlook is None or not outlook.patience_s or ask.job.patience_spent:
        return None
    later = outlook.soonest(ask.job, ask.shape, by=cycle.snapshot.now + outlook.patience_s)
    if later is None:
        return None
    sentence = words.soon_enough(cycle, ask, later, outlook.patience_s)
    decision = Decision(ask.job.id, DecisionKind.WAIT, Reason.STARTS_SOON, sentence)
    return _set_aside(cycle, ask, decision, later)


def next_in_turn(cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 3."""
    nodes = cycle.outlook.nodes if cycle.outlook else None
    found = nodes.left_over(ask.shape) if nodes and ask.shape.count else []
    if not found or len(found) < ask.shape.count:
        return None
    return cycle.queued(ask.job, Reason.NEXT_PLAN, words.left_over(cycle, ask, found))


def look_ahead(cycle: PlanningRun, ask: Ask, decision: Decision) -> Decision:
    """Step 4, for the decision that the other steps came to."""
    outlook = cycle.outlook
    if outlook is None or decision.action is not DecisionKind.QUEUE or decision.reason in _NEVER:
        return decision
    later = outlook.soonest(ask.job, ask.shape)
    if later is None:
        return decision
    if outlook.nodes is None:
        outlook.claim(later)
        return decision
    said = replace(
        decision,
        reason=Reason.EARLIEST_START,
        explain=join(decision.explain, words.kept_nodes_sentence(cycle, later)),
    )
    return _set_aside(cycle, ask, said, later)


def _set_aside(cycle: PlanningRun, ask: Ask, decision: Decision, later: Later) -> Decision:
    outlook = cycle.outlook
    managed = outlook is not None and outlook.nodes is not None
    placement = later.placement if outlook is None or managed else outlook.promise(later)
    cycle.set_aside(ask.job, placement, coming_first=True, kept=True)
    return replace(
        decision,
        action=DecisionKind.RESERVE if managed else DecisionKind.WAIT,
        nodes=tuple(later.placement),
        at=later.at,
        placement=later.placement,
        units=ask.shape.units or None,
    )
