"""Adding up what has come since the last time, at most a day at a time; each thing is counted once.

Everything of one stretch is written in one transaction with how far that is, so that a worker that dies has done all
of it or nothing, and of two that work on the same one finds it done.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Min, Q, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.core.duty_cycle import take_portions
from console.history.minutes import axis_of, level_key
from console.history.models import PartitionMinute
from console.insights.answers import counted, merged
from console.insights.models import PartitionDay, RoomOfDay, StopCause, StopsOfDay, SummedUntil, UnevenOfDay
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.models import MemberRole, Membership
from console.steering.metrics import metered
from console.steering.models import STOP_KINDS, ActionState, Plan, PlanKind, PlannedAction
from console.steering.selectors import Work, add_work, work_of
from console.steering.served import jobs_served
from scheduler.model.actions import ActionKind
from scheduler.model.resource_kinds import COUNTED
from scheduler.model.resources import total

# --- What came to pass in one stretch of a day: minutes, starts, stops, and what others ran for whom room was made.


Waits = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `begin` on and before `end`, all on one day of the installation's calendar."""

    begin: datetime
    end: datetime

    @property
    def day(self) -> date:
        """The day that it is a part of."""
        return timezone.localdate(self.begin, timezone.get_default_timezone())

    @property
    def seconds(self) -> tuple[int, int]:
        return int(self.begin.timestamp()), int(self.end.timestamp())


@dataclass(slots=True)
class PartitionSum:
    """A partition's part of a stretch, as `PartitionDay` has it."""

    minutes: int = 0
    job_minutes: int = 0
    waits: Waits = field(default_factory=dict)

    def waited(self, level: str, seconds: float, jobs: int = 1) -> None:
        counted(self.waits.setdefault(level, []), max(0.0, seconds), jobs)


@dataclass(slots=True)
class StopSum:
    """Stops of one cause between two projects: how many, and the work lost and saved."""

    stops: int = 0
    lost: Work = field(default_factory=dict)
    saved: Work = field(default_factory=dict)


@dataclass(slots=True)
class RoomSum:
    """Jobs of one project that had got room and have ended, and what they ran."""

    jobs: int = 0
    work: Work = field(default_factory=dict)


Sums = defaultdict[str, PartitionSum]


def count_minutes(cluster: Cluster, stretch: Stretch, sums: Sums, *, with_starts: bool) -> None:
    """The record of minutes; `with_starts`: its mean waits as well, where the mirror has forgotten the jobs."""
    rows = PartitionMinute.objects.filter(cluster=cluster, at__gte=stretch.begin, at__lt=stretch.end)
    texts = (Cast(name, TextField()) for name in ("running", "started"))
    found = Counter(rows.order_by().values_list("partition", *texts).iterator(chunk_size=2000))
    for (name, running, started), times in found.items():
        into = sums[name]
        into.minutes += times
        into.job_minutes += times * sum(json.loads(running).values())
        if with_starts:
            for level, (jobs, seconds) in json.loads(started).items():
                into.waited(level, seconds / max(1, jobs), jobs * times)


def count_starts(cluster: Cluster, stretch: Stretch, sums: Sums) -> None:
    """Every start by the cluster's clock, from the jobs of the mirror. Two queries."""
    partitions = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    axes = {row.name: axis_of(policy_of(row).mode) for row in partitions}
    begin, end = stretch.seconds
    rows = Job.objects.filter(cluster=cluster, partition__in=list(axes), start__gte=begin, start__lt=end)
    facts = rows.exclude(phase=JobPhase.PENDING).values_list(
        "partition", "user_level", "task_level", "start", "submit"
    )
    for name, user_level, task_level, start, submit in facts.order_by().iterator(chunk_size=2000):
        level = user_level if axes[name] == "user" else task_level
        sums[name].waited(level_key(level), start - submit)


def count_stops(cluster: Cluster, stretch: Stretch) -> dict[tuple[str, str, str, str], StopSum]:
    """By partition, cause, the project that gained and the one that paid: stops that were seen to have worked."""
    rows = PlannedAction.objects.filter(
        cluster=cluster,
        kind__in=STOP_KINDS,
        state=ActionState.VERIFIED,
        verified_at__gte=stretch.begin,
        verified_at__lt=stretch.end,
        issued_at__isnull=False,
    ).select_related("plan")
    runs = {(row.job_id, row.run_start, row.run_restarts): row for row in rows}
    stops = metered(runs.values())
    jobs = {row.job_id: row.user for row, _stop in stops}
    jobs |= {row.plan.job_id: row.plan.user for row, _stop in stops}
    project = projects_of(cluster, jobs)
    found: dict[tuple[str, str, str, str], StopSum] = defaultdict(StopSum)
    for row, stop in stops:
        key = (stop.partition, cause_of(row), project[row.plan.job_id], project[row.job_id])
        found[key].stops += 1
        add_work(found[key].lost, stop.work_in(stop.ran_s - stop.kept_s))
        add_work(found[key].saved, stop.work_in(stop.kept_s))
    return dict(found)


def cause_of(row: PlannedAction) -> str:
    if row.plan.kind == PlanKind.GROW:
        return StopCause.GROW
    if any(each["job"] == row.job_id and each.get("worker_of") for each in row.plan.victims):
        return StopCause.WORKER
    return StopCause.CANCEL if row.kind == ActionKind.CANCEL else StopCause.ROOM


def projects_of(cluster: Cluster, users: Mapping[str, str]) -> dict[str, str]:
    """The project of each job, given with its user: the mirror's, else the only one that the user is a member of."""
    jobs = Job.objects.filter(cluster=cluster, job_id__in=list(users))
    known = dict(jobs.order_by().values_list("job_id", "project")) if users else {}
    lacking = {user for job_id, user in users.items() if job_id not in known}
    only: dict[str, set[str]] = defaultdict(set)
    if lacking:
        members = Membership.objects.filter(
            project__cluster=cluster, role=MemberRole.MEMBER, username__in=lacking
        )
        for username, code in members.values_list("username", "project__code"):
            only[username].add(code)
    alone = {user: next(iter(codes)) for user, codes in only.items() if len(codes) == 1}
    return {job_id: known.get(job_id, alone.get(user, "")) for job_id, user in users.items()}


def count_room(cluster: Cluster, stretch: Stretch) -> dict[tuple[str, str], RoomSum]:
    """By partition and project: the last runs of jobs that ended, for which others had been stopped."""
    ended = Job.objects.filter(
        cluster=cluster, start__gt=0, ended_at__gte=stretch.begin, ended_at__lt=stretch.end
    )
    served = _served(cluster, ended.values("job_id"), ended.exclude(group="").values("group"))
    found: dict[tuple[str, str], RoomSum] = defaultdict(RoomSum)
    facts = ended.order_by().values_list("job_id", "partition", "project", "start", "ended_at", "alloc")
    for job_id, partition, project, start, ended_at, alloc in facts.iterator(chunk_size=2000):
        if job_id in served and ended_at is not None:
            ran_s = max(0.0, ended_at.timestamp() - start)
            each = found[partition, project]
            each.jobs += 1
            add_work(each.work, work_of({"amounts": total(alloc.values()), "ran_s": ran_s}))
    return dict(found)


def _served(cluster: Cluster, ids: Any, groups: Any) -> set[str]:
    """Who of the jobs had others stopped for them, alone or as a task."""
    stopping = PlannedAction.objects.filter(kind__in=STOP_KINDS, state=ActionState.VERIFIED)
    plans = Plan.objects.filter(
        Q(job_id__in=ids) | Q(group__in=groups) & ~Q(tasks=[]),
        cluster=cluster,
        kind=PlanKind.PREEMPT,
        started_at__isnull=False,
        pk__in=stopping.filter(cluster=cluster).values("plan"),
    )
    return {
        job_id for plan in plans.only("pk", "job_id", "job_restarts", "tasks") for job_id in jobs_served(plan)
    }


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
