"""A partition's last hours or days, read from the record of minutes and put together into equal steps for plots."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from console.core import clock
from console.core.ttl_cache import recall_answer
from console.history.models import PartitionMinute
from console.history.spans import DAY, SPANS, USUAL, by_step, by_step_of_each, span_asked
from console.partitions.models import Partition
from console.steering.work import Work, add_work
from scheduler.model.resource_kinds import COUNTED

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
        """How many jobs waited in all, on the average."""
        return sum(map(self.mean, self.pending))

    @property
    def starts(self) -> int:
        """How many jobs started."""
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
        """The levels that waited or started, the highest first."""
        return _ordered({level for step in self.steps for level in (*step.pending, *step.started)})

    @property
    def running_levels(self) -> list[str]:
        """The levels that ran, the highest first."""
        return _ordered({level for step in self.steps for level in step.running})

    @property
    def stops(self) -> int:
        """Runs that were stopped."""
        return sum(step.stops for step in self.steps)

    @property
    def work_lost(self) -> Work:
        """The work that they had done."""
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
