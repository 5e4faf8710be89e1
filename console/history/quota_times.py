"""How far the quotas of a level were used over the last hours or days, read from the record of minutes."""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from console.core import clock
from console.core.ttl_cache import recall_answer
from console.history.models import QuotaMinute
from console.history.spans import SPANS, by_step, span_asked
from console.partitions.models import Partition
from console.partitions.quotas import LevelLimit, QuotaKind, Use, in_order, limits_of
from scheduler.model.policy import PartitionPolicy

_Counted = tuple[QuotaKind, str]
"""What a limit of a level is about: its kind and a resource."""
_Recorded = tuple[int, int, Mapping[str, int]]
"""Limit, users who had all of it, and what the fullest used: as `QuotaMinute.uses` has it."""
_KINDS = tuple(QuotaKind)


class Peak(NamedTuple):
    """A use of a limit at some moment. The nearest one to its limit is the greatest. `user`: as `Use` has it."""

    ratio: float
    used: int
    user: str
    most: int
    """The limit, as it was then."""


@dataclass(slots=True)
class QuotaStep:
    """What the minutes of one step come to for one limit: in each minute that of the user who was nearest to it.

    `used` and `limit` are sums over the minutes; `peak` is the use nearest to its limit; in `full` of the minutes
    somebody had all of it. Minutes in which the level had no such limit are not among `minutes`.
    """

    at: datetime
    minutes: int = 0
    used: float = 0.0
    limit: float = 0.0
    peak: Peak | None = None
    full: int = 0

    @property
    def share(self) -> float | None:
        """How much of the limit was used on the average, 1 is all of it; None where nothing is known."""
        if not self.minutes:
            return None
        return self.used / self.limit if self.limit else 1.0


@dataclass(slots=True)
class UserTime:
    """A user's part in a limit: the use nearest to it, and the minutes in which they had all of it."""

    peak: Peak
    full: int = 0


@dataclass(slots=True)
class QuotaLine:
    """One limit of the level over the span, as it was last. `users`: those who ever were among the fullest."""

    limit: LevelLimit
    steps: list[QuotaStep]
    users: dict[str, UserTime] = field(default_factory=dict)

    @property
    def peak(self) -> Peak | None:
        """The use that was nearest to its limit; None where nobody used anything."""
        return max((step.peak for step in self.steps if step.peak), default=None)

    def use(self, peak: Peak) -> Use:
        """One of its peaks, to say it in words."""
        return Use(replace(self.limit, most=peak.most), peak.user, peak.used)

    @property
    def full(self) -> int:
        """Minutes in which somebody had all of it."""
        return sum(step.full for step in self.steps)

    @property
    def nearest(self) -> list[UserTime]:
        """Users, those first who had all of it for longest."""
        found = (time for time in self.users.values() if time.peak.used)
        return sorted(found, key=lambda time: (-time.full, -time.peak.ratio, time.peak.user))


@dataclass(frozen=True, slots=True)
class QuotaTimes:
    """A level's limits over a span: jobs, each user's amounts, totals."""

    span: str
    rank: int
    lines: list[QuotaLine]


def usual_level(policy: PartitionPolicy) -> int | None:
    """The rank of the level that is shown unless another is asked for: the highest with a limit, else the highest."""
    limited = next((limit.rank for limit in limits_of(policy)), 0)
    return limited if policy.levels else None


def read_quota_times(
    partition: Partition, policy: PartitionPolicy, rank: int, asked: str, known_by: Hashable = None
) -> QuotaTimes:
    """The level's quotas over time; it is the level that has this rank today. A span that there is not counts as the
    usual one. Two queries, one where nobody has added a minute since somebody looked. `known_by`: what
    `quota_times_key` says, if that is known already."""
    name = span_asked(asked)
    key = quota_times_key(partition, policy, rank, name) if known_by is None else known_by
    return recall_answer("quota times", key, lambda: _read(partition, policy, rank, name))


def quota_times_key(
    partition: Partition, policy: PartitionPolicy, rank: int, asked: str
) -> tuple[Hashable, ...]:
    """Equal as long as these times are: no minute was added and no step has begun. One query."""
    name = span_asked(asked)
    first = SPANS[name].begins(clock.now())[0]
    latest = list(_latest(partition.cluster_id, partition.name, rank))
    return partition.pk, rank, policy.levels[rank].name, name, first.isoformat(), *latest


def _latest(cluster: int, partition: str, rank: int) -> QuerySet[QuotaMinute, tuple[Any, ...]]:
    rows = QuotaMinute.objects.filter(cluster=cluster, partition=partition, rank=rank)
    return rows.order_by("-at").values_list("pk", "at")[:1]


def _read(partition: Partition, policy: PartitionPolicy, rank: int, name: str) -> QuotaTimes:
    span, now = SPANS[name], clock.now()
    begins = span.begins(now)
    level = policy.levels[rank].name
    lines: dict[_Counted, QuotaLine] = {}
    for number, uses, times in _minutes(partition, rank, begins[0], now, span.step):
        for counted, recorded in uses:
            if counted not in lines:
                limit = LevelLimit(rank, level, *counted, most=recorded[0])
                lines[counted] = QuotaLine(limit, [QuotaStep(begin) for begin in begins])
            _add(lines[counted], min(len(begins) - 1, number), recorded, times)
    ordered = sorted(lines, key=lambda counted: (_KINDS.index(counted[0]), in_order(counted[1])))
    return QuotaTimes(name, rank, [lines[counted] for counted in ordered])


def _minutes(
    partition: Partition, rank: int, first: datetime, now: datetime, step: timedelta
) -> Iterator[tuple[int, list[tuple[_Counted, _Recorded]], int]]:
    rows = QuotaMinute.objects.filter(
        cluster=partition.cluster_id, partition=partition.name, rank=rank, at__gte=first, at__lte=now
    )
    for number, [written] in by_step(rows, first, step, Cast("uses", TextField())):
        for text, times in written.items():
            yield number, list(_decoded(text)), times


def _decoded(text: str) -> Iterable[tuple[_Counted, _Recorded]]:
    for kind, limits in json.loads(text).items():
        for resource, (most, full, users) in limits.items():
            yield (QuotaKind(kind), resource), (most, full, users)


def _add(line: QuotaLine, number: int, recorded: _Recorded, times: int) -> None:
    """Count some minutes that are alike into their step, and their users into the line."""
    most, full, users = recorded
    if most != line.limit.most:
        line.limit = replace(line.limit, most=most)
    step = line.steps[number]
    step.minutes += times
    step.limit += most * times
    step.full += times if full else 0
    # As `Use.ratio` has it, which would be made a hundred thousand times for a week.
    uses = [Peak(used / most if most else 1.0 + used, used, user, most) for user, used in users.items()]
    if uses:
        fullest = max(uses)
        step.used += fullest.used * times
        step.peak = fullest if step.peak is None else max(step.peak, fullest)
    for use in uses:
        known = line.users.setdefault(use.user, UserTime(use))
        known.peak = max(known.peak, use)
        known.full += times if use.used >= most else 0
