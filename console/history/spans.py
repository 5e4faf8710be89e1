"""How far back plots over time go, and the equal steps that they are cut into."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Span:
    """How far back the plots go, and how long a step of them is."""

    label: Promise
    length: timedelta
    step: timedelta

    def begins(self, now: datetime) -> list[datetime]:
        """When each step begins, the oldest first; the last one is not over yet."""
        first = _floor(now, self.step) - self.length + self.step
        return [first + self.step * i for i in range(self.length // self.step)]


SPANS: dict[str, Span] = {
    "6h": Span(_("6 hours"), timedelta(hours=6), timedelta(minutes=5)),
    "24h": Span(_("24 hours"), timedelta(hours=24), timedelta(minutes=15)),
    "7d": Span(_("7 days"), timedelta(days=7), timedelta(hours=2)),
}
USUAL = "24h"


def span_asked(name: str) -> str:
    """A span's name as an address has it; one that there is not counts as the usual one."""
    return name if name in SPANS else USUAL


def picks(chosen: str) -> Iterable[tuple[str, Promise, bool]]:
    """The spans to choose from: name, label, and whether it is the one that is shown."""
    return [(name, span.label, name == chosen) for name, span in SPANS.items()]


def by_step(
    rows: Iterable[tuple[Any, ...]], first: datetime, step: timedelta
) -> Iterator[tuple[int, tuple[Any, ...], int]]:
    """Rows in order of time, each a moment and its facts: the number of the step, the facts, how often they are there.

    A week has ten thousand minutes, and most are like the one before: what is alike is worked out once.
    """
    found: Counter[tuple[Any, ...]] = Counter()
    number, end = 0, first + step
    for at, *facts in rows:
        if at >= end:
            yield from ((number, alike, times) for alike, times in found.items())
            found.clear()
            number = (at - first) // step
            end = first + step * (number + 1)
        found[tuple(facts)] += 1
    yield from ((number, alike, times) for alike, times in found.items())


def _floor(moment: datetime, step: timedelta) -> datetime:
    """The last full step, counted from local midnight, so that hours begin where people expect it."""
    midnight = timezone.localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + step * ((moment - midnight) // step)
