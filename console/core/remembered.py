"""Sums over weeks that many people look at: worked out once, and again when something was added or a minute is over.

In the memory of one process. What is remembered is the same for all who may ask with the same key: it holds figures
and names, never words of a language or moments of a zone, and whom it is about (partitions that one may see) is in
the key.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")
OLDEST_S = 60.0
_forget: list[Callable[[], None]] = []


class Remembered(Generic[Value]):
    """The last few answers by key, none older than a minute."""

    def __init__(self, most: int = 64) -> None:
        self._most, self._lock = most, Lock()
        self._known: OrderedDict[Hashable, tuple[float, Value]] = OrderedDict()
        on_forgetting(self.forget)

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """From memory, or made and remembered. Never to be changed by who gets it."""
        now = time.monotonic()
        with self._lock:
            made_at, value = self._known.get(key, (now - 2 * OLDEST_S, None))
        if value is not None and now - made_at <= OLDEST_S:
            return value
        value = make()
        with self._lock:
            self._known[key] = (now, value)
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return value

    def forget(self) -> None:
        """Everything is made anew."""
        with self._lock:
            self._known.clear()


def forget_everything() -> None:
    """For tests, each of which begins with a new database."""
    for forget in _forget:
        forget()


def on_forgetting(forget: Callable[[], None]) -> None:
    """Whoever keeps what the database has told, and does it otherwise, forgets it with everything else."""
    _forget.append(forget)
