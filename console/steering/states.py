"""Which moves a plan and an action may make. Every change of state goes through `move`, which is a compare-and-set."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from console.steering.models import ActionState, Plan, PlannedAction, PlanState

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
