"""Taking a plan back: its victims go on first in line, its beneficiary gets its own place back.

1. A victim that was stopped is released to a place behind all beneficiaries and before everybody else, from the first
   moment: nobody else takes the room that it has left.
2. It keeps that place until it runs, but not for long: then it waits in its own place like everybody.
3. The plan is over when that is done; until then its job gets no other.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from console.core import clock
from console.steering.journal import tell_action
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction
from console.steering.states import move_action
from scheduler.model.actions import BY_NICE, ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.sentence import say

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
