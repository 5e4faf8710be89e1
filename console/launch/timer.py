"""Celery's timer with its points named (see `console.core.failpoints`), so that tests can make it die there."""

from typing import Any

from celery.beat import Scheduler

from console.core.failpoints import failpoint


class Timer(Scheduler):
    """Celery's own scheduler, in memory: every tick is idempotent, so nothing is lost with it."""

    def apply_async(self, *args: Any, **kwargs: Any) -> Any:
        """Send one task that is due."""
        failpoint("beat.due")
        result = super().apply_async(*args, **kwargs)
        failpoint("beat.sent")
        return result
