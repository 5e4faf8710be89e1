"""Keeping finished jobs: from Slurm's accounting where there is one, else from what the cycles saw.

A job counts with its last run, and only where that run was its only one: one that was stopped and went on from its
saved state ran longer than its last run tells.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import islice
from math import inf

from django.conf import settings
from django.db.models import F

from console.cluster.connect import read_finished
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.core.bulk_update import delete_rows
from console.forecasts.models import LONGEST_NAME, AccountingRead, FinishedSource, JobForecast, KeptRun
from console.forecasts.requests import RequestSize, size_of
from scheduler.model.finished import FinishedRun

BATCH, WRITTEN = 300, 100
"""So many are looked for in one query, and written in one transaction."""
AGAIN = timedelta(minutes=10)
"""slurmdbd may be told of an end so much later: the last minutes are read once more."""
PORTION_S = 24 * 3600
FIRST_LOOK = timedelta(days=30)
"""Of a past that nobody has imported, so much is read by itself."""
SEEN_SINCE = timedelta(hours=1)
"""What ended so long ago was kept by an earlier round."""
Tell = Callable[[int, int, int], None]
Run = tuple[str, int]
"""A job, and when its run began."""


def keep_seen(cluster: Cluster) -> int:
    """Keep what the cycles saw end within the last hour; how many are new."""
    # The index is by the moment alone: with the cluster in the question SQLite would read all jobs.
    ended = Job.objects.filter(phase=JobPhase.ENDED, ended_at__gte=clock.now() - SEEN_SINCE, start__gt=0)
    seen = {
        (job_id, start): pk
        for where, pk, job_id, start in ended.values_list("cluster", "pk", "job_id", "start")
        if where == cluster.pk
    }
    new = sorted(seen[run] for run in seen.keys() - _kept(cluster, seen))
    portions = (new[first : first + BATCH] for first in range(0, len(new), BATCH))
    return sum(_keep(cluster, _ran_once(cluster, keys)) for keys in portions)


def _ran_once(cluster: Cluster, keys: Sequence[int]) -> list[KeptRun]:
    """The runs of those of some jobs of which no other run was seen."""
    rows = list(Job.objects.filter(pk__in=keys))
    ids = {row.job_id for row in rows}
    runs = list(JobRun.objects.filter(cluster=cluster, job_id__in=ids, ended__isnull=False))
    times = Counter(run.job_id for run in runs)
    last = {run.job_id: run for run in runs}
    told = {row.job_id: row for row in JobForecast.objects.filter(cluster=cluster, job_id__in=ids)}
    return [
        _seen(cluster, row, run, told.get(row.job_id))
        for row in rows
        if (run := last.get(row.job_id)) is not None
        and times[row.job_id] == 1
        and run.start == row.start
        and not row.restarts
    ]


def _seen(cluster: Cluster, job: Job, run: JobRun, told: JobForecast | None) -> KeptRun:
    size, command = size_of(job), ""
    if told is not None and told.submit == (job.first_submit or job.submit):
        # What it got may be more than it asked for, and the next one alike is known by what it asks for.
        size = RequestSize(told.nodes, told.cpus, told.gpus, size.memory_mb)
        command = told.command
    return KeptRun(
        cluster=cluster,
        job_id=job.job_id,
        user=job.user,
        account=job.account,
        name=job.name[:LONGEST_NAME],
        partition=job.partition,
        submit=job.first_submit or job.submit,
        start=run.start,
        end=max(run.ended or run.start, run.start),
        limit_s=job.time_limit_s,
        state=job.slurm_state,
        command=command,
        source=FinishedSource.CYCLES,
        **size._asdict(),
    )


def keep_accounted(
    cluster: Cluster, since: int | None = None, tell: Tell | None = None, within_s: float = inf
) -> AccountingRead | None:
    """Read Slurm's accounting on from where the last reading ended, a day at a time; None where there is none.

    `since`: begin there instead, for a longer past. `tell` is called after each portion with the moment reached, the
    moment to reach, and the jobs kept. Each portion is kept before the mark of how far it reaches: a reading that is
    cut short, or that has taken `within_s` seconds, goes on from there. A reading that fails leaves its reason in
    `fault`.
    """
    now, began = int(clock.now().timestamp()), time.monotonic()
    read = AccountingRead.objects.filter(cluster=cluster).first()
    begin = _begin(read, now) if since is None else since
    kept = 0
    while begin < now:
        until = min(begin + PORTION_S, now)
        answer = read_finished(cluster, begin, until)
        if not answer.kept:
            return None
        if not answer.fault:
            kept += _keep(cluster, _accounted(cluster, answer.runs))
        read, _ = AccountingRead.objects.get_or_create(cluster=cluster, defaults={"until": begin})
        read.fault = answer.fault
        if answer.fault:
            read.save(update_fields=["fault"])
            return read
        read.until, read.strange = max(read.until, until), F("strange") + answer.strange
        read.save()
        if tell is not None:
            tell(until, now, kept)
        begin = until
        if time.monotonic() - began >= within_s:
            break
    return AccountingRead.objects.filter(cluster=cluster).first()


def _begin(read: AccountingRead | None, now: int) -> int:
    if read is None:
        return now - int(FIRST_LOOK.total_seconds())
    return min(read.until, now) - int(AGAIN.total_seconds())


def _accounted(cluster: Cluster, runs: Sequence[FinishedRun]) -> Iterable[KeptRun]:
    """Of jobs that Giveway saw run more than once nothing is learned; of an older past that is not known."""
    for first in range(0, len(runs), BATCH):
        part = runs[first : first + BATCH]
        seen = JobRun.objects.filter(cluster=cluster, job_id__in=[run.job_id for run in part])
        times = Counter(job_id for job_id, start in seen.values_list("job_id", "start"))
        for run in part:
            if times[run.job_id] <= 1:
                told = {name: getattr(run, name) for name in FinishedRun.__slots__}
                yield KeptRun(cluster=cluster, source=FinishedSource.ACCOUNTING, **told)


def _keep(cluster: Cluster, jobs: Iterable[KeptRun]) -> int:
    """Write what is not there yet, some at a time; how many rows are new."""
    rows, count = iter(jobs), 0
    while some := list(islice(rows, BATCH)):
        known = _kept(cluster, [(row.job_id, row.start) for row in some])
        new = [row for row in some if (row.job_id, row.start) not in known]
        for first in range(0, len(new), WRITTEN):
            KeptRun.objects.bulk_create(new[first : first + WRITTEN], ignore_conflicts=True)
        count += len(new)
    return count


def _kept(cluster: Cluster, runs: Iterable[Run]) -> set[Run]:
    """Which of these runs are there."""
    ids, found = sorted({job_id for job_id, _ in runs}), set[Run]()
    for first in range(0, len(ids), BATCH):
        rows = KeptRun.objects.filter(cluster=cluster, job_id__in=ids[first : first + BATCH]).order_by()
        found.update(rows.values_list("job_id", "start"))
    return found


# --- Keeping the history of finished jobs as short as it is set, and bounded.


MOST_JOBS = 1_000_000
"""Of a cluster that ends more in a year, the oldest are forgotten sooner."""


def forget_old_history() -> int:
    """Delete finished jobs, and what was forecast of them, that are older than they are kept; how many rows."""
    oldest = clock.now() - timedelta(days=settings.GIVEWAY_FORECAST_DAYS)
    gone = 0
    for cluster in Cluster.objects.all():  # as the indexes are
        gone += delete_rows(KeptRun.objects.filter(cluster=cluster, end__lt=int(oldest.timestamp())))
        gone += delete_rows(JobForecast.objects.filter(cluster=cluster, ended_at__lt=oldest))
    for rows in (KeptRun.objects.all(), JobForecast.objects.filter(ended_at__isnull=False)):
        beyond = rows.order_by("-pk").values_list("pk", flat=True)[MOST_JOBS : MOST_JOBS + 1].first()
        if beyond is not None:
            gone += delete_rows(rows.filter(pk__lte=beyond))
    return gone
