"""Crash loops: a job for which others were stopped, and that ends badly at once, again and again.

1. A run of a beneficiary that has failed comes back into the queue as a later run (it would be gone, had it ended well,
   and nobody is stopped for who is gone). It counts when it had started less than a minute before, or was not even
   seen to run, and Giveway has not stopped it.
2. It is judged in the cycle that sees the later run first: the mirror still shows the run before.
3. A later run that goes on for a minute makes up for all that failed before it. A job that is submitted anew has
   another id, and nothing behind it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.cluster.models import Job as Row
from console.core import clock
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    ActionState,
    FailedStart,
    Plan,
    PlanKind,
    PlannedAction,
)
from console.steering.served import runs_served
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation

AT_ONCE_S = 60
LOOKED_AFTER = timedelta(minutes=10)
"""How long after its beneficiary was seen to start a plan is looked at."""

Jobs = Mapping[str, ObservedJob]


def watch_starts(cluster: Cluster, observation: Observation, open_plans: Iterable[Plan]) -> None:
    """Note whose start has failed, and who runs well by now. Must run inside a transaction."""
    jobs = observation.jobs_by_id
    for row in _not_made_up_for(cluster.pk):
        job = jobs.get(row.job_id)
        if job is not None and job.restarts > row.run_restarts and _runs_well(job, observation.taken_at):
            FailedStart.objects.filter(pk=row.pk).update(ran_well_at=clock.now())
    back = [
        (plan, job_id, restarts)
        for plan in (*open_plans, *_started_lately(cluster))
        if plan.kind == PlanKind.PREEMPT
        for job_id, restarts in runs_served(plan)
        if _is_back(plan, restarts, jobs.get(job_id))
    ]
    if not back:
        return
    ids = [job_id for _, job_id, _ in back]
    before = _runs_before(cluster, ids)
    stopped = _stopped_by_us(cluster, ids)
    now = clock.now()
    failed = [
        FailedStart(plan=plan, cluster=cluster, job_id=job_id, run_restarts=restarts, at=now)
        for plan, job_id, restarts in back
        if (job_id, restarts) not in stopped
        and (start := before.get((job_id, restarts))) is not None
        and _ended(jobs[job_id], observation.taken_at) - start < AT_ONCE_S
    ]
    FailedStart.objects.bulk_create(failed, ignore_conflicts=True)


def _not_made_up_for(cluster: int) -> QuerySet[FailedStart]:
    return FailedStart.objects.filter(cluster=cluster, ran_well_at=None)


def _runs_well(job: ObservedJob, now: int) -> bool:
    return job.state == JobState.RUNNING and job.start is not None and now - job.start >= AT_ONCE_S


def _started_lately(cluster: Cluster) -> Iterable[Plan]:
    """The plans that are over, and whose beneficiary has started a moment ago."""
    return list(_over_and_started(cluster.pk, since=clock.now() - LOOKED_AFTER))


def _over_and_started(cluster: int, since: datetime) -> QuerySet[Plan]:
    over = Plan.objects.filter(cluster=cluster, kind=PlanKind.PREEMPT).exclude(state__in=OPEN_STATES)
    started = over.filter(started_at__gte=since)
    return started.only("kind", "job_id", "job_restarts", "tasks", "user")


def _is_back(plan: Plan, restarts: int, job: ObservedJob | None) -> bool:
    """Whether the run that room was made for is over, and the job has not left."""
    return job is not None and job.restarts > restarts and job.user[:64] == plan.user


def _runs_before(cluster: Cluster, ids: Iterable[str]) -> dict[tuple[str, int], int]:
    """When the runs started that the last cycle saw, by job and restarts; of one that waited then: just now."""
    rows = Row.objects.filter(cluster=cluster, job_id__in=list(ids))
    seen = rows.values_list("job_id", "restarts", "start", "submit")
    return {(job, restarts): start or _JUST_NOW for job, restarts, start, _submit in seen}


_JUST_NOW = 2**62
"""Later than any end: a run of no length."""


def _stopped_by_us(cluster: Cluster, ids: Iterable[str]) -> set[tuple[str, int]]:
    stops = PlannedAction.objects.filter(
        cluster=cluster, kind__in=STOP_KINDS, job_id__in=list(ids), attempts__gt=0
    ).exclude(state=ActionState.EXPIRED)
    return set(stops.values_list("job_id", "run_restarts"))


def _ended(job: ObservedJob, now: int) -> int:
    """When the run before this one was over: Slurm counts a requeued job as submitted anew."""
    return job.submit if job.state == JobState.PENDING else now
