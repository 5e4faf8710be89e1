"""What a job has behind it: when it was first submitted, its runs, how long it waited between them.

Slurm forgets that when it requeues a job: the submit time is set anew, the start is gone. So it is kept whenever a
row of the mirror changes.
"""

from collections.abc import Iterable, Iterator, Sequence

from django.db.models import Exists, OuterRef

from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock

MOST_RUNS = 100
"""Of one job, the latest: Slurm may have requeued it a thousand times."""
_BEFORE = ("pk", "job_id", "user", "partition", "phase", "submit", "restarts", "first_submit")
_Runs = dict[str, list[JobRun]]


def go_on(cluster: Cluster, fresh: Sequence[Job], batch: int) -> None:
    """Give changed rows, before they are saved, what is known of their jobs' lives; keep runs that began or ended."""
    now = int(clock.now().timestamp())
    before, runs = _before(cluster, fresh, batch), _runs(cluster, fresh, batch)
    changed: dict[tuple[str, int, int], JobRun] = {}
    for job in fresh:
        was = [row for row in before.get(job.job_id, ()) if _same(row, job)]
        # Where it was not seen before it may be the job of another partition: who is put back waits in all of his.
        here = [row for row in was if row.partition == job.partition]
        job.first_submit = min((row.first_submit for row in here or was), default=job.submit)
        for run in _follow(job, runs.setdefault(job.job_id, []), now):
            changed[run.job_id, run.start, run.restarts] = run
    JobRun.objects.bulk_create(
        changed.values(),
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


def of_earlier_job(cluster: Cluster | int, begun: str) -> Exists:
    """Whether what a row tells is of an earlier job of the number that a later one has by now.

    `cluster`: itself, or its key. `begun`: the row's field with a moment of its job's life, epoch seconds of Slurm's
    clock; empty: not known, so no.
    """
    later = Job.objects.filter(cluster=cluster, job_id=OuterRef("job_id"), first_submit__gt=OuterRef(begun))
    return Exists(later)


def of_one_life(rows: Sequence[Job]) -> list[Job]:
    """Of the rows with a job's number, those of the last job that had it: an earlier one's may be left elsewhere."""
    living = [row.first_submit for row in rows if row.phase != JobPhase.ENDED]
    since = min(living) if living else max((row.first_submit for row in rows), default=0)
    return [row for row in rows if row.phase != JobPhase.ENDED or row.first_submit >= since]


def _before(cluster: Cluster, fresh: Sequence[Job], batch: int) -> dict[str, list[Job]]:
    """The rows as they were. Also of jobs that had left: one that Slurm has restarted since goes on with its life."""
    found: dict[str, list[Job]] = {}
    for first in range(0, len(fresh), batch):
        ids = [job.job_id for job in fresh[first : first + batch]]
        for row in Job.objects.filter(cluster=cluster, job_id__in=ids).only(*_BEFORE):
            found.setdefault(row.job_id, []).append(row)
    return found


def _runs(cluster: Cluster, fresh: Sequence[Job], batch: int) -> _Runs:
    found: _Runs = {}
    for first in range(0, len(fresh), batch):
        ids = [job.job_id for job in fresh[first : first + batch]]
        for run in JobRun.objects.filter(cluster=cluster, job_id__in=ids):
            found.setdefault(run.job_id, []).append(run)
    return found


def _same(before: Job, job: Job) -> bool:
    """Whether it is the same job still, and not another one of its number: Slurm begins with 1 again when its state
    is lost, and after MaxJobId."""
    if before.user != job.user:
        return False
    if before.phase == JobPhase.ENDED and job.restarts <= before.restarts:
        return False
    return job.submit >= before.first_submit and job.restarts >= before.restarts


def _follow(job: Job, known: list[JobRun], now: int) -> Iterator[JobRun]:
    """The runs that have begun or ended, and what the job has waited in all.

    One that is put back counts its restart, and may have a new start time, while it is still ending: only a job that is
    seen running has begun a run.
    """
    own = [run for run in known if run.start >= job.first_submit]
    key = job.start, job.restarts
    for run in own:
        if run.ended is None and (run.start, run.restarts) != key:
            # Slurm's new submit time is the moment at which it was put back.
            run.ended = job.submit if job.submit >= run.start else now
            yield run
    if job.phase == JobPhase.RUNNING:
        seen = next((each for each in own if (each.start, each.restarts) == key), None)
        if seen is None:
            known.append(_new(job))
            yield known[-1]
        elif seen.ended is not None:
            seen.ended = None
            yield seen
    job.waits_since = job.first_submit + sum(run.ended - run.start for run in own if run.ended is not None)


def _new(job: Job) -> JobRun:
    return JobRun(
        cluster=job.cluster,
        job_id=job.job_id,
        start=job.start,
        restarts=job.restarts,
        nodes=sorted(job.alloc),
        partition=job.partition,
        held=job.alloc,
    )
