"""How far back plots over time go, and the equal steps that they are cut into."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.core import clock
from console.core.ttl_cache import recall_answer
from console.history.models import PartitionMinute
from console.partitions.models import Partition
from console.steering.selectors import Work, add_work
from scheduler.model.resource_kinds import COUNTED


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
            number = (_read_spans(row[0]) - first) // step
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


def _read_spans(written: str) -> datetime:
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _floor(moment: datetime, step: timedelta) -> datetime:
    """The last full step, counted from local midnight, so that hours begin where people expect it.

    In UTC: in the days around a change of the clocks an hour by the clock on the wall is none or two.
    """
    midnight = timezone.localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    return midnight + step * ((moment - midnight) // step)


# --- A partition's last hours or days, read from the record of minutes and put together into equal steps for plots.


UNCONFIGURED = "none"


@dataclass(slots=True)
class TimelineStep:
    """What the minutes of one step come to: means of what held (`minutes` were seen), sums of what came to pass.

    `started` maps a level to the jobs that started and the seconds that they had waited together.
    """

    at: datetime
    minutes: int = 0
    used: dict[str, float] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    pending: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)
    started: dict[str, tuple[int, float]] = field(default_factory=dict)
    stops: int = 0
    work_lost: Work = field(default_factory=dict)

    def share(self, resource: str) -> float | None:
        """How much of a resource was busy, 0 to 1; None where nobody looked."""
        total = self.total.get(resource, 0.0)
        return min(1.0, self.used.get(resource, 0.0) / total) if total else None

    def mean(self, level: str) -> float:
        """How many jobs of a level waited, on the average."""
        return self.pending.get(level, 0.0) / self.minutes if self.minutes else 0.0

    def ran(self, level: str) -> float:
        """How many jobs of a level ran, on the average."""
        return self.running.get(level, 0.0) / self.minutes if self.minutes else 0.0

    @property
    def waiting(self) -> float:
        return sum(map(self.mean, self.pending))

    @property
    def starts(self) -> int:
        return sum(jobs for jobs, _seconds in self.started.values())


@dataclass(frozen=True, slots=True)
class LevelWait:
    """How long jobs of a level had waited when they started."""

    level: str
    jobs: int
    mean_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """All steps of a span, the oldest first, with nothing where nobody looked."""

    span: str
    steps: list[TimelineStep]
    resource: str

    @property
    def seen(self) -> bool:
        """Whether there is anything to show."""
        return any(step.minutes for step in self.steps)

    @property
    def levels(self) -> list[str]:
        return _ordered({level for step in self.steps for level in (*step.pending, *step.started)})

    @property
    def running_levels(self) -> list[str]:
        return _ordered({level for step in self.steps for level in step.running})

    @property
    def stops(self) -> int:
        return sum(step.stops for step in self.steps)

    @property
    def work_lost(self) -> Work:
        lost: Work = {}
        for step in self.steps:
            add_work(lost, step.work_lost)
        return lost

    @property
    def busy(self) -> float | None:
        """How much of the main resource was busy over the whole span, 0 to 1."""
        used = sum(step.used.get(self.resource, 0.0) for step in self.steps)
        total = sum(step.total.get(self.resource, 0.0) for step in self.steps)
        return used / total if total else None

    @property
    def waits(self) -> list[LevelWait]:
        """By level, for the jobs that started within the span."""
        found = []
        for level in self.levels:
            pairs = [step.started[level] for step in self.steps if level in step.started]
            jobs = sum(count for count, _seconds in pairs)
            if jobs:
                found.append(LevelWait(level, jobs, sum(seconds for _count, seconds in pairs) / jobs))
        return found


def _ordered(levels: Iterable[str]) -> list[str]:
    return sorted(levels, key=lambda level: (level == UNCONFIGURED, int(level) if level.isdecimal() else 0))


def read_days(cluster_id: int, names: Iterable[str]) -> dict[str, Timeline]:
    """The last day of several partitions, a step per hour. One query for all of them."""
    now = clock.now()
    found = {name: [TimelineStep(begin) for begin in DAY.begins(now)] for name in names}
    first = DAY.begins(now)[0]
    rows = PartitionMinute.objects.filter(
        cluster=cluster_id, partition__in=list(found), at__gte=first, at__lte=now
    )
    for name, number, facts in by_step_of_each(rows, "partition", first, DAY.step, *_facts()):
        steps = found[name]
        _add(steps[min(len(steps) - 1, number)], _Minutes(*facts))
    return {name: Timeline(USUAL, steps, _main(steps)) for name, steps in found.items()}


def read_timeline(partition: Partition, asked: str, known_by: Hashable = None) -> Timeline:
    """The partition's timeline; a span that there is not counts as the usual one. Two queries, one where nobody has
    added a minute since somebody looked. `known_by`: what `timeline_key` says, if that is known already."""
    name = span_asked(asked)
    key = timeline_key(partition, name) if known_by is None else known_by
    return recall_answer("timeline", key, lambda: _read(partition, name))


def timeline_key(partition: Partition, asked: str) -> tuple[Hashable, ...]:
    """Equal as long as the timeline is: no minute was added and no step has begun. One query."""
    name = span_asked(asked)
    first = SPANS[name].begins(clock.now())[0]
    latest = list(_latest(partition.cluster_id, partition.name))
    return partition.pk, name, first.isoformat(), *latest


def _latest(cluster: int, partition: str) -> QuerySet[PartitionMinute, tuple[Any, ...]]:
    rows = PartitionMinute.objects.filter(cluster=cluster, partition=partition)
    return rows.order_by("-at").values_list("pk", "at")[:1]


def _read(partition: Partition, name: str) -> Timeline:
    span, now = SPANS[name], clock.now()
    steps = [TimelineStep(begin) for begin in span.begins(now)]
    for step, minutes in _minutes(partition, steps[0].at, now, span.step):
        _add(steps[min(len(steps) - 1, step)], minutes)
    return Timeline(name, steps, _main(steps))


class _Minutes(NamedTuple):
    """What a step sums up: how often each was so, as it is written."""

    used: Counter[str]
    total: Counter[str]
    pending: Counter[str]
    running: Counter[str]
    work_lost: Counter[str]
    started: Counter[str]
    stops: Counter[int]


def _minutes(
    partition: Partition, first: datetime, now: datetime, step: timedelta
) -> Iterator[tuple[int, _Minutes]]:
    """The number of a step, and its minutes."""
    rows = PartitionMinute.objects.filter(
        cluster=partition.cluster_id, partition=partition.name, at__gte=first, at__lte=now
    )
    return ((number, _Minutes(*facts)) for number, facts in by_step(rows, first, step, *_facts()))


def _facts() -> list[str | Cast]:
    """The columns of `_Minutes`."""
    return [*(Cast(field, TextField()) for field in _Minutes._fields[:-1]), "stops"]


def _add(step: TimelineStep, minutes: _Minutes) -> None:
    step.minutes += minutes.stops.total()
    step.stops += sum(stops * times for stops, times in minutes.stops.items())
    _sum(step.used, minutes.used)
    _sum(step.total, minutes.total)
    _sum(step.pending, minutes.pending)
    _sum(step.running, minutes.running)
    _sum(step.work_lost, minutes.work_lost)
    for text, times in minutes.started.items():
        for level, (jobs, seconds) in _decoded(text).items():
            before = step.started.get(level, (0, 0.0))
            step.started[level] = (before[0] + jobs * times, before[1] + seconds * times)


def _sum(into: dict[str, float], minutes: Counter[str]) -> None:
    for text, times in minutes.items():
        for name, amount in _decoded(text).items():
            into[name] = into.get(name, 0.0) + amount * times


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Mapping[str, Any]:
    """Never changed: the same text is the same mapping."""
    return MappingProxyType(json.loads(text))


def _main(steps: Iterable[TimelineStep]) -> str:
    names = {name for step in steps for name, amount in step.total.items() if amount}
    return next((name for name in COUNTED if name in names), "cpu")
