"""Noticing a new job at once: a cheap glance at the queue between two cycles, and a cycle out of turn if it shows one.

The timer alone is enough for everything to be right; this only makes it quick. What a glance costs is kept to a small
share of the time: the slower Slurm answers, the rarer it is asked.
"""

import threading
import time
from collections.abc import Callable

import structlog

from scheduler.ports import ClusterPort, ClusterUnavailableError

log = structlog.get_logger(__name__)

SHARE = 0.1
"""At most this share of the time is spent on glances."""
RETRY_S = 5.0
"""How long after a failed glance the next one is tried: the cycle says what is wrong."""


class Watcher(threading.Thread):
    """Calls `wake` whenever a job waits that did not wait at the glance before. Ends with the process."""

    def __init__(self, cluster: ClusterPort, wake: Callable[[], object], every_s: float) -> None:
        super().__init__(name="watcher", daemon=True)
        self._cluster = cluster
        self._wake = wake
        self._every_s = every_s
        self._known: frozenset[str] | None = None
        self._ended = threading.Event()

    def run(self) -> None:
        """Glance until `stop`."""
        pause = 0.0
        while not self._ended.wait(pause):
            begin = time.monotonic()
            seen = self.look()
            taken = time.monotonic() - begin
            pause = max(self._every_s, taken / SHARE) if seen else RETRY_S

    def look(self) -> bool:
        """One glance; False when the cluster could not be asked."""
        try:
            waiting = self._cluster.glance()
        except ClusterUnavailableError as error:
            log.debug("the queue cannot be glanced at", fault=str(error))
            self._known = None
            return False
        except Exception:
            # Whatever the queue shows: this thread must not end by it. The timer's cycles say what is wrong.
            log.exception("the queue cannot be glanced at")
            self._known = None
            return False
        new = waiting - self._known if self._known is not None else frozenset()
        self._known = waiting
        return not new or self._woken()

    def _woken(self) -> bool:
        """Have a cycle run; False when nobody takes the message, as while Redis is away. The timer's cycles come."""
        try:
            self._wake()
        except Exception:
            log.exception("no cycle could be asked for")
            return False
        return True

    def stop(self) -> None:
        """Glance no more."""
        self._ended.set()
