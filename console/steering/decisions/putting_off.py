"""No second try for the same reason: a job for which others were stopped in vain is put off, twice as long each time.

What counts are plans that were undone because their job had not started by the deadline. A job is told apart from
others by what it asks for (`likeness`), so tasks of an array and a job that is submitted again as it was are put off
with it. It ends when such a job starts, or when what it asks for changes. All of it is in the database.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Max, QuerySet

from console.cluster.models import Cluster
from console.cluster.models import Job as Row
from console.core import clock, kept_queries
from console.core.kept_queries import AskedMoment
from console.steering.models import Plan, PlanKind, PlanState
from scheduler.contracts.requests import encode_request
from scheduler.model.jobs import SnapshotJob
from scheduler.model.sentence import Seconds, say

FIRST = timedelta(minutes=2)
LONGEST = timedelta(days=1)
REMEMBER = timedelta(days=30)
"""How far back undone plans count."""
MOST_DOUBLINGS = 10
LONGEST_USER = 64
"""As plans keep it."""

Key = tuple[str, str]
"""Partition and likeness."""


@dataclass(frozen=True, slots=True)
class PutOffTry:
    """The last plan that was undone, how many of them there are in a row, and when the next try may be."""

    plan: int
    times: int
    until: datetime

    def words(self, now: datetime) -> str:
        """Why no room is made for the job just now."""
        return say("put_off.too_late", plan=self.plan, left=Seconds((self.until - now).total_seconds()))


@dataclass(frozen=True, slots=True)
class PuttingOff:
    """Who is put off now. Few, mostly nobody: a job's likeness is only worked out where its user has some."""

    now: datetime
    by_key: Mapping[Key, PutOffTry] = field(default_factory=dict)
    users: frozenset[str] = frozenset()

    def next_try(self, plans: Iterable[Plan]) -> datetime | None:
        """The earliest moment of a new plan for the job of these plans; None when it is not put off."""
        untils = {
            found.until for plan in plans if (found := self.by_key.get((plan.partition, plan.likeness)))
        }
        return max(untils, default=None)

    def why(self, job: SnapshotJob, partition: str) -> str:
        """Why no room is made for a waiting job, in words; empty when it may be."""
        if job.user[:LONGEST_USER] not in self.users:
            return ""
        found = self.by_key.get((partition, likeness(job)))
        return found.words(self.now) if found else ""


def likeness(job: SnapshotJob) -> str:
    """The same text for jobs of one user that are called the same and ask for the same; empty for a running job."""
    if job.request is None:
        return ""
    text = json.dumps([job.user, job.name, encode_request(job.request)], sort_keys=True)
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def putting_off(cluster: Cluster) -> PuttingOff:
    """Who is put off: one query when nobody is, three otherwise."""
    now = clock.now()
    plans = kept_queries.rows(_not_started, cluster.pk, since=now - REMEMBER)
    if not plans:
        return PuttingOff(now)
    found: dict[Key, PutOffTry] = {}
    for key, in_vain in _since_the_last_start(cluster, plans).items():
        last = in_vain[-1]
        wait = min(FIRST * 2 ** min(len(in_vain) - 1, MOST_DOUBLINGS), LONGEST)
        until = (last.ended_at or now) + wait
        if until > now:
            found[key] = PutOffTry(last.pk, len(in_vain), until)
    users = {plan.user for plan in plans if (plan.partition, plan.likeness) in found}
    return PuttingOff(now, found, frozenset(users))


def _not_started(cluster: int, since: AskedMoment) -> QuerySet[Plan]:
    undone = Plan.objects.filter(
        cluster=cluster,
        kind=PlanKind.PREEMPT,
        state=PlanState.UNDONE,
        not_started=True,
        ended_at__gte=since,
    ).exclude(likeness="")
    read = undone.only("partition", "likeness", "job_id", "job_restarts", "user", "ended_at")
    return read.order_by("ended_at")


def _since_the_last_start(cluster: Cluster, plans: Iterable[Plan]) -> dict[Key, list[Plan]]:
    """The plans that count, oldest first: those after which no such job has started."""
    plans = list(plans)
    started = _starts_by_plan(cluster, {plan.likeness for plan in plans})
    seen = _starts_seen(cluster, plans)
    count: dict[Key, list[Plan]] = {}
    for plan in plans:
        key = (plan.partition, plan.likeness)
        start = max(filter(None, (started.get(plan.likeness), seen.get(plan.likeness))), default=None)
        if start is None or (plan.ended_at is not None and plan.ended_at > start):
            count.setdefault(key, []).append(plan)
    return count


def _starts_by_plan(cluster: Cluster, likenesses: Iterable[str]) -> dict[str, datetime]:
    rows = Plan.objects.filter(cluster=cluster, likeness__in=list(likenesses), started_at__isnull=False)
    return dict(rows.order_by().values_list("likeness").annotate(Max("started_at")))


def _starts_seen(cluster: Cluster, plans: Iterable[Plan]) -> dict[str, datetime]:
    """When the jobs themselves were seen to start, with or without a plan."""
    by_job: dict[str, list[Plan]] = {}
    for plan in plans:
        by_job.setdefault(plan.job_id, []).append(plan)
    rows = Row.objects.filter(cluster=cluster, job_id__in=by_job)
    found: dict[str, datetime] = {}
    for job_id, start, restarts, submit in rows.values_list("job_id", "start", "restarts", "submit"):
        for plan in by_job[job_id]:
            # A requeued job has a new submit time, and has run in between.
            at = start or (submit if restarts > plan.job_restarts else 0)
            if at:
                moment = clock.from_epoch(at)
                found[plan.likeness] = max(moment, found.get(plan.likeness, moment))
    return found
