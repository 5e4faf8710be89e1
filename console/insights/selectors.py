"""Reading the sums of a time and of the one before. Ten queries, whatever there is."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db.models import Case, IntegerField, QuerySet, Sum, Value, When

from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.history.minutes import UNCONFIGURED
from console.insights.answers import (
    CauseOfLoss,
    Coverage,
    Insights,
    LevelWaits,
    Period,
    ProjectBalance,
    ProjectUnevenness,
    StopRate,
    merged,
    nearness,
    quantile,
)
from console.insights.models import PartitionDay, RoomOfDay, StopCause, StopsOfDay, SummedUntil, UnevenOfDay
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.selectors import sees_all_projects, visible_projects
from console.steering.selectors import Work, add_work
from scheduler.model.policy import PartitionPolicy
from scheduler.model.resource_kinds import COUNTED

LEAST_DAYS = 3
"""Of fewer days nothing is drawn or compared."""
ALIKE = 0.75
"""Times are compared when at least this share of the hours seen in the one was seen in the other."""
LEAST_STARTS = 10
PER_JOB_HOURS = 1000
LOST = {f"{what}_lost": Sum(f"{what}_lost") for what in COUNTED}
SAVED = {f"{what}_saved": Sum(f"{what}_saved") for what in COUNTED}


@dataclass(slots=True)
class _Half:
    """What the days of the time, or of the one before, come to."""

    days: set[date] = field(default_factory=set)
    minutes: dict[date, int] = field(default_factory=dict)
    seen_minutes: Counter[str] = field(default_factory=Counter)
    job_minutes: Counter[str] = field(default_factory=Counter)
    waits: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def add(self, name: str, day: date, minutes: int, job_minutes: int, waits: Mapping[str, Any]) -> None:
        self.minutes[day] = max(minutes, self.minutes.get(day, 0))
        self.seen_minutes[name] += minutes
        self.job_minutes[name] += job_minutes
        merged(self.waits.setdefault(name, {}), waits)

    def coverage(self, period: Period) -> Coverage:
        """Of all partitions, the one that was seen the longest counts."""
        seen = [minutes for minutes in self.minutes.values() if minutes]
        return Coverage(len(seen), period.length, round(sum(seen) / 60, 1))


def insights(user: Any, cluster: Cluster, partitions: Sequence[Partition], period: Period) -> Insights:
    """All answers for some partitions that have a policy, as far as they are this account's to see."""
    names = [partition.name for partition in partitions]
    now, before = _halves(cluster, names, period)
    stops = list(_with_half(StopsOfDay, cluster, names, period).values(
        "half", "partition", "cause", "gained", "paid"
    ).annotate(count=Sum("stops"), **LOST, **SAVED))  # fmt: skip
    seen, seen_before = now.coverage(period), before.coverage(period.before)
    codes = _codes(user)
    return Insights(
        period=period,
        seen=seen,
        seen_before=seen_before,
        comparable=_alike(seen, seen_before),
        waits=[row for each in partitions for row in _waits(each.name, policy_of(each), now, before)],
        work=_work(stops),
        projects=_projects(stops, _with_half(RoomOfDay, cluster, names, period), codes),
        stops=[_rate(each, _bound(user, each, now), stops, now, before) for each in partitions],
        forecasts=nearness(cluster, names, period),
        unevenness=_unevenness(_with_half(UnevenOfDay, cluster, names, period), codes),
        sees_projects=codes is None or bool(codes),
    )


def insights_key(
    user: Any, cluster: Cluster, partitions: Sequence[Partition], period: Period
) -> tuple[Hashable, ...]:
    """Equal as long as the answers are: nothing was added up since, and the account sees the same. One query, and one
    for who does not see all projects.

    Forecasts, which are no sums, may be a minute older than that.
    """
    summed = SummedUntil.objects.filter(cluster=cluster).values_list("until", flat=True).first()
    bounds = tuple(user.has_perm(Permission.POLICY_VIEW, each) for each in partitions)
    codes = _codes(user)
    return (
        *(cluster.pk, summed, period, bounds, None if codes is None else tuple(sorted(codes))),
        *((each.pk, each.revision_id) for each in partitions),
    )


def _alike(seen: Coverage, before: Coverage) -> bool:
    few, many = sorted((seen.hours, before.hours))
    return min(seen.days, before.days) >= LEAST_DAYS and few >= ALIKE * many


def _with_half(
    model: type[PartitionDay | StopsOfDay | RoomOfDay | UnevenOfDay],
    cluster: Cluster,
    names: Sequence[str],
    period: Period,
) -> QuerySet[Any]:
    """The rows of both times; `half` is 1 in the one that is asked about."""
    half = Case(When(day__gte=period.first, then=Value(1)), default=Value(0), output_field=IntegerField())
    rows = model.objects.filter(
        cluster=cluster, partition__in=names, day__gte=period.before.first, day__lte=period.last
    )
    return rows.order_by().annotate(half=half)


def _halves(cluster: Cluster, names: Sequence[str], period: Period) -> tuple[_Half, _Half]:
    now, before = _Half(), _Half()
    rows = _with_half(PartitionDay, cluster, names, period)
    facts = rows.values_list("half", "partition", "day", "minutes", "job_minutes", "waits")
    for half, *row in facts.iterator(chunk_size=2000):
        (now if half else before).add(*row)
    return now, before


def _waits(name: str, policy: PartitionPolicy, now: _Half, before: _Half) -> Iterable[LevelWaits]:
    here, then = now.waits.get(name, {}), before.waits.get(name, {})
    for level in sorted(
        {*here, *then}, key=lambda key: (key == UNCONFIGURED, int(key) if key.isdigit() else 0)
    ):
        rank = None if level == UNCONFIGURED else int(level)
        jobs, median, p90 = _quantiles(here.get(level, []))
        jobs_before, median_before, p90_before = _quantiles(then.get(level, []))
        yield LevelWaits(
            name, rank, policy.level_name(rank), jobs, median, p90, jobs_before, median_before, p90_before
        )


def _quantiles(histogram: list[int]) -> tuple[int, float | None, float | None]:
    jobs = sum(histogram)
    if jobs < LEAST_STARTS:
        return jobs, None, None
    return jobs, _rounded(quantile(histogram, 0.5)), _rounded(quantile(histogram, 0.9))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _of(row: Mapping[str, Any], suffix: str = "") -> Work:
    return {what: row[f"{what}{suffix}"] for what in COUNTED if row[f"{what}{suffix}"]}


def _work(stops: Iterable[Mapping[str, Any]]) -> list[CauseOfLoss]:
    """By cause, in their order; those that there were."""
    counts: Counter[tuple[str, int]] = Counter()
    lost: dict[tuple[str, int], Work] = {}
    saved: dict[tuple[str, int], Work] = {}
    for row in stops:
        key = (row["cause"], row["half"])
        counts[key] += row["count"]
        add_work(lost.setdefault(key, {}), _of(row, "_lost"))
        add_work(saved.setdefault(key, {}), _of(row, "_saved"))
    return [
        CauseOfLoss(
            cause,
            counts[cause, 1],
            lost.get((cause, 1), {}),
            saved.get((cause, 1), {}),
            counts[cause, 0],
            lost.get((cause, 0), {}),
            saved.get((cause, 0), {}),
        )
        for cause in StopCause.values
        if counts[cause, 0] or counts[cause, 1]
    ]


def _codes(user: Any) -> frozenset[str] | None:
    """The projects that the person may see; None: all."""
    if sees_all_projects(user):
        return None
    rows = visible_projects(user).prefetch_related(None).values_list("code", flat=True)
    return frozenset(rows)


def _projects(
    stops: Iterable[Mapping[str, Any]], room: QuerySet[Any], codes: frozenset[str] | None
) -> list[ProjectBalance]:
    """Who gained and who paid, the largest first; only projects that may be seen."""
    made: Counter[str] = Counter()
    suffered: Counter[str] = Counter()
    jobs: Counter[str] = Counter()
    ran: dict[str, Work] = {}
    lost: dict[str, Work] = {}
    saved: dict[str, Work] = {}
    for row in stops:
        if row["half"] and row["cause"] != StopCause.GROW:
            made[row["gained"]] += row["count"]
            suffered[row["paid"]] += row["count"]
            add_work(lost.setdefault(row["paid"], {}), _of(row, "_lost"))
            add_work(saved.setdefault(row["paid"], {}), _of(row, "_saved"))
    sums = {what: Sum(what) for what in COUNTED}
    for row in room.filter(half=1).values("project").annotate(count=Sum("jobs"), **sums):
        jobs[row["project"]] += row["count"]
        ran[row["project"]] = _of(row)
    found = [
        ProjectBalance(
            code,
            jobs[code],
            ran.get(code, {}),
            made[code],
            suffered[code],
            lost.get(code, {}),
            saved.get(code, {}),
        )
        for code in {*made, *suffered, *jobs}
        if codes is None or code in codes
    ]
    return sorted(found, key=lambda each: (-each.made - each.suffered, each.project))


def _unevenness(rows: QuerySet[Any], codes: frozenset[str] | None) -> list[ProjectUnevenness]:
    """By project and resource, what lost the most first; only projects that may be seen."""
    runs: Counter[tuple[str, str, int]] = Counter()
    held: dict[tuple[str, str, int], float] = {}
    lost: dict[tuple[str, str, int], float] = {}
    summed = rows.values("half", "project", "resource")
    for row in summed.annotate(count=Sum("runs"), held=Sum("hours"), waited=Sum("lost")):
        if codes is None or row["project"] in codes:
            key = (row["project"], row["resource"], row["half"])
            runs[key], held[key], lost[key] = row["count"], round(row["held"], 2), round(row["waited"], 2)
    found = [
        ProjectUnevenness(
            code,
            resource,
            *(
                runs[code, resource, 1],
                held.get((code, resource, 1), 0.0),
                lost.get((code, resource, 1), 0.0),
            ),
            *(
                runs[code, resource, 0],
                held.get((code, resource, 0), 0.0),
                lost.get((code, resource, 0), 0.0),
            ),
        )
        for code, resource in {(code, resource) for code, resource, _ in runs}
    ]
    return sorted(found, key=lambda each: (-each.hours_lost, each.project, each.resource))


def _bound(user: Any, partition: Partition, now: _Half) -> float | None:
    """Stops per 1,000 job-hours if each hour that was seen had had as many as the policy in force allows."""
    most = policy_of(partition).max_stops_per_hour
    minutes, job_minutes = now.seen_minutes[partition.name], now.job_minutes[partition.name]
    if most is None or not job_minutes or not user.has_perm(Permission.POLICY_VIEW, partition):
        return None
    return round(PER_JOB_HOURS * most * minutes / job_minutes, 2)


def _rate(
    partition: Partition,
    bound: float | None,
    stops: Iterable[Mapping[str, Any]],
    now: _Half,
    before: _Half,
) -> StopRate:
    count: Counter[int] = Counter()
    for row in stops:
        if row["partition"] == partition.name:
            count[row["half"]] += row["count"]
    hours, hours_before = (half.job_minutes[partition.name] / 60 for half in (now, before))
    return StopRate(
        partition.name,
        count[1],
        round(hours, 1),
        per_job_hours(count[1], hours),
        bound,
        count[0],
        round(hours_before, 1),
        per_job_hours(count[0], hours_before),
    )


def per_job_hours(stops: int, hours: float) -> float | None:
    """Stops per 1,000 job-hours; None where fewer than one hour ran."""
    return round(PER_JOB_HOURS * stops / hours, 2) if hours >= 1 else None
