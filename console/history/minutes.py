"""A partition's line of one minute, added up from the mirror and the stops."""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet, Sum, TextField
from django.db.models.functions import Cast

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.core import clock
from console.core.ttl_cache import recall_answer
from console.history.models import PartitionMinute, QuotaMinute
from console.history.timeline import SPANS, by_step, span_asked
from console.partitions.models import Partition
from console.partitions.quotas import LevelLimit, QuotaKind, Use, in_order, limits_of, taken_of, uses_in
from console.partitions.selectors import policy_of
from console.steering.metrics import stops_of
from console.steering.models import STOP_KINDS, ActionState, PlannedAction
from console.steering.selectors import Work, add_work, work_of
from scheduler.model.policy import Mode, PartitionPolicy
from scheduler.model.resources import add

USER, TASK = "user", "task"
UNCONFIGURED = "none"
_COUNTED: dict[str, str] = {JobPhase.RUNNING: "running", JobPhase.PENDING: "pending"}


@dataclass(slots=True)
class StoppedRuns:
    """Runs stopped in a partition and the work these had done."""

    runs: int = 0
    work: Work = field(default_factory=dict)


def axis_of(mode: Mode) -> str:
    """Whose level comes first in a mode: the user's or the task's."""
    return USER if mode in {Mode.USER, Mode.USER_THEN_TASK} else TASK


def level_key(level: int | None) -> str:
    """A level as the record writes it."""
    return UNCONFIGURED if level is None else str(level)


def minute_rows(
    cluster: Cluster, minute: datetime, *, since: datetime, until: datetime
) -> list[PartitionMinute]:
    """A row for every partition with a policy, not saved; five queries. What came to pass is that after `since`."""
    partitions = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    made = {
        row.name: PartitionMinute(
            cluster=cluster, partition=row.name, at=minute, axis=axis_of(policy_of(row).mode)
        )
        for row in partitions
    }
    _add_nodes(cluster, made)
    _add_jobs(cluster, made)
    _add_starts(cluster, made, since, until)
    for name, stopped in stopped_between(cluster, since, until).items():
        if name in made:
            made[name].stops, made[name].work_lost = stopped.runs, stopped.work
    return list(made.values())


def _add_nodes(cluster: Cluster, made: Mapping[str, PartitionMinute]) -> None:
    rows = Node.objects.filter(cluster=cluster, up=True).values_list("partitions", "total", "used")
    for partitions, total, used in rows:
        for name in partitions:
            if name in made:
                add(made[name].total, total)
                add(made[name].used, used)


def _add_jobs(cluster: Cluster, made: Mapping[str, PartitionMinute]) -> None:
    rows = Job.objects.filter(cluster=cluster, phase__in=_COUNTED).order_by()
    grouped = rows.values("partition", "phase", "user_level", "task_level").annotate(jobs=Count("pk"))
    for group in grouped:
        row = made.get(group["partition"])
        if row is not None:
            counts: dict[str, int] = getattr(row, _COUNTED[group["phase"]])
            add(counts, {_level(group, row): group["jobs"]})


def _add_starts(
    cluster: Cluster, made: Mapping[str, PartitionMinute], since: datetime, until: datetime
) -> None:
    """Starts by the cluster's clock, taken as the console's; what started and ended since is not among them."""
    rows = Job.objects.filter(
        cluster=cluster,
        phase__in=(JobPhase.RUNNING, JobPhase.COMPLETING),
        start__gt=int(since.timestamp()),
        start__lte=int(until.timestamp()),
    ).order_by()
    grouped = rows.values("partition", "user_level", "task_level").annotate(
        jobs=Count("pk"), waited=Sum(F("start") - F("submit"))
    )
    for group in grouped:
        row = made.get(group["partition"])
        if row is not None:
            jobs, waited = row.started.get(_level(group, row), (0, 0))
            row.started[_level(group, row)] = [jobs + group["jobs"], waited + max(0, group["waited"])]


def _level(group: Mapping[str, Any], row: PartitionMinute) -> str:
    return level_key(group[f"{row.axis}_level"])


def stopped_between(cluster: Cluster, since: datetime, until: datetime) -> dict[str, StoppedRuns]:
    """By partition: the stops that were seen to have worked after `since` and not after `until`."""
    rows = PlannedAction.objects.filter(
        cluster=cluster,
        kind__in=STOP_KINDS,
        state=ActionState.VERIFIED,
        verified_at__gt=since,
        verified_at__lte=until,
        issued_at__isnull=False,
    )
    found: dict[str, StoppedRuns] = defaultdict(StoppedRuns)
    runs = {(row.job_id, row.run_start, row.run_restarts): row for row in rows.select_related("plan")}
    for stop in stops_of(runs.values()):
        found[stop.partition].runs += 1
        add_work(
            found[stop.partition].work, work_of({"amounts": stop.amounts, "ran_s": stop.ran_s - stop.kept_s})
        )
    return found


# --- How far the quotas were used in one minute, added up from the mirror.


FULLEST = 5
"""Users that are named of each limit: a line is not to grow with the number of users."""


def quota_rows(cluster: Cluster, minute: datetime) -> list[QuotaMinute]:
    """A row for every level with a limit, not saved; two queries."""
    partitions = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    every = {row.name: limits_of(policy_of(row)) for row in partitions}
    limits = {name: each for name, each in every.items() if each}
    taken = taken_of(Job.objects.filter(cluster=cluster), limits)
    return [
        QuotaMinute(cluster=cluster, partition=name, at=minute, rank=rank, uses=uses)
        for name, each in limits.items()
        for rank, uses in uses_of_levels(each, uses_in(name, each, taken))
    ]


def uses_of_levels(limits: Iterable[LevelLimit], uses: Iterable[Use]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each level that has a limit, with what `QuotaMinute.uses` holds of it. `uses`: the fullest first."""
    of: dict[LevelLimit, list[Use]] = {limit: [] for limit in limits}
    for use in uses:
        of[use.limit].append(use)
    found: dict[int, dict[str, Any]] = {}
    for limit, each in of.items():
        told = [limit.most, sum(use.full for use in each), {use.user: use.used for use in each[:FULLEST]}]
        found.setdefault(limit.rank, {}).setdefault(limit.kind.value, {})[limit.resource] = told
    yield from found.items()


# --- How far the quotas of a level were used over the last hours or days, read from the record of minutes.


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
