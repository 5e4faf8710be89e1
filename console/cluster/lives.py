"""What a job has behind it: when it was first submitted, its runs, how long it waited between them.

Slurm forgets that when it requeues a job: the submit time is set anew, the start is gone. So it is kept whenever a
row of the mirror changes.
"""

from collections.abc import Iterable, Sequence

from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock

MOST_RUNS = 100
"""Of one job, the latest: Slurm may have requeued it a thousand times."""
_Key = tuple[str, str]
_BEFORE = ("pk", "job_id", "partition", "phase", "submit", "start", "restarts", "first_submit", "waits_since")


def go_on(cluster: Cluster, fresh: Sequence[Job], batch: int) -> None:
    """Give changed rows, before they are saved, what is known of their jobs' lives; keep runs that began or ended."""
    now = int(clock.now().timestamp())
    before = _before(cluster, fresh, batch)
    runs: dict[tuple[str, int, int], JobRun] = {}
    for job in fresh:
        _follow(job, before.get((job.job_id, job.partition)), now, runs)
    JobRun.objects.bulk_create(
        runs.values(),
        batch_size=batch,
        update_conflicts=True,
        unique_fields=["cluster", "job_id", "start", "restarts"],
        update_fields=["ended"],
    )


def end_runs(cluster: Cluster, job_ids: Iterable[str], batch: int) -> None:
    """The jobs have left the cluster: what still ran of them is over."""
    ids = sorted(set(job_ids))
    now = int(clock.now().timestamp())
    for first in range(0, len(ids), batch):
        runs = JobRun.objects.filter(cluster=cluster, job_id__in=ids[first : first + batch], ended=None)
        runs.update(ended=now)


def runs_of(cluster: Cluster, job_id: str, since: int) -> list[JobRun]:
    """The latest runs of a job that was first submitted at `since` (epoch seconds), in their order.

    Runs before that were those of an earlier job of the same number.
    """
    runs = JobRun.objects.filter(cluster=cluster, job_id=job_id, start__gte=since)
    return list(runs.order_by("-restarts", "-start")[:MOST_RUNS])[::-1]


def _before(cluster: Cluster, fresh: Sequence[Job], batch: int) -> dict[_Key, Job]:
    """The rows as they were. Also of jobs that had left: one that Slurm has restarted since goes on with its life."""
    found: dict[_Key, Job] = {}
    for first in range(0, len(fresh), batch):
        ids = [job.job_id for job in fresh[first : first + batch]]
        rows = Job.objects.filter(cluster=cluster, job_id__in=ids).only(*_BEFORE)
        found.update({(row.job_id, row.partition): row for row in rows})
    return found


def _follow(job: Job, before: Job | None, now: int, runs: dict[tuple[str, int, int], JobRun]) -> None:
    if before is None or not _same(before, job):
        job.first_submit = job.waits_since = job.submit
        before = None
    else:
        job.first_submit, job.waits_since = before.first_submit, before.waits_since
    was = (before.start, before.restarts) if before else (0, 0)
    if (job.start, job.restarts) == was:
        return
    if before and before.start:
        # Slurm's new submit time is the moment at which it was put back.
        ended = job.submit if job.submit >= before.start else now
        runs[job.job_id, *was] = _run(before, job.cluster, ended)
        if before.phase != JobPhase.ENDED:
            job.waits_since += ended - before.start
    if job.start:
        runs[job.job_id, job.start, job.restarts] = _run(job, job.cluster, None)


def _same(before: Job, job: Job) -> bool:
    """Whether it is the same job still, and not another one of its number."""
    if before.phase == JobPhase.ENDED and job.restarts <= before.restarts:
        return False
    return job.submit >= before.first_submit and job.restarts >= before.restarts


def _run(job: Job, cluster: Cluster, ended: int | None) -> JobRun:
    return JobRun(
        cluster=cluster,
        job_id=job.job_id,
        start=job.start,
        restarts=job.restarts,
        ended=ended,
        nodes=sorted(job.alloc) if ended is None else [],
    )
