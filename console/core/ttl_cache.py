"""Answers that many people ask for, worked out once a minute at most, in the memory of one process.

An answer is the same for all who may ask with the same key: it holds figures and names, never words of a language or
moments of a zone. Whom it is about (partitions that one may see) is in the key, and so is what tells that there is
something new (a version, the latest row), unless a minute's delay does no harm.
"""

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")
OLDEST_S = 60.0
MOST = 64
_answers: dict[str, OrderedDict[Hashable, tuple[float, Any]]] = defaultdict(OrderedDict)
_lock = Lock()


def recall_answer(name: str, key: Hashable, make: Callable[[], Value], *, most: int = MOST) -> Value:
    """From memory, or made and kept; never to be changed by who gets it. `most`: so many of this name are kept."""
    now = time.monotonic()
    with _lock:
        made_at, value = _answers[name].get(key, (0.0, None))
    if value is not None and now - made_at <= OLDEST_S:
        return value
    value = make()
    with _lock:
        answers = _answers[name]
        answers[key] = (now, value)
        answers.move_to_end(key)
        while len(answers) > most:
            answers.popitem(last=False)
    return value


def clear_answers() -> None:
    """For tests, each of which begins with a new database."""
    with _lock:
        _answers.clear()
