"""What is forecast, for the planner, for pages and for the API."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from console.cluster.models import Cluster, Job
from console.forecasts.models import JobForecast, RunTimeModel


def expected_ends(cluster: Cluster) -> dict[tuple[str, int], int]:
    """By job and start: when its run is expected to have ended with four chances in five (epoch seconds)."""
    ends = _expected(cluster.pk)
    return {(job_id, start): end for job_id, start, end in ends if start is not None and end is not None}


def _expected(cluster: int) -> QuerySet[JobForecast, tuple[str, int | None, int | None]]:
    rows = JobForecast.objects.filter(cluster=cluster, ended_at=None, end_p80__isnull=False).order_by()
    return rows.values_list("job_id", "start", "end_p80")


def longest_runs(cluster: Cluster, job_ids: Iterable[str]) -> dict[str, float]:
    """By job that waits: within how many seconds its run is over, nine times out of ten (p90, as at its submission)."""
    rows = JobForecast.objects.filter(cluster=cluster, job_id__in=list(job_ids), ended_at=None)
    return dict(rows.order_by("submit").values_list("job_id", "p90"))


def whole_runs(cluster: Cluster) -> dict[str, int]:
    """By job that has not ended: how long its run takes with four chances in five, as was said at its submission."""
    rows = JobForecast.objects.filter(cluster=cluster, ended_at=None)
    return {row.job_id: int(row.whole.p80) for row in rows.order_by("submit").iterator()}


def past_ends(cluster: Cluster, since: datetime) -> dict[tuple[str, int], int]:
    """The same of all runs that ended after a moment or run still, as it was said of them at their submission."""
    rows = JobForecast.objects.filter(cluster=cluster, start__isnull=False)
    rows = rows.exclude(ended_at__lt=since)
    return {
        (row.job_id, row.start): row.start + int(row.whole.p80)
        for row in rows.iterator()
        if row.start is not None
    }


def version_in_force(cluster: Cluster) -> str:
    """The version of the model in force; empty where the plain weights serve."""
    version = RunTimeModel.objects.filter(cluster=cluster, in_force=True).values_list("version", flat=True)
    return version.first() or ""


def forecasts_of(cluster: Cluster, jobs: Iterable[Job]) -> dict[str, JobForecast]:
    """By job: what is forecast of those that have not ended; one query."""
    ids = {job.job_id for job in jobs}
    rows = JobForecast.objects.filter(cluster=cluster, job_id__in=ids, ended_at=None).order_by("submit")
    return {row.job_id: row for row in rows}
