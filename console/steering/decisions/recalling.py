"""What earlier cycles saw of the jobs that are not requeued: whether they were requeueable, since when they are not.

Slurm tells only how a job is now. The mirror remembers of every job whether it was ever seen requeueable; of those that
are not, `NotRequeued` has since when.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import QuerySet

from console.cluster.models import Cluster, Job
from console.core import clock, kept_queries
from console.steering.journal import tell_not_requeued
from console.steering.models import NotRequeued
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from scheduler.reconcile.immunity import not_requeued

FORGOTTEN = timedelta(hours=1)
"""How long a job that is no longer seen is remembered: half a table must not wipe it out."""
BATCH = 500
LONGEST_USER = 64


def recall(cluster: Cluster, observation: Observation) -> Observation:
    """The observation with what earlier cycles saw. Nothing is written."""
    odd = [job for job in observation.jobs if not_requeued(job)]
    if not odd:
        return observation
    every = {(row.job_id, row.user): row for row in NotRequeued.objects.filter(cluster=cluster)}
    rows = {job.id: row for job in odd if (row := every.get((job.id, job.user[:LONGEST_USER])))}
    before = set(
        _requeueable_before(cluster, [job.id for job in odd if not job.requeue and job.id not in rows])
    )
    found = {}
    for job in odd:
        row = rows.get(job.id)
        was = not job.requeue and (row.was_requeueable if row else (job.id, job.user) in before)
        as_it_was = row is not None and row.restored_at is None and row.was_requeueable == was
        since = row.since if row and as_it_was else observation.taken_at
        found[job.id] = replace(
            job, was_requeueable=was, no_requeue_since=since if _counts(job, was) else None
        )
    return replace(observation, jobs=tuple(found.get(job.id, job) for job in observation.jobs))


def _requeueable_before(cluster: Cluster, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Id and user of those jobs that an earlier cycle saw requeueable."""
    for first in range(0, len(ids), BATCH):
        some = ids[first : first + BATCH]
        rows = Job.objects.filter(cluster=cluster, job_id__in=some, was_requeueable=True)
        yield from rows.values_list("job_id", "user")


def _counts(job: ObservedJob, was: bool) -> bool:
    """Whether it is written down since when: of a job that runs, or that was changed."""
    return job.state is JobState.RUNNING or (was and job.state is JobState.PENDING)


def _all_of(cluster: int) -> QuerySet[NotRequeued]:
    return NotRequeued.objects.filter(cluster=cluster)


def remember(cluster: Cluster, observation: Observation) -> None:
    """Write down what is new of the jobs that are not requeued. Must run inside a transaction."""
    seen = observation.jobs_by_id
    odd = {job.id: job for job in observation.jobs if job.no_requeue_since is not None}
    for row in kept_queries.rows(_all_of, cluster.pk):
        job = odd.pop(row.job_id, None)
        if job is not None:
            _note(row, job)
        elif row.job_id not in seen:
            _note_gone(row)
        elif not_requeued(seen[row.job_id]) is None:
            _note_restored(row)
    new = [_filled(NotRequeued(cluster=cluster, job_id=job.id), job) for job in odd.values()]
    for row in NotRequeued.objects.bulk_create(new, batch_size=BATCH):
        _tell_lost(row)


def _note(row: NotRequeued, job: ObservedJob) -> None:
    """A job that is not requeued, as it is now; written only when that is new."""
    user = job.user[:LONGEST_USER]
    same = (row.user, row.since, row.was_requeueable) == (user, job.no_requeue_since, job.was_requeueable)
    if same and row.restored_at is None and row.gone_at is None:
        return
    if row.user != user:
        row.attempts, row.issued_at = 0, None
    _filled(row, job).save()
    if not same:
        _tell_lost(row)


def _filled(row: NotRequeued, job: ObservedJob) -> NotRequeued:
    row.user, row.since = job.user[:LONGEST_USER], job.no_requeue_since or 0
    row.was_requeueable = job.was_requeueable
    row.restored_at = row.gone_at = None
    return row


def _tell_lost(row: NotRequeued) -> None:
    if row.was_requeueable:
        tell_not_requeued(row, "requeue.lost", "It was requeueable before.")


def _note_restored(row: NotRequeued) -> None:
    """The job is requeueable again, or for the first time: then the mirror remembers that."""
    if not row.was_requeueable:
        row.delete()
    elif row.restored_at is None:
        row.restored_at = clock.now()
        row.save(update_fields=["restored_at"])
        tell_not_requeued(row, "requeue.seen", "It is requeueable again.")


def _note_gone(row: NotRequeued) -> None:
    now = clock.now()
    if row.gone_at is None:
        row.gone_at = now
        row.save(update_fields=["gone_at"])
    elif now - row.gone_at > FORGOTTEN:
        row.delete()
