"""How near forecasts were, added up in the database as `console.forecasts.quality` and `console.starts.quality` do."""

from collections.abc import Sequence
from datetime import datetime, time
from typing import Any

from django.db.models import Avg, Case, Count, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Greatest
from django.utils import timezone

from console.cluster.models import Cluster
from console.core.ttl_cache import recall_answer
from console.forecasts.models import JobForecast
from console.insights.answers import ForecastNearness
from console.insights.periods import ONE, Period
from console.starts.models import ExpectedStart
from console.starts.quality import NEAR_S, SEEN_S

LEAST_FORECASTS = 30
RUN_TIMES, STARTS = "run_times", "starts"


def nearness(cluster: Cluster, names: Sequence[str], period: Period) -> list[ForecastNearness]:
    """Of run times and of starts, in the time and the one before. Two queries, and two more once a minute."""
    ended = JobForecast.objects.filter(cluster=cluster, ended_at__isnull=False).order_by("-ended_at")
    gone = ExpectedStart.objects.filter(cluster=cluster, gone_at__isnull=False).order_by("-gone_at")
    latest = ended.values_list("pk", "ended_at").first(), gone.values_list("pk", "gone_at").first()
    key = (cluster.pk, tuple(names), period, latest)
    return recall_answer("nearness", key, lambda: _nearness(cluster, names, period))


def _nearness(cluster: Cluster, names: Sequence[str], period: Period) -> list[ForecastNearness]:
    ran = Greatest(Cast("ran_s", FloatField()), Value(1.0))
    said = Greatest(F("p50"), Value(1.0), output_field=FloatField())
    near = Case(When(p50__lt=F("ran_s"), then=said / ran), default=ran / said, output_field=FloatField())
    run_times = JobForecast.objects.filter(cluster=cluster, partition__in=names, ran_s__isnull=False)
    within = Q(low__lte=F("ran_s"), high__gte=F("ran_s"))
    starts = ExpectedStart.objects.filter(cluster=cluster, partition__in=names, started__isnull=False)
    in_time = Q(first_p50__gte=F("started") - NEAR_S, first_p50__lte=F("started") + NEAR_S)
    held = Q(first_low__lte=F("started") + SEEN_S) & (
        Q(first_high=None) | Q(first_high__gte=F("started") - SEEN_S)
    )
    return [
        _row(RUN_TIMES, run_times, "ended_at", period, near, within),
        _row(STARTS, starts, "gone_at", period, _share(in_time), held),
    ]


def _row(of: str, rows: QuerySet[Any], moment: str, period: Period, near: Any, within: Q) -> ForecastNearness:
    begin, middle, end = map(_midnight, (period.before.first, period.first, period.last + ONE))
    rows = rows.filter(**{f"{moment}__gte": begin, f"{moment}__lt": end})
    now, before = Q(**{f"{moment}__gte": middle}), Q(**{f"{moment}__lt": middle})
    found = rows.aggregate(
        jobs=Count("pk", filter=now),
        near=Avg(near, filter=now),
        within=Avg(_share(within), filter=now),
        jobs_before=Count("pk", filter=before),
        near_before=Avg(near, filter=before),
        within_before=Avg(_share(within), filter=before),
    )
    for suffix in ("", "_before"):
        if found[f"jobs{suffix}"] < LEAST_FORECASTS:
            found[f"near{suffix}"] = found[f"within{suffix}"] = None
    return ForecastNearness(of=of, **found)


def _share(condition: Q) -> Case:
    return Case(When(condition, then=Value(1.0)), default=Value(0.0), output_field=FloatField())


def _midnight(day: Any) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_default_timezone())
