"""How good the forecasts of the last weeks were, now that the jobs have ended."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from statistics import fmean
from typing import NamedTuple, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from console.cluster.models import Cluster
from console.core import clock
from console.core.ttl_cache import recall_answer
from console.forecasts.learning import ended_job
from console.forecasts.models import AccountingRead, JobForecast, KeptRun, RunTimeModel
from scheduler.forecast.facts import JobFacts
from scheduler.forecast.score import LastTwo, figure

Key = TypeVar("Key", str, date)
DAYS = 28
MOST_FORECASTS = 5_000
MOST_MODELS = 10
FEWEST_OF_A_USER = 10
"""With fewer jobs a user is not named: it would say little."""
MOST_USERS = 5
PROMISES = (("low", 0.05), ("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("high", 0.95))
"""Of each of these figures, the share of jobs that end before it, as it is meant."""


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """`figure`: mean of min(p, t) / max(p, t) of the middle forecast. `within`: share of the true run times between
    `low` and `high`, 0.9 is meant. `longer`: share that ran longer than the middle forecast. `error_s`: the median of
    the errors."""

    jobs: int
    figure: float
    within: float
    longer: float
    error_s: float


@dataclass(frozen=True, slots=True)
class PromiseKept:
    """Of one of `PROMISES`: what share of the jobs should have ended by then, and did."""

    name: str
    meant: float
    was: float


@dataclass(frozen=True, slots=True)
class ForecastQuality:
    """All of it; `total` is None while no job with a forecast has ended. `limit`, `last_two`: the same figure for the
    limits that users set, and for the mean of the user's last two jobs; None where there was nothing to say it of."""

    since: date
    total: ForecastScore | None = None
    limit: float | None = None
    last_two: float | None = None
    promises: tuple[PromiseKept, ...] = ()
    weeks: tuple[tuple[date, ForecastScore], ...] = ()
    partitions: tuple[tuple[str, ForecastScore], ...] = ()
    worst_users: tuple[tuple[str, ForecastScore], ...] = ()
    models: Sequence[RunTimeModel] = field(default_factory=tuple)
    is_cut: bool = False
    fault: str = ""
    """Why Slurm's accounting could not be read the last time, in words; empty when it could, or there is none."""


class _Ended(NamedTuple):
    """What is counted of a forecast whose job has ended; there are thousands."""

    partition: str
    user: str
    submit: int
    limit_s: int | None
    p10: float
    p50: float
    p90: float
    low: float
    high: float
    ran_s: int
    ended_at: datetime


def forecast_quality(cluster: Cluster, partitions: Iterable[str]) -> ForecastQuality:
    """The forecasts of jobs that ended within the last weeks in some partitions; six queries, whatever there is,
    and three where no more have ended since somebody asked within the last minute."""
    since, names = clock.now() - timedelta(days=DAYS), tuple(partitions)
    ended = JobForecast.objects.filter(
        cluster=cluster, partition__in=names, ended_at__gte=since, ran_s__isnull=False
    ).order_by("-ended_at")
    latest = ended.values_list("pk", "ended_at", "ran_s").first()
    key = (cluster.pk, names, since.date(), latest)
    return replace(
        recall_answer("forecast quality", key, lambda: _quality(cluster, ended, since.date())),
        models=list(RunTimeModel.objects.filter(cluster=cluster).defer("body")[:MOST_MODELS]),
        fault=AccountingRead.objects.filter(cluster=cluster).values_list("fault", flat=True).first() or "",
    )


def _quality(cluster: Cluster, ended: QuerySet[JobForecast], since: date) -> ForecastQuality:
    """The same without what is quickly read anew."""
    found = list(ended.values_list(*_Ended._fields)[: MOST_FORECASTS + 1])
    rows = [_Ended(*row) for row in found[:MOST_FORECASTS]]
    if not rows:
        return ForecastQuality(since)
    limits = [figure(row.limit_s, row.ran_s) for row in rows if row.limit_s]
    users = _by(rows, lambda row: row.user)
    named = [(user, score) for user, score in users if score.jobs >= FEWEST_OF_A_USER]
    return ForecastQuality(
        since=since,
        total=_score(rows),
        limit=fmean(limits) if limits else None,
        last_two=_last_two(cluster, rows),
        promises=tuple(
            PromiseKept(name, meant, fmean(row.ran_s < getattr(row, name) for row in rows))
            for name, meant in PROMISES
        ),
        weeks=tuple(_by(rows, _week)),
        partitions=tuple(_by(rows, lambda row: row.partition)),
        worst_users=tuple(sorted(named, key=lambda each: each[1].figure)[:MOST_USERS]),
        is_cut=len(found) > MOST_FORECASTS,
    )


def _score(rows: Sequence[_Ended]) -> ForecastScore:
    ran = [(row, max(row.ran_s, 1)) for row in rows]
    errors = sorted(abs(row.p50 - truth) for row, truth in ran)
    return ForecastScore(
        jobs=len(rows),
        figure=fmean(figure(row.p50, truth) for row, truth in ran),
        within=fmean(row.low <= truth <= row.high for row, truth in ran),
        longer=fmean(truth > row.p50 for row, truth in ran),
        error_s=errors[len(errors) // 2],
    )


def _by(rows: Sequence[_Ended], key: Callable[[_Ended], Key]) -> list[tuple[Key, ForecastScore]]:
    parts: dict[Key, list[_Ended]] = defaultdict(list)
    for row in rows:
        parts[key(row)].append(row)
    return [(name, _score(parts[name])) for name in sorted(parts)]


def _week(row: _Ended) -> date:
    """The Monday of the week in which it ended, where this installation is."""
    day = timezone.localtime(row.ended_at, timezone.get_default_timezone()).date()
    return day - timedelta(days=day.weekday())


def _last_two(cluster: Cluster, rows: Sequence[_Ended]) -> float | None:
    """The mean of the last two jobs of the same user that had ended when each was submitted; at most the limit."""
    by_submit = sorted(rows, key=lambda row: row.submit)
    users = {row.user for row in rows}
    first = by_submit[0].submit - int(timedelta(days=DAYS).total_seconds())
    runs = KeptRun.objects.filter(cluster=cluster, user__in=users, end__gte=first).order_by("end", "pk")
    ended = runs[: 10 * MOST_FORECASTS].iterator()
    coming, method, figures = next(ended, None), LastTwo(), []
    for row in by_submit:
        while coming is not None and coming.end <= row.submit:
            method.ended(ended_job(coming))
            coming = next(ended, None)
        facts = JobFacts(user=row.user, limit_s=row.limit_s)
        figures.append(figure(method.point(facts), row.ran_s))
    return fmean(figures) if figures else None
