"""One time for several questions: none of them may wait longer than what is left of it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LEAST_S = 0.1
"""No question is asked with less."""

_until: ContextVar[float | None] = ContextVar("when everything must be over", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Everything that is asked inside, with `at_most`, is over in so many seconds."""
    token = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


def at_most(seconds: float) -> float:
    """This long, or what is left where that is less. Raises `TimeoutError` when nothing is."""
    until = _until.get()
    if until is None:
        return seconds
    left = until - time.monotonic()
    if left < LEAST_S:
        raise TimeoutError("all questions together took too long")
    return min(seconds, left)
