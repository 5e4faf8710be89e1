"""How soon work in the background is done again: by what it took, so that its share of a processor is bounded."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TypeVar

Portion = TypeVar("Portion")


@dataclass
class DutyCycle:
    """Work that took a second of a processor rests for `rest` seconds, but for no more than `most_s` seconds in all.

    Counted from its beginning. What a process waits for, a processor too, counts as nothing.
    """

    rest: float
    most_s: float
    took_s: float = 0.0
    began: float = -inf
    """By the process's own clock."""

    @property
    def since_s(self) -> float:
        """Seconds since the work began last."""
        return time.monotonic() - self.began

    def has_rested(self, rest: float | None = None) -> bool:
        """Whether it may begin again. `rest`: instead of the usual one."""
        return self.since_s >= min(self.most_s, (self.rest if rest is None else rest) * self.took_s)

    def begin(self) -> None:
        """The work begins anew."""
        self.began, self.took_s = time.monotonic(), 0.0

    @contextmanager
    def spending(self) -> Iterator[None]:
        """What is done inside is a part of the work."""
        before = time.thread_time()
        try:
            yield
        finally:
            self.took_s += time.thread_time() - before


def take_portions(budget_s: float, portions: Iterable[Portion]) -> Iterator[Portion]:
    """The portions of some work, at least one, that are begun before it has taken so many seconds of a processor."""
    before = time.thread_time()
    for portion in portions:
        yield portion
        if time.thread_time() - before >= budget_s:
            return
