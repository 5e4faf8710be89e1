"""What is expected of waiting jobs, for pages and the API."""

from collections.abc import Iterable

from console.cluster.models import Cluster, Job, JobPhase
from console.starts.models import ExpectedStart


def expected_starts(cluster: Cluster | int, jobs: Iterable[Job]) -> dict[str, ExpectedStart]:
    """By job, of those that wait; one query, none where nobody does. `cluster`: itself, or its key."""
    ids = {job.job_id for job in jobs if job.phase == JobPhase.PENDING}
    if not ids:
        return {}
    rows = ExpectedStart.objects.filter(cluster=cluster, job_id__in=ids, gone_at=None).order_by("submit")
    return {row.job_id: row for row in rows}
