"""Predicted starts, behind the door of planning methods (`scheduler.preemption.methods`).

On in managed dispatch, and where the policy has patience.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Dispatch
from scheduler.model.reasons import Reason
from scheduler.model.sentence import Moment, Param, Seconds, Sentence, join, say
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.balance.method import EvenSetsRun
from scheduler.preemption.free_room import start
from scheduler.preemption.methods import Ask, Method, MethodRun, Step, StepTurn
from scheduler.preemption.planning_run import PlanningRun
from scheduler.preemption.reservation.nodeset import NodeSet
from scheduler.preemption.reservation.outlook import Later, Outlook
from scheduler.preemption.search import Placement
from scheduler.preemption.sentences import clean, listed

# --- What is said of predicted starts ---


def soon_enough(cycle: PlanningRun, ask: Ask, later: Later, outlook: Outlook) -> Sentence:
    """Nobody is stopped for it."""
    which, when = _when(cycle, later, outlook)
    return say(f"soon{which}", **cycle.say.needs(ask.job), **when, time=Seconds(outlook.patience_s))


def kept_nodes_sentence(cycle: PlanningRun, later: Later, outlook: Outlook) -> Sentence:
    """Nodes are kept for it, as a sentence that follows another one."""
    which, when = _when(cycle, later, outlook)
    return say(f"kept{which}", **when)


def left_over(cycle: PlanningRun, ask: Ask, nodes: list[str]) -> Sentence:
    """A node that somebody starts on has room for it too."""
    code = "next_plan.one" if len(nodes) == 1 else "next_plan.many"
    return say(code, **cycle.say.needs(ask.job), nodes=listed(nodes, clean))


def _when(cycle: PlanningRun, later: Later, outlook: Outlook) -> tuple[str, dict[str, Param]]:
    """Where and when it can start, and the jobs that are expected to have ended by then; and how many these are."""
    given: dict[str, Param] = {
        "nodes": listed(later.placement, clean),
        "moment": Moment(later.at),
        "left": Seconds(later.at - cycle.snapshot.now),
    }
    ending = outlook.awaited(later)
    if not ending:
        return "", given
    given["names"] = listed(ending, lambda runner: clean(runner.job.id), limit=5)
    return (".one" if len(ending) == 1 else ".many"), given


# --- The steps of a decision that look ahead (spec 3.1), for partitions with managed dispatch or with patience.
# 1. Managed: the best nodes that can run it now (`score`); they leave the node set, like all that are given later.
# 2. It is predicted to start by itself within the partition's patience, and has not waited that long for it before:
#    nobody is stopped. Where Slurm places the job it
#    waits, in managed dispatch nodes are kept for it; both ways that room is set aside.
# 3. Managed: a node that another job starts on has room for it too: nobody is stopped for what the next plan gives it.
# 4. Whoever would stay in the queue: in managed dispatch the nodes that it can start on earliest are kept for it;
# where
#    Slurm places, that room counts as taken in the predictions for lower jobs.


_NEVER = frozenset({Reason.NOT_MEASURED, Reason.BLOCKED, Reason.DOES_NOT_FIT_EVER, Reason.GROWS_LATER})


def best_free_nodes(nodes: NodeSet, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 1."""
    placement = nodes.best(ask.shape) if ask.shape.count else None
    return None if placement is None else start(cycle, ask, placement)


def starts_soon(outlook: Outlook, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 2."""
    if ask.job.patience_spent:
        return None
    later = outlook.soonest(ask.job, ask.shape, by=cycle.snapshot.now + outlook.patience_s)
    if later is None:
        return None
    sentence = soon_enough(cycle, ask, later, outlook)
    decision = Decision(ask.job.id, DecisionKind.WAIT, Reason.STARTS_SOON, sentence)
    return _set_aside(outlook, cycle, ask, decision, later)


def next_in_turn(nodes: NodeSet, cycle: PlanningRun, ask: Ask) -> Decision | None:
    """Step 3."""
    found = nodes.left_over(ask.shape) if ask.shape.count else []
    if not found or len(found) < ask.shape.count:
        return None
    return cycle.queued(ask.job, Reason.NEXT_PLAN, left_over(cycle, ask, found))


def look_ahead(outlook: Outlook, cycle: PlanningRun, ask: Ask, decision: Decision) -> Decision:
    """Step 4, for the decision that the other steps came to."""
    if decision.action is not DecisionKind.QUEUE or decision.reason in _NEVER:
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
        explain=join(decision.explain, kept_nodes_sentence(cycle, later, outlook)),
    )
    return _set_aside(outlook, cycle, ask, said, later)


def _set_aside(outlook: Outlook, cycle: PlanningRun, ask: Ask, decision: Decision, later: Later) -> Decision:
    managed = outlook.nodes is not None
    placement = later.placement if managed else outlook.promise(later)
    cycle.set_aside(ask.job, placement, coming_first=True, kept=True)
    return replace(
        decision,
        action=DecisionKind.RESERVE if managed else DecisionKind.WAIT,
        nodes=tuple(later.placement),
        at=later.at,
        placement=later.placement,
        units=cycle.share(ask).units,
    )


class ReservationMethod(Method):
    """Nodes that are kept, and waiting instead of stopping."""

    def is_on(self, snapshot: Snapshot) -> bool:
        """Whether the policy looks ahead at all."""
        return snapshot.partition.dispatch is Dispatch.MANAGED or snapshot.partition.patience_s > 0

    def begin(self, run: PlanningRun) -> "ReservationRun":
        """What is predicted in one plan."""
        return ReservationRun(run)


class ReservationRun(MethodRun):
    """Predicted starts in one plan."""

    plans_groups = False

    def __init__(self, run: PlanningRun) -> None:
        self.run = run
        even = run.method(EvenSetsRun)
        self.outlook = Outlook(run.cluster_state, even.balancing if even else None)

    def steps(self) -> Sequence[Step]:
        """The best nodes in managed dispatch; a start that is predicted soon enough, or for the next plan."""
        found = []
        nodes = self.outlook.nodes
        if nodes:
            found.append(Step(StepTurn.CHOSEN_ROOM, partial(best_free_nodes, nodes)))
        if self.outlook.patience_s:
            found.append(Step(StepTurn.LATER, partial(starts_soon, self.outlook), of_claimed=True))
        if nodes:
            found.append(Step(StepTurn.LATER, partial(next_in_turn, nodes)))
        return found

    def chooses_free_room(self, ask: Ask) -> bool:
        """In managed dispatch, for requests for nodes."""
        return bool(ask.shape.count and self.outlook.nodes)

    def afterwards(self, ask: Ask, decision: Decision) -> Decision:
        """Nodes are kept, or a room is claimed, for who stays in the queue."""
        return look_ahead(self.outlook, self.run, ask, decision)

    def taken(self, placement: Placement, *, kept: bool) -> None:
        """In managed dispatch nodes leave the set."""
        self.outlook.left(placement, kept=kept)

    def take_apart(self) -> None:
        """Moments refer to what predicts them."""
        self.outlook.take_apart()
