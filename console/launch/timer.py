"""Celery's timer, with its points named (see `console.core.failpoints`) so that tests can make it die there; and it
bears a clock that is put back."""

from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import structlog
from celery.beat import Scheduler

from console.core.failpoints import failpoint

PUT_BACK_S = 1.0
"""Less is the daily work of the machine's time service, and delays a tick by that much."""

log = structlog.get_logger(__name__)


class Timer(Scheduler):
    """Celery's own scheduler, in memory: every tick is idempotent, so nothing is lost with it.

    Celery notes when each task is due by the machine's clock. One that is put back by an hour (somebody mends it, a
    virtual machine is restored) would have nothing due for an hour: nobody would be put back who was stopped.
    """

    _started_at: datetime | None = None
    """When the machine's unaltered clock began to run, as the present clock has it."""

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        """Send what is due; seconds until the next."""
        began = self.app.now() - timedelta(seconds=monotonic())
        before, self._started_at = self._started_at, began
        if before is not None and (back := (before - began).total_seconds()) > PUT_BACK_S:
            log.warning("the clock was put back", seconds=round(back))
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now()
            self._heap = None
        return super().tick(*args, **kwargs)

    def apply_async(self, *args: Any, **kwargs: Any) -> Any:
        """Send one task that is due."""
        failpoint("beat.due")
        result = super().apply_async(*args, **kwargs)
        failpoint("beat.sent")
        return result
