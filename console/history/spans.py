"""How far back plots over time go, and the equal steps that they are cut into."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
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
USUAL, LONGEST = "24h", "7d"
DAY = Span(SPANS[USUAL].label, SPANS[USUAL].length, timedelta(hours=1))
"""The last day on a card: there is room for a column per hour."""


def span_asked(name: str) -> str:
    """A span's name as an address has it; one that there is not counts as the usual one."""
    return name if name in SPANS else USUAL


def picks(chosen: str) -> Iterable[tuple[str, Promise, bool]]:
    """The spans to choose from: name, label, and whether it is the one that is shown."""
    return [(name, span.label, name == chosen) for name, span in SPANS.items()]


def by_step(
    rows: QuerySet[Any], first: datetime, step: timedelta, *facts: str | Cast
) -> Iterator[tuple[int, list[Counter[Any]]]]:
    """What rows with a moment `at` say: the number of the step, and of each fact what it was and how often.

    A week has ten thousand minutes, and in most a fact is as it was in the one before: what is alike is worked out
    once. Moments are compared as text: every database writes them the same up to the second, and to read each takes
    longer than all else.
    """
    asked = rows.order_by("at").values_list(Cast("at", TextField()), *facts)
    return _steps(asked.iterator(chunk_size=2000), first, step)


def by_step_of_each(
    rows: QuerySet[Any], key: str, first: datetime, step: timedelta, *facts: str | Cast
) -> Iterator[tuple[str, int, list[Counter[Any]]]]:
    """The same of several that are told apart by the field `key`, each by itself; one query for all."""
    asked = rows.order_by(key, "at").values_list(key, Cast("at", TextField()), *facts)
    for name, theirs in groupby(asked.iterator(chunk_size=2000), itemgetter(0)):
        for number, counted in _steps((row[1:] for row in theirs), first, step):
            yield name, number, counted


def _steps(
    asked: Iterable[tuple[Any, ...]], first: datetime, step: timedelta
) -> Iterator[tuple[int, list[Counter[Any]]]]:
    within: list[tuple[Any, ...]] = []
    number, end = 0, _written(first + step)
    for row in asked:
        if row[0] >= end:
            if within:
                yield number, _counted(within)
            within = []
            number = (_read(row[0]) - first) // step
            end = _written(first + step * (number + 1))
        within.append(row)
    if within:
        yield number, _counted(within)


def _counted(rows: Iterable[tuple[Any, ...]]) -> list[Counter[Any]]:
    """By column, but for the moment, which comes first."""
    return [Counter(column) for column in list(zip(*rows, strict=True))[1:]]


def _written(moment: datetime) -> str:
    """A moment without parts of seconds, as databases write it; zones follow, or nothing."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _read(written: str) -> datetime:
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _floor(moment: datetime, step: timedelta) -> datetime:
    """The last full step, counted from local midnight, so that hours begin where people expect it.

    In UTC: in the days around a change of the clocks an hour by the clock on the wall is none or two.
    """
    midnight = timezone.localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    return midnight + step * ((moment - midnight) // step)
