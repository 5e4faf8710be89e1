"""Adding up by day what jobs lost to waiting for their slowest processor (`console.power.losses`).

A loss is told when a run has ended, some of them late, and an end may be taken back. So the last days are added up anew
each time, from as far back as something may still be told: the mirror forgets runs after seven days.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import Count, Min, Sum
from django.utils import timezone

from console.cluster.models import Cluster
from console.core import clock
from console.insights.models import UnevenOfDay
from console.power.models import RunLoss

STILL_TOLD = timedelta(days=8)


def sum_unevenness(cluster: Cluster) -> int:
    """Add up the losses of the last days, at the first time of all that are kept; how many rows there are then."""
    first = _first_day(cluster)
    if first is None:
        return 0
    with transaction.atomic():
        rows = [row for day in _days(first) for row in _of(cluster, day)]
        UnevenOfDay.objects.filter(cluster=cluster, day__gte=first).delete()
        UnevenOfDay.objects.bulk_create(
            rows, ignore_conflicts=True
        )  # Of two workers both have counted the same.
    return len(rows)


def _first_day(cluster: Cluster) -> date | None:
    """The first day to be added up; None where nothing was ever lost."""
    known = UnevenOfDay.objects.filter(cluster=cluster).exists()
    if known:
        return clock.today() - STILL_TOLD
    first = RunLoss.objects.filter(cluster=cluster).aggregate(first=Min("ended"))["first"]
    if first is None:
        return None
    return timezone.localdate(datetime.fromtimestamp(first, UTC), timezone.get_default_timezone())


def _days(first: date) -> Iterator[date]:
    while first <= clock.today():
        yield first
        first += timedelta(days=1)


def _of(cluster: Cluster, day: date) -> Iterator[UnevenOfDay]:
    begin, end = (_midnight(each) for each in (day, day + timedelta(days=1)))
    ended = RunLoss.objects.filter(cluster=cluster, ended__gte=begin, ended__lt=end).order_by()
    summed = ended.values("partition", "project", "resource")
    for row in summed.annotate(runs=Count("pk"), hours=Sum("hours"), lost=Sum("lost")):
        yield UnevenOfDay(cluster=cluster, day=day, **row)


def _midnight(day: date) -> int:
    """When the day begins where this installation is, epoch seconds."""
    return int(datetime.combine(day, time(), tzinfo=timezone.get_default_timezone()).timestamp())
