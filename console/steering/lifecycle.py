"""Which moves a plan and an action may make. Every change of state goes through `move`, which is a compare-and-set."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from console.core import clock
from console.steering.journal import tell_action
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction, PlanState
from scheduler.model.actions import BY_NICE, ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.sentence import say

PLAN_MOVES: dict[str, frozenset[str]] = {
    PlanState.PROPOSED: frozenset(
        {PlanState.APPROVED, PlanState.REJECTED, PlanState.EXPIRED, PlanState.SUPERSEDED}
    ),
    PlanState.APPROVED: frozenset({PlanState.EXECUTING, PlanState.EXPIRED, PlanState.SUPERSEDED}),
    PlanState.EXECUTING: frozenset({PlanState.VERIFIED, PlanState.UNDONE, PlanState.FAILED}),
    # Opened again: a victim is still held by it (`orphaned_holds`).
    PlanState.VERIFIED: frozenset({PlanState.EXECUTING}),
    PlanState.UNDONE: frozenset({PlanState.EXECUTING}),
    PlanState.FAILED: frozenset({PlanState.EXECUTING}),
}

ACTION_MOVES: dict[str, frozenset[str]] = {
    ActionState.PLANNED: frozenset({ActionState.EXECUTING, ActionState.EXPIRED}),
    ActionState.EXECUTING: frozenset(
        {
            ActionState.PLANNED,
            ActionState.ISSUED,
            ActionState.VERIFIED,
            ActionState.EXPIRED,
            ActionState.FAILED,
        }
    ),
    ActionState.ISSUED: frozenset(
        {ActionState.PLANNED, ActionState.VERIFIED, ActionState.EXPIRED, ActionState.FAILED}
    ),
    # Given up, and seen to have worked after all (`orphaned_holds`).
    ActionState.EXPIRED: frozenset({ActionState.VERIFIED}),
    ActionState.FAILED: frozenset({ActionState.VERIFIED}),
}


class IllegalMoveError(Exception):
    """A state change that the tables above do not allow: a defect in the caller."""


def _check(moves: dict[str, frozenset[str]], before: str, after: str) -> None:
    if after not in moves.get(before, frozenset()):
        raise IllegalMoveError(f"{before} → {after} is not an allowed move")


def move_plan(plan: Plan, after: PlanState, **changes: Any) -> bool:
    """Move a plan on, with further field changes. False when somebody else moved it first (nothing changed)."""
    _check(PLAN_MOVES, plan.state, after)
    return _swap(plan, after, changes)


def move_action(action: PlannedAction, after: ActionState, **changes: Any) -> bool:
    """Move an action on, with further field changes. False when somebody else moved it first (nothing changed)."""
    _check(ACTION_MOVES, action.state, after)
    return _swap(action, after, changes)


def move_actions(actions: Sequence[PlannedAction], after: ActionState, **changes: Any) -> list[PlannedAction]:
    """Move many actions on, with the same changes; those that somebody else moved first are left out. Must run in a
    transaction. A few statements, however many there are."""
    by_state: dict[str, list[PlannedAction]] = defaultdict(list)
    for action in actions:
        _check(ACTION_MOVES, action.state, after)
        by_state[action.state].append(action)
    moved: set[int] = set()
    for state, some in by_state.items():
        rows = PlannedAction.objects.filter(pk__in=[action.pk for action in some], state=state)
        ours = list(rows.select_for_update().values_list("pk", flat=True))
        PlannedAction.objects.filter(pk__in=ours).update(state=after, **changes)
        moved.update(ours)
    for action in actions:
        if action.pk in moved:
            action.state = after
            for name, value in changes.items():
                setattr(action, name, value)
    return [action for action in actions if action.pk in moved]


def _swap(row: Plan | PlannedAction, after: str, changes: dict[str, Any]) -> bool:
    manager = type(row)._default_manager  # noqa: SLF001 - Django's documented name for it
    if not manager.filter(pk=row.pk, state=row.state).update(state=after, **changes):
        return False
    row.state = after
    for name, value in changes.items():
        setattr(row, name, value)
    return True


# Taking a plan back: its victims go on first in line, its beneficiary gets its own place back.
#
# 1. A victim that was stopped is released to a place behind all beneficiaries and before everybody else, from the first
#    moment: nobody else takes the room that it has left.
# 2. It keeps that place until it runs, but not for long: then it waits in its own place like everybody.
# 3. The plan is over when that is done; until then its job gets no other.

FIRST_FOR = timedelta(minutes=1)
"""How long a victim stays first in line without starting: Slurm looks at its whole queue once a minute."""
SENT = frozenset({ActionState.ISSUED, ActionState.VERIFIED})


def put_first(plan: Plan, jobs: Mapping[str, ObservedJob]) -> None:
    """Let the victims of a plan that is undone go on first, and give those back their own place, of any plan, that were
    first for too long. Must run inside a transaction."""
    if not (plan.undo_reason or plan.started_at or plan.kind == PlanKind.GROW):
        return
    actions = list(plan.actions.all())
    restored = {action.job_id for action in actions if action.kind == ActionKind.RESTORE_PRIORITY}
    for action in actions:
        first = _is_first(action, jobs.get(action.job_id))
        if (
            plan.undo_reason
            and action.kind == ActionKind.RELEASE
            and action.state == ActionState.PLANNED
            and not _is_placed(action)
        ):
            action.value = str(LAST_OF_FRONT)
            action.save(update_fields=["value"])
        elif _is_over(action) and first and action.job_id not in restored:
            until = (action.verified_at or clock.now()) + FIRST_FOR
            add_action(
                plan,
                action,
                ActionKind.RESTORE_PRIORITY,
                order=5,
                value=action.value,
                not_before=until,
            )
        elif action.kind == ActionKind.RESTORE_PRIORITY and action.not_before and not first:
            expire(action, say("action.left_its_place"))


def restore_priority(plan: Plan) -> None:
    """Give the beneficiary of a plan that is undone its own place back."""
    actions = list(plan.actions.all())
    restored = {a.job_id for a in actions if a.kind == ActionKind.RESTORE_PRIORITY}
    for raised in actions:
        sent = raised.kind == ActionKind.PRIORITISE and raised.state in SENT
        if sent and raised.job_id not in restored:
            add_action(plan, raised, ActionKind.RESTORE_PRIORITY, order=5, value=raised.value)


def expire(action: PlannedAction, why: str) -> None:
    """Drop an action that has lost its reason and has not been begun."""
    if action.state == ActionState.PLANNED and move_action(action, ActionState.EXPIRED, detail=why):
        tell_action(action, "action.expired", reason=why)


def add_action(
    plan: Plan,
    like: PlannedAction,
    kind: ActionKind,
    *,
    order: int,
    value: str,
    not_before: datetime | None = None,
) -> None:
    """One more action for the job and run of another one."""
    PlannedAction.objects.create(
        plan=plan,
        cluster=plan.cluster,
        kind=kind,
        order=order,
        job_id=like.job_id,
        run_start=like.run_start,
        run_restarts=like.run_restarts,
        job_name=like.job_name,
        user=like.user,
        value=value,
        not_before=not_before,
    )
    plan._prefetched_objects_cache.pop("actions", None)  # type: ignore[attr-defined]  # noqa: SLF001 - see it


def _is_over(action: PlannedAction) -> bool:
    """A release to the head of the line that was seen to have worked."""
    return action.kind == ActionKind.RELEASE and action.state == ActionState.VERIFIED and _is_placed(action)


def _is_placed(release: PlannedAction) -> bool:
    """Whether it lets the job go on at the head of the line, and not at the place that it had."""
    return bool(release.value) and not release.value.startswith(BY_NICE)


def _is_first(action: PlannedAction, job: ObservedJob | None) -> bool:
    """Whether the job still waits in the place that the action is about."""
    return (
        action.value.isdecimal()
        and job is not None
        and job.state == JobState.PENDING
        and job.priority >= int(action.value)
    )
