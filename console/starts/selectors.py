"""What is expected of waiting jobs, for pages and the API."""

from collections.abc import Iterable

from django.db.models import Subquery

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.forecasts.models import JobForecast
from console.starts.models import ExpectedStart, StopChance

STALE_S = 900


def expected_starts(cluster: Cluster | int, jobs: Iterable[Job]) -> dict[str, ExpectedStart]:
    """By job, of those that wait; one query, none where nobody does. `cluster`: itself, or its key."""
    ids = {job.job_id for job in jobs if job.phase == JobPhase.PENDING}
    if not ids:
        return {}
    rows = ExpectedStart.objects.filter(cluster=cluster, job_id__in=ids, gone_at=None).order_by("submit")
    return {row.job_id: row for row in rows}


def forecast_and_risk(cluster: Cluster, job: Job) -> tuple[JobForecast | None, float | None]:
    """What is forecast of a job's run, and of a running one the chance that it is stopped; one query.

    A chance that was said longer ago than `STALE_S`, or of another run, says nothing.
    """
    since = int(clock.now().timestamp()) - STALE_S
    risk = StopChance.objects.filter(
        cluster=cluster, partition=job.partition, job_id=job.job_id, start=job.start, made_at__gte=since
    )
    rows = JobForecast.objects.filter(cluster=cluster, job_id=job.job_id, ended_at=None)
    found = rows.annotate(risk=Subquery(risk.values("chance")[:1])).order_by("-submit").first()
    if found is None:
        return None, None
    return found, found.risk if job.phase == JobPhase.RUNNING else None
