"""Which answers the live server is still busy with: a page that is closed leaves its last questions behind.

A test ends, its tables are emptied, the next one makes its rows: whatever the server then still wrote for the page
before would fall in between.
"""

import threading
from typing import Any

from django.core.signals import request_finished, request_started

MOST_S = 300.0
_changed = threading.Condition()
_busy: set[int] = set()
"""Threads of the server, of which each answers one request at a time."""


def watch(port: int) -> None:
    """Begin to watch the server of this port."""

    def started(environ: dict[str, Any], **_: Any) -> None:
        if environ.get("SERVER_PORT") == str(port):
            with _changed:
                _busy.add(threading.get_ident())

    request_started.connect(started, weak=False)
    request_finished.connect(_finished)


def wait(seconds: float = MOST_S) -> None:
    """Return when all answers are given. Raises `TimeoutError`."""
    with _changed:
        if not _changed.wait_for(lambda: not _busy, seconds):
            raise TimeoutError(f"requests not answered within {seconds:g} s: {len(_busy)}")


def _finished(**_: Any) -> None:
    with _changed:
        _busy.discard(threading.get_ident())
        _changed.notify_all()
