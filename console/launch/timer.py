"""Celery's timer with its points named (see `console.core.points`), so that tests can make it die there."""

from typing import Any

from celery.beat import Scheduler

from console.core.points import reached


class Timer(Scheduler):
    """Celery's own scheduler, in memory: every tick is idempotent, so nothing is lost with it."""

    def apply_async(self, *args: Any, **kwargs: Any) -> Any:
        """Send one task that is due."""
        reached("beat.due")
        result = super().apply_async(*args, **kwargs)
        reached("beat.sent")
        return result
