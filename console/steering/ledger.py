"""The ledger: the one place that tells the cluster anything, and that carries plans out, at most once.

`execute`, whatever it is that is wanted; `act.KIND.due`, `.claimed`, `.applied`, `.settled` are its failpoints:
1. Claim: what is to be done is written down, in a transaction that also renews the lease.
2. Apply, all actions of a kind in one call, while the lease is still held. The adapter hits the named run of a job and
   no other.
3. Settle: outcomes and audit rows in one transaction, with the lease once more. "Already so" and "gone" are successes.

`act`, the steps of plans, kind by kind in the order of `STAGES`: put back who was ended by a signal, hold, put
beneficiaries first in line, send checkpoint signals, stop, make smaller, release.
1. Look again: an action whose reason has gone expires instead. Once a beneficiary is first in line nobody else takes
   a hole, so the look that counts for the stops is one made after that.
2. Claimed is by compare-and-set planned → executing.
While a failure holds a partition (`failures`) nothing is begun there: only what takes back is done, each by itself, so
that one that raises does not keep the others from it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from django.db import transaction

from console.audit.services import recorded_together
from console.core import clock
from console.core.failpoints import failpoint
from console.steering import checkpoints, victims
from console.steering.checkpoints import asked, begin_grace
from console.steering.context import CycleContext
from console.steering.facts import all_let_go, held_together, run_of
from console.steering.holds import due_to_be_let_go, is_of_stop, still_held
from console.steering.journal import tell_action, tell_plan, words_left
from console.steering.kinds.grow import is_due
from console.steering.kinds.swap import Exchanges
from console.steering.lifecycle import expire, move_actions, move_plan
from console.steering.lines import Lines, keep_places
from console.steering.looking_again import LookAgain
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction, PlanState
from scheduler.model.actions import (
    BY_NICE,
    FIRST_ALLOW,
    LEFT_HELD,
    NOT_REQUEUEABLE,
    Action,
    ActionKind,
    ActionOutcome,
    OutcomeKind,
)
from scheduler.model.jobs import RunKey
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.observation import Observation
from scheduler.model.sentence import say
from scheduler.ports import ClusterUnavailableError
from scheduler.reconcile.immunity import recalled

_Claimed = TypeVar("_Claimed")
_Told = TypeVar("_Told", bound=Hashable)

STAGES = (
    ActionKind.RECOVER,  # who cannot be brought back is no reason to stop the next one: if it raises, nobody is stopped
    ActionKind.HOLD,  # before the room comes free that some of those may take who want all or none
    ActionKind.PRIORITISE,
    ActionKind.SIGNAL,
    ActionKind.REQUEUE_HOLD,
    ActionKind.CANCEL,
    ActionKind.SHRINK,
    ActionKind.RESIZE,
    ActionKind.RELEASE,
    ActionKind.RESTORE_PRIORITY,
)
TAKING_BACK = frozenset({ActionKind.RECOVER, ActionKind.RELEASE, ActionKind.RESTORE_PRIORITY})
"""What is done for the victims and the queue, also while a plan is undone."""
GOING_ON = TAKING_BACK | {ActionKind.RESIZE}
"""What is done for a victim that was stopped, also while a failure holds the partition."""
STOPPING = frozenset({ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.CANCEL, ActionKind.SHRINK})
SPARED = "Its room is not needed any more: a task that it was for has started, or is gone."


@dataclass(slots=True)
class _Look:
    """What is known of the cluster in this round. `is_old`: a beneficiary was put first in line since.

    Nobody is stopped on a quick look: nodes and partitions may have changed since they were seen.
    """

    context: CycleContext
    is_old: bool = False
    _newer: Observation | None = None

    def latest(self) -> Observation | None:
        """The cycle's observation, or a new one if that is old; None when there is no complete one to be had."""
        known = self._newer or self.context.observation
        if not self.is_old and not known.is_quick:
            return known
        try:
            seen = self.context.adapter.observe()
        except ClusterUnavailableError:
            return None
        if seen.degraded:
            return None
        self._newer, self.is_old = recalled(seen, self.context.observation), False
        return self._newer


def execute(
    context: CycleContext,
    kind: ActionKind,
    claim: Callable[[], Sequence[tuple[_Claimed, Action]]],
    settle: Callable[[Sequence[tuple[_Claimed, ActionOutcome]]], None] | None = None,
) -> int:
    """Have the cluster do what `claim` writes down and gives back; how many actions that were.

    `settle` writes down what came of them. Without it the next look tells.
    """
    failpoint(f"act.{kind}.due")
    with transaction.atomic():
        context.lease.renew()
        claimed = claim()
    if not claimed:
        return 0
    failpoint(f"act.{kind}.claimed")
    context.lease.check()
    outcomes = context.adapter.apply([action for _, action in claimed], context.lease.may_act)
    failpoint(f"act.{kind}.applied")
    if settle is not None:
        with transaction.atomic(), recorded_together():
            context.lease.renew()
            settle([(what, outcome) for (what, _), outcome in zip(claimed, outcomes, strict=True)])
    failpoint(f"act.{kind}.settled")
    return len(claimed)


def act(plans: Sequence[Plan], context: CycleContext) -> int:
    """Carry out every action that is due; returns how many were issued."""
    failures = context.failures
    _begin(
        [plan for plan in plans if plan.state == PlanState.APPROVED and not failures.holds(plan.partition)],
        context,
    )
    failpoint("act.begun")
    running = [plan for plan in plans if plan.state == PlanState.EXECUTING]
    for hold, plan in due_to_be_let_go([each for each in running if not failures.holds(each.partition)]):
        _have_undone(hold, say("whole.turn", plan=plan.pk), context)
    waits = still_held(running, context.observation.jobs)
    exchanges = Exchanges(running, context.observation)
    for plan, why in exchanges.broken():
        _have_undone(plan, why, context)
    look = _Look(context)
    issued = 0
    for kind in STAGES:
        due = [
            action
            for plan in running
            if kind in GOING_ON or not failures.holds(plan.partition)
            for action in plan.actions.all()
            if action.kind == kind and is_due(action, plan, clock.now())
            if kind != ActionKind.PRIORITISE or action.job_id not in waits
            if exchanges.lets(action)
        ]
        for some in [[action] for action in due] if failures.found or failures.held else [due]:
            with failures.kept(*{action.plan.partition for action in some}):
                issued += _carry_out(some, running, look)
    return issued


def _carry_out(due: list[PlannedAction], plans: Sequence[Plan], look: "_Look") -> int:
    """Issue actions of one kind that still make sense; returns how many."""
    if due and due[0].kind in STOPPING:
        due = _still_sensible(due, plans, look.latest(), look.context)
    if not due:
        return 0
    look.is_old |= due[0].kind == ActionKind.PRIORITISE
    return _issue(due, look.context)


def _begin(plans: Iterable[Plan], context: CycleContext) -> None:
    """approved → executing."""
    for plan in plans:
        with transaction.atomic():
            context.lease.renew()
            if move_plan(plan, PlanState.EXECUTING):
                tell_plan(plan, "plan.executing", before={"state": "approved"}, after={"state": "executing"})


def _still_sensible(
    due: Sequence[PlannedAction],
    plans: Sequence[Plan],
    observation: Observation | None,
    context: CycleContext,
) -> list[PlannedAction]:
    """Only the actions of plans that would still make the room they promise, for a job that would still start in it;
    the others wait for `verifying`. Without an observation that is none of them."""
    if observation is None:
        return []
    observation = all_let_go(observation, held_together(plans))
    by_id = {plan.pk: plan for plan in plans}
    again = LookAgain(plans)
    sensible: dict[int, bool] = {}
    for action in due:
        if action.plan_id not in sensible:
            plan = by_id[action.plan_id]
            why = again.why_not(plan, observation)
            sensible[plan.pk] = why == ""
            if why:
                _have_undone(plan, why, context)
            elif plan.tasks and sensible[plan.pk]:
                _spare(plan, again.needless(plan, observation), context)
    left = [action for action in due if sensible[action.plan_id] and action.state == ActionState.PLANNED]
    return asked(left, observation) if due[0].kind == ActionKind.SIGNAL else left


def _spare(plan: Plan, runs: frozenset[RunKey], context: CycleContext) -> None:
    """Leave these victims alone: the plan goes on without them."""
    with transaction.atomic():
        context.lease.renew()
        for action in plan.actions.all():
            if action.kind in STOPPING and run_of(action) in runs:
                expire(action, SPARED)


def _have_undone(plan: Plan, why: str, context: CycleContext) -> None:
    """`request_undo` for what this process has seen, if it did not stand still since."""
    with transaction.atomic():
        context.lease.renew()
        request_undo(plan, why)


def request_undo(plan: Plan, why: str) -> None:
    """Have a plan taken back: no further stop, releases at once. The first reason stays."""
    if not plan.undo_reason:
        Plan.objects.filter(pk=plan.pk).update(undo_reason=why)
        plan.undo_reason = why


def _issue(actions: Sequence[PlannedAction], context: CycleContext) -> int:
    kind = ActionKind(actions[0].kind)
    return execute(context, kind, partial(_claim, actions, kind, context), _settle)


def _claim(
    actions: Sequence[PlannedAction], kind: ActionKind, context: CycleContext
) -> list[tuple[PlannedAction, Action]]:
    jobs, claimed, now = context.observation.jobs_by_id, [], clock.now()
    for (attempts, value), some in _alike(actions, lambda a: (a.attempts, _value(a, context.lines))):
        claimed += move_actions(
            some, ActionState.EXECUTING, attempts=attempts + 1, issued_at=now, value=value
        )
    victims.note(claimed)
    keep_places(claimed, jobs)
    if kind == ActionKind.SIGNAL:
        checkpoints.ask(claimed, jobs)
        begin_grace(claimed)
    return [(action, _command(action)) for action in claimed]


def _alike(
    actions: Sequence[PlannedAction], told: Callable[[PlannedAction], _Told]
) -> Iterable[tuple[_Told, list[PlannedAction]]]:
    """The actions of which the same is told, together."""
    found: dict[_Told, list[PlannedAction]] = {}
    for action in actions:
        found.setdefault(told(action), []).append(action)
    return found.items()


def _value(action: PlannedAction, lines: Lines) -> str:
    """A stopped job that goes on does so at the place that is kept for it, unless it has one already."""
    kept = lines.release_at(action.job_id) if action.kind == ActionKind.RELEASE else None
    if kept is None or (action.value and not action.value.startswith(BY_NICE)):
        return action.value
    return f"{BY_NICE}{max(1, min(kept, LAST_OF_FRONT - 1))}"


def _command(action: PlannedAction) -> Action:
    of_stop = action.kind == ActionKind.RELEASE and is_of_stop(action, action.plan.actions.all())
    return Action(
        ActionKind(action.kind),
        run_of(action),
        value=action.value,
        comment=words_left(action),
        of_stop=of_stop,
    )


_AFTER: Mapping[OutcomeKind, ActionState] = {
    OutcomeKind.DONE: ActionState.ISSUED,
    OutcomeKind.ALREADY: ActionState.ISSUED,
    OutcomeKind.UNKNOWN: ActionState.ISSUED,
    OutcomeKind.GONE: ActionState.EXPIRED,
    OutcomeKind.REFUSED: ActionState.FAILED,
}


def _was_taken_back(action: PlannedAction, outcome: ActionOutcome) -> bool:
    """Whether a stop was refused because the job's user made it not requeueable in that very instant."""
    refused = outcome.kind is OutcomeKind.REFUSED and NOT_REQUEUEABLE in outcome.detail
    return refused and action.value == FIRST_ALLOW


def _after(action: PlannedAction, outcome: ActionOutcome) -> ActionState:
    """Which state an outcome brings an action into."""
    if outcome.detail in LEFT_HELD:
        return ActionState.EXPIRED  # Somebody else holds it: nothing more is to be done.
    if _was_taken_back(action, outcome):
        return ActionState.EXPIRED  # Nothing was done, and a later plan may stop this run.
    after = _AFTER[outcome.kind]
    if after == ActionState.FAILED and action.kind in TAKING_BACK:
        return ActionState.ISSUED  # Not given up: `verifying` has it tried again, less and less often.
    return after


def _settle(outcomes: Sequence[tuple[PlannedAction, ActionOutcome]]) -> None:
    came = dict(outcomes)
    for (after, outcome), some in _alike(list(came), lambda each: (_after(each, came[each]), came[each])):
        detail = outcome.detail[:1000]
        for action in move_actions(some, after, outcome=outcome.kind.value, detail=detail):
            _tell_settled(action, outcome)


def _tell_settled(action: PlannedAction, outcome: ActionOutcome) -> None:
    """Tell what came of an action, and what that means for its plan."""
    plan, after, taken_back = action.plan, ActionState(action.state), _was_taken_back(action, outcome)
    tell_action(action, f"action.{after.value}", reason=outcome.detail or plan.explain)
    if action.kind == ActionKind.SIGNAL and after in (ActionState.FAILED, ActionState.EXPIRED):
        checkpoints.withdraw(action)  # No script to be asked, or over: the stop does not depend on it.
    elif action.kind == ActionKind.RESIZE:
        return  # Then it goes on as it was, and waits for as many nodes as before: its room is free all the same.
    elif after == ActionState.FAILED or taken_back:
        why = outcome.detail or say("refused.no_reason")
        request_undo(plan, say(f"{action.kind}.refused", job=action.job_id, why=why))
    elif (
        after == ActionState.EXPIRED
        and action.kind == ActionKind.PRIORITISE
        and plan.kind == PlanKind.PREEMPT
        and not plan.tasks  # of several one may be gone: `verifying` sees who is left
    ):
        request_undo(plan, say("plan.not_in_queue", job=plan.job_id))
