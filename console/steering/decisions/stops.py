"""What was stopped lately: what the hourly limits count, and when each job was stopped last.

Moments are the console's clock, the planner speaks the cluster's, and the two may differ. So ages are taken here,
differences of the console's own clock, and become moments of the cluster's clock only in the snapshot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from console.cluster.lives import of_earlier_job
from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock, kept_queries
from console.core.kept_queries import AskedMoment
from console.steering.models import STOP_KINDS, ActionState, Plan, PlanKind, PlannedAction
from console.steering.served import runs_served
from scheduler.model.actions import ActionKind
from scheduler.model.reasons import Reason

HOUR = timedelta(hours=1)
REMEMBER = timedelta(days=30)
"""How far back a job's stops count."""
DONE = (ActionState.EXECUTING, ActionState.ISSUED, ActionState.VERIFIED)
"""Also a stop whose process died before it knew: it may have worked."""


@dataclass(frozen=True, slots=True)
class Stops:
    """`within_hour`: per partition, how many runs of each user's jobs were stopped, or are about to be after their
    grace time. `ago_s`: per job, the seconds since it was stopped last. `times`: per job, how often it was.
    `of_job`: the same by job.
    `beneficiaries`: job id and restarts of the runs that others were stopped for."""

    within_hour: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ago_s: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    beneficiaries: frozenset[tuple[str, int]] = frozenset()
    of_job: Mapping[str, int] = field(default_factory=dict)


def recent_stops(cluster: Cluster) -> Stops:
    """Read them: three queries, whatever the number of jobs."""
    times, ago_s = _by_job(cluster)
    by_user, of_job = _within_hour(cluster)
    return Stops(by_user, ago_s, times, _beneficiaries(cluster), of_job)


def _within_hour(cluster: Cluster) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """By partition and user, and by job. A run counts once, also when it was stopped and then recovered."""
    counts: dict[str, dict[str, int]] = {}
    of_job: dict[str, int] = {}
    runs = kept_queries.rows(_runs_stopped, cluster.pk, since=clock.now() - HOUR)
    for is_of_earlier, partition, user, job_id, *_ in runs:
        theirs = counts.setdefault(partition, {})
        theirs[user] = theirs.get(user, 0) + 1
        if not is_of_earlier:
            of_job[job_id] = of_job.get(job_id, 0) + 1
    return counts, of_job


def _runs_stopped(cluster: int, since: AskedMoment) -> QuerySet[PlannedAction, tuple[Any, ...]]:
    restarted = PlannedAction.objects.filter(
        plan=OuterRef("plan"), job_id=OuterRef("job_id"), kind=ActionKind.RESIZE
    )
    done = Q(state__in=DONE, issued_at__gte=since)
    return (
        PlannedAction.objects.filter(
            done | Q(state=ActionState.PLANNED), cluster=cluster, kind__in=STOP_KINDS
        )
        # Where workers of elastic jobs make the room nobody is stopped, but who has to start again for it.
        .exclude(~Exists(restarted), plan__reason=Reason.SHRINKS.value)
        .order_by()
        .annotate(is_of_earlier=of_earlier_job(cluster, "run_start"))
        .values_list("is_of_earlier", "plan__partition", "user", "job_id", "run_start", "run_restarts")
        .distinct()
    )


def _by_job(cluster: Cluster) -> tuple[dict[str, int], dict[str, int]]:
    """How often Giveway has stopped each job, other requeues (node failures) not counted; and how long ago last."""
    now = clock.now()
    times: dict[str, int] = {}
    ago_s: dict[str, int] = {}
    for job_id, runs, last in kept_queries.rows(_jobs_stopped, cluster.pk, since=now - REMEMBER):
        times[job_id] = runs
        # A worker whose clock is ahead may have written it: then it was just now.
        ago_s[job_id] = max(0, int((now - last).total_seconds()))
    return times, ago_s


def _jobs_stopped(cluster: int, since: AskedMoment) -> QuerySet[PlannedAction, tuple[Any, ...]]:
    return (
        PlannedAction.objects.filter(
            cluster=cluster, kind__in=STOP_KINDS, state__in=DONE, issued_at__gte=since
        )
        .exclude(of_earlier_job(cluster, "run_start"))
        .order_by()
        .values_list("job_id")
        .annotate(Count("run_start", distinct=True), Max("issued_at"))
    )


def _beneficiaries(cluster: Cluster) -> frozenset[tuple[str, int]]:
    plans = kept_queries.rows(_plans_started, cluster.pk, since=clock.now() - REMEMBER)
    return frozenset(run for plan in plans for run in runs_served(plan))


def _plans_started(cluster: int, since: AskedMoment) -> QuerySet[Plan]:
    present = Job.objects.filter(cluster=cluster).exclude(phase=JobPhase.ENDED)
    # Of an array the first task may have ended while others run.
    together = ~Q(tasks=[]) & Q(started_at__gte=since)
    started = Plan.objects.filter(
        Q(job_id__in=present.values("job_id")) | together,
        cluster=cluster,
        kind=PlanKind.PREEMPT,
        started_at__isnull=False,
    ).exclude(Q(victims=[]) | of_earlier_job(cluster, "job_submit"))
    return started.order_by().only("job_id", "job_restarts", "tasks")
