"""Bounded hashing of passwords: it is made to be slow, so many at once would keep everybody else waiting.

Every door where a password is checked or set ends here, for the bound is in the hasher itself.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

AT_ONCE = max(1, min(4, (os.cpu_count() or 1) // 2))
"""Argon2 works on all cores at once, so that more at a time would not be more in a second."""
WAITING = 2
"""Whoever waits has a thread of the web server, of which there are eight: most stay free for pages and probes."""
WAIT_S = 1.0
RETRY_S = 2
"""When to come again, as whoever is turned away is told."""


class BusyError(Exception):
    """Too many passwords are being hashed just now."""


class Turns:
    """So many at once, and so many that wait for their turn; the next is turned away."""

    def __init__(self, at_once: int, waiting: int, wait_s: float) -> None:
        self._inside = BoundedSemaphore(at_once + waiting)
        self._turn = BoundedSemaphore(at_once)
        self._wait_s = wait_s

    @contextmanager
    def one(self) -> Iterator[None]:
        """Somebody's turn. Raises `BusyError`."""
        if not self._inside.acquire(blocking=False):
            raise BusyError
        try:
            if not self._turn.acquire(timeout=self._wait_s):
                raise BusyError
            try:
                yield
            finally:
                self._turn.release()
        finally:
            self._inside.release()


_turns = Turns(AT_ONCE, WAITING, WAIT_S)


class Argon2(Argon2PasswordHasher):
    """Django's own, a few at a time."""

    def encode(self, password: str, salt: str) -> str:
        """Raises `BusyError`."""
        with _turns.one():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        """Raises `BusyError`."""
        with _turns.one():
            return super().verify(password, encoded)


class PBKDF2(PBKDF2PasswordHasher):
    """For passwords that were brought along; Django verifies by encoding."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Raises `BusyError`."""
        with _turns.one():
            return super().encode(password, salt, iterations)
