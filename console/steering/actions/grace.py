"""The grace time begins when the checkpoint signal is sent, however long ago the plan was made.

A worker may have died, or the database may have been away, between the plan and the signal; a signal of which nobody
knows whether it was sent is sent again. Each time all stops of the plan wait for the full grace time from then on.
"""

from collections.abc import Iterable
from datetime import timedelta

from console.steering.models import STOP_KINDS, ActionState, Plan, PlannedAction


def begin_grace(signals: Iterable[PlannedAction]) -> None:
    """Put off the stops, and the deadline, by what the signals are late. Must run inside the claim's transaction.

    A signal's `not_before` says since when the stops' was counted.
    """
    late: dict[Plan, timedelta] = {}
    for signal in signals:
        if signal.issued_at and signal.not_before and signal.issued_at > signal.not_before:
            delay = signal.issued_at - signal.not_before
            late[signal.plan] = max(delay, late.get(signal.plan, delay))
            signal.not_before = signal.issued_at
            signal.save(update_fields=["not_before"])
    for plan, delay in late.items():
        _put_off(plan, delay)


def _put_off(plan: Plan, delay: timedelta) -> None:
    stops = [
        action
        for action in plan.actions.all()
        if action.kind in STOP_KINDS and action.state == ActionState.PLANNED and action.not_before
    ]
    for stop in stops:
        stop.not_before = stop.not_before and stop.not_before + delay
    PlannedAction.objects.bulk_update(stops, ["not_before"])
    if plan.deadline:
        plan.deadline += delay
        plan.save(update_fields=["deadline"])
