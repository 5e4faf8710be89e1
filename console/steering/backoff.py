"""No second try for the same reason: a job for which others were stopped in vain is put off, twice as long each time.

What counts are plans that were undone because their job had not started by the deadline. A job is told apart from
others by what it asks for (`likeness`), so tasks of an array and a job that is submitted again as it was are put off
with it. It ends when such a job starts, or when what it asks for changes. All of it is in the database.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db.models import Max, QuerySet

from console.cluster.models import Cluster
from console.cluster.models import Job as Row
from console.core import clock
from console.forecasts.selectors import expected_ends, past_ends, version_in_force, whole_runs
from console.steering.models import Patience, Plan, PlanKind, PlanState
from scheduler.contracts.requests import encode_request
from scheduler.model.jobs import JobState, ObservedJob, SnapshotJob
from scheduler.model.plan import Decision
from scheduler.model.policy import Dispatch, PartitionPolicy
from scheduler.model.reasons import Reason
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
    plans = list(_not_started(cluster.pk, since=now - REMEMBER))
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


def _not_started(cluster: int, since: datetime) -> QuerySet[Plan]:
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


# Patience: what is forecast of running jobs, and who has waited long enough for a start that was forecast (spec 3.1).
#
# Only partitions whose policy is patient, or that keep nodes, are told the ends of running jobs, so that nothing else
# depends on them.
# A job is patient once: when it has not started within `patience_s` of the moment in which it was first said to start
# by itself, others may be stopped for it as ever.


@dataclass(frozen=True, slots=True)
class Foresight:
    """`ends`: by job and start, when a run is expected to end (p80, epoch seconds). `whole`: by job, how many seconds
    its run takes (p80), for a run that has just begun and of which no end was said yet; where nodes are kept only.
    `since`: by partition and job, since when it is patient."""

    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    since: Mapping[tuple[str, str], int] = field(default_factory=dict)
    whole: Mapping[str, int] = field(default_factory=dict)

    def told(self, job: SnapshotJob, policy: PartitionPolicy, now: int) -> SnapshotJob:
        """A job with what is forecast of it; the same where the policy does not look ahead."""
        if not looks_ahead(policy):
            return job
        if job.state == JobState.PENDING:
            if not policy.patience_s:
                return job
            since = self.since.get((policy.name, job.id))
            spent = since is not None and now - since >= policy.patience_s
            return replace(job, patience_spent=True) if spent else job
        end = self.ends.get((job.id, job.start or 0))
        if end is None and job.start and job.id in self.whole:
            end = job.start + self.whole[job.id]
        return job if end is None else replace(job, predicted_end=end)


def looks_ahead(policy: PartitionPolicy) -> bool:
    """Whether a partition's decisions depend on when running jobs end."""
    return policy.patience_s > 0 or policy.dispatch is Dispatch.MANAGED


def foresee(
    cluster: Cluster, policies: Sequence[PartitionPolicy], since: datetime | None = None
) -> Foresight:
    """What is forecast, and who is patient; two queries where a policy is patient, none otherwise.

    `since`: for looks back to then; nobody is patient yet, and of runs that are over it is what was said at first.
    """
    if not any(looks_ahead(policy) for policy in policies):
        return Foresight()
    if since is not None:
        return Foresight(past_ends(cluster, since))
    rows = Patience.objects.filter(cluster=cluster).values_list("partition", "job_id", "since")
    keeps = any(policy.dispatch is Dispatch.MANAGED for policy in policies)
    patient = {(partition, job_id): since for partition, job_id, since in rows}
    return Foresight(expected_ends(cluster), patient, whole_runs(cluster) if keeps else {})


def remember_patience(
    cluster: Cluster,
    policy: PartitionPolicy,
    decisions: Sequence[Decision],
    jobs: Sequence[ObservedJob],
    known: Foresight,
    now: int,
) -> None:
    """Write down who is patient from now on; forget those who do not wait any more."""
    mine = {job_id for partition, job_id in known.since if partition == policy.name}
    if not policy.patience_s:
        return
    rows = Patience.objects.filter(cluster=cluster, partition=policy.name)
    waiting = {job.id for job in jobs if job.state == JobState.PENDING}
    if mine - waiting:
        rows.filter(job_id__in=mine - waiting).delete()
    fresh = [d for d in decisions if d.reason is Reason.STARTS_SOON and d.job not in mine]
    if fresh:
        version = version_in_force(cluster)
        Patience.objects.bulk_create(
            [
                Patience(
                    cluster=cluster,
                    partition=policy.name,
                    job_id=d.job,
                    since=now,
                    at=d.at or now,
                    version=version,
                )
                for d in fresh
            ],
            ignore_conflicts=True,
        )
