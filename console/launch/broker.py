"""The embedded broker: kombu's in-memory one, which wakes its worker when a message comes.

kombu's own looks for messages again and again: fifty times a second, so that nobody waits, or seldom, so that nothing
is spent. Only threads of one process share it.
"""

import threading
from typing import Any

from kombu.transport import memory

_COME = threading.Event()
"""Set with each message. One connection of a process receives."""


class Channel(memory.Channel):
    """Says that a message has come."""

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        super()._put(queue, message, **kwargs)
        _COME.set()


class Transport(memory.Transport):
    """Sleeps until a message comes."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None) -> None:  # type: ignore[override]
        """Deliver one message; raises TimeoutError (`socket.timeout`) when none has come for so long."""
        while True:
            _COME.clear()
            try:
                return super().drain_events(connection, timeout=0)
            except TimeoutError:
                if not _COME.wait(timeout):
                    raise
