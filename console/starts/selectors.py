"""What is expected of waiting jobs, for pages and the API."""

from collections.abc import Iterable

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.starts.models import ExpectedStart, StopChance

STALE_S = 900


def expected_starts(cluster: Cluster | int, jobs: Iterable[Job]) -> dict[str, ExpectedStart]:
    """By job, of those that wait; one query, none where nobody does. `cluster`: itself, or its key."""
    ids = {job.job_id for job in jobs if job.phase == JobPhase.PENDING}
    if not ids:
        return {}
    rows = ExpectedStart.objects.filter(cluster=cluster, job_id__in=ids, gone_at=None).order_by("submit")
    return {row.job_id: row for row in rows}


def stop_chances_of(cluster: Cluster, jobs: Iterable[Job]) -> dict[str, StopChance]:
    """By running job; one query, none where nobody runs. What was said longer ago than `STALE_S` says nothing."""
    runs = {job.job_id: job.start for job in jobs if job.phase == JobPhase.RUNNING}
    if not runs:
        return {}
    since = int(clock.now().timestamp()) - STALE_S
    rows = StopChance.objects.filter(cluster=cluster, job_id__in=runs, made_at__gte=since)
    return {row.job_id: row for row in rows if row.start == runs[row.job_id]}
