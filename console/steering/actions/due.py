"""Whose turn it is among the actions of a plan."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from console.steering.actions.resizing import is_put_back
from console.steering.exchanging.sets import is_exchange
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction
from scheduler.model.actions import ActionKind

SETTLE = timedelta(seconds=2)
"""Slurm loses a job that starts again in the clock second of its requeue (seen on 22.05.8: slurmd takes it for the run
that it is still ending, and the job fails)."""
UNFINISHED = frozenset({ActionState.PLANNED, ActionState.EXECUTING})


def is_due(action: PlannedAction, plan: Plan, now: datetime) -> bool:
    """Whether an action's turn has come."""
    if action.state != ActionState.PLANNED or (action.not_before and action.not_before > now):
        return False
    others: list[PlannedAction] = list(plan.actions.all())
    grows = plan.kind == PlanKind.GROW
    if action.kind == ActionKind.RELEASE:
        # Who starts again on more nodes waits for nobody but itself.
        over = grows or bool(plan.undo_reason) or plan.started_at is not None or is_exchange(plan)
        return over and not _stop_pending(action, others, now)
    if action.kind in {ActionKind.RESTORE_PRIORITY, ActionKind.RECOVER}:
        return True
    if action.kind == ActionKind.RESIZE:
        return is_put_back(action, others)
    if grows and action.kind == ActionKind.HOLD:
        return True
    if plan.undo_reason or plan.started_at:
        return False
    return all(other.state not in UNFINISHED for other in others if other.order < action.order)


def _stop_pending(release: PlannedAction, others: Iterable[PlannedAction], now: datetime) -> bool:
    """Whether the stop (or hold) that this release takes back was not seen to have worked, or only just now."""
    stops = {ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.HOLD, ActionKind.RESIZE}
    return any(
        other.job_id == release.job_id
        and other.kind in stops
        and (
            other.state in (ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED)
            or (other.issued_at is not None and abs(now - other.issued_at) < SETTLE)
        )
        for other in others
    )
