"""Adding up what has come since the last time, at most a day at a time; each thing is counted once.

Everything of one stretch is written in one transaction with how far that is, so that a worker that dies has done all
of it or nothing, and of two that work on the same one finds it done.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, time, timedelta

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from console.cluster.models import Cluster
from console.core import clock
from console.core.duty_cycle import take_portions
from console.history.models import PartitionMinute
from console.insights.counting import (
    PartitionSum,
    RoomSum,
    StopSum,
    Stretch,
    Sums,
    count_minutes,
    count_room,
    count_starts,
    count_stops,
)
from console.insights.models import PartitionDay, RoomOfDay, StopsOfDay, SummedUntil, UnevenOfDay
from console.insights.waits import merged
from console.steering.models import PlannedAction
from scheduler.model.resource_kinds import COUNTED

SETTLED = timedelta(minutes=2)
"""So long after a look all that it led to is written down."""
MIRROR_KEEPS = timedelta(days=7)
"""Jobs that have ended are forgotten then; starts before are known from the record of minutes only."""
BUDGET_S = 3.0
"""Days are begun until a run of the task has taken so much of a processor; the next one goes on."""
KEPT = timedelta(days=400)


def sum_up(cluster: Cluster) -> int:
    """Add up what is new, up to the last look; returns how many stretches. What was never summed is caught up."""
    now = clock.now()
    seen = min(now, cluster.observed_at or now) - SETTLED
    until = seen.replace(second=0, microsecond=0)
    return sum(1 for _ in take_portions(BUDGET_S, _added(cluster, until, now)))


def _added(cluster: Cluster, until: datetime, now: datetime) -> Iterator[Stretch]:
    while (since := _since(cluster, until)) < until:
        stretch = Stretch(since, min(until, _next_day(since)))
        _add(cluster, stretch, now)
        yield stretch


def forget_old_sums() -> int:
    """Delete sums that are older than they are kept; how many rows."""
    oldest = clock.today() - KEPT
    kept = (PartitionDay, StopsOfDay, RoomOfDay, UnevenOfDay)
    return sum(model.objects.filter(day__lt=oldest).delete()[0] for model in kept)


def _since(cluster: Cluster, until: datetime) -> datetime:
    """How far it is added up; before the first time, when the record and the stops begin."""
    known = SummedUntil.objects.filter(cluster=cluster).values_list("until", flat=True).first()
    if known is not None:
        return known
    minutes = PartitionMinute.objects.filter(cluster=cluster).aggregate(first=Min("at"))["first"]
    stops = PlannedAction.objects.filter(cluster=cluster).aggregate(first=Min("verified_at"))["first"]
    first = min((at for at in (minutes, stops) if at is not None), default=until)
    begin = max(first, until - KEPT).replace(second=0, microsecond=0)
    SummedUntil.objects.get_or_create(cluster=cluster, defaults={"until": begin})
    return begin


def _next_day(moment: datetime) -> datetime:
    """The midnight after it, where this installation is."""
    zone = timezone.get_default_timezone()
    tomorrow = timezone.localdate(moment, zone) + timedelta(days=1)
    return datetime.combine(tomorrow, time(), tzinfo=zone)


def _add(cluster: Cluster, stretch: Stretch, now: datetime) -> None:
    """One stretch, unless somebody else has added it meanwhile."""
    sums: Sums = defaultdict(PartitionSum)
    forgotten = stretch.begin < now - MIRROR_KEEPS
    count_minutes(cluster, stretch, sums, with_starts=forgotten)
    if not forgotten:
        count_starts(cluster, stretch, sums)
    stops, room = count_stops(cluster, stretch), count_room(cluster, stretch)
    with transaction.atomic():
        mine = SummedUntil.objects.filter(cluster=cluster, until=stretch.begin).update(until=stretch.end)
        if not mine:
            return
        for name, each in sums.items():
            _add_day(cluster, stretch, name, each)
        for key, stopped in stops.items():
            _add_stops(cluster, stretch, key, stopped)
        for (name, project), ran in room.items():
            _add_room(cluster, stretch, name, project, ran)


def _add_stops(cluster: Cluster, stretch: Stretch, key: tuple[str, str, str, str], stopped: StopSum) -> None:
    name, cause, gained, paid = key
    row, _ = StopsOfDay.objects.get_or_create(
        cluster=cluster, day=stretch.day, partition=name, cause=cause, gained=gained, paid=paid
    )
    row.stops += stopped.stops
    for what in COUNTED:
        setattr(row, f"{what}_lost", getattr(row, f"{what}_lost") + stopped.lost.get(what, 0.0))
        setattr(row, f"{what}_saved", getattr(row, f"{what}_saved") + stopped.saved.get(what, 0.0))
    row.save()


def _add_room(cluster: Cluster, stretch: Stretch, name: str, project: str, ran: RoomSum) -> None:
    row, _ = RoomOfDay.objects.get_or_create(
        cluster=cluster, day=stretch.day, partition=name, project=project
    )
    row.jobs += ran.jobs
    for what in COUNTED:
        setattr(row, what, getattr(row, what) + ran.work.get(what, 0.0))
    row.save()


def _add_day(cluster: Cluster, stretch: Stretch, name: str, each: PartitionSum) -> None:
    row, _ = PartitionDay.objects.get_or_create(cluster=cluster, day=stretch.day, partition=name)
    waits = each.waits
    merged(waits, row.waits)
    row.minutes += each.minutes
    row.job_minutes += each.job_minutes
    row.waits = waits
    row.save()
