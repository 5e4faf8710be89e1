"""What is behind a job: the runs that ended with a stop, what was saved of them, and starts that failed.

1. Of a job whose state is kept all earlier runs count as running time: those, going back from the last, whose
   checkpoint was acknowledged. Of others it is the last run alone.
2. A run rests that follows a stop of ours, until it has acknowledged a checkpoint: by being asked for one, or by a new
   word `ckpt:` in its comment. A job that was put back by anybody else does not rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import takewhile

from django.db.models import Exists, OuterRef, QuerySet

from console.cluster.lives import of_earlier_job
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.steering.journal import tell_not_requeued
from console.steering.models import Checkpoint, FailedStart, Fate, NotRequeued, Victim
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.jobs import SnapshotJob as Planned
from scheduler.model.observation import Observation
from scheduler.reconcile.immunity import not_requeued

REMEMBER = timedelta(days=30)
"""How far back runs and failed starts count."""
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that ended with a stop. `is_saved`: its checkpoint was acknowledged. `comment`: the words of the job's
    comment that were known by then; None when it was not asked."""

    ran_s: int
    is_saved: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class PastRuns:
    """`runs`: by job, its runs that were stopped, by their restarts. `saved`: job and restarts of all runs with an
    acknowledged checkpoint. `failed`: by job, how many of its starts failed within one hour. `saved_ago_s`: by job and
    restarts, how long ago a run that may still go on acknowledged one."""

    runs: Mapping[str, Mapping[int, Run]] = field(default_factory=dict)
    saved: frozenset[tuple[str, int]] = frozenset()
    failed: Mapping[str, int] = field(default_factory=dict)
    saved_ago_s: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def told(self, job: Planned, comment: str, now: int) -> Planned:
        """A planned job with what is behind it. `comment`, `now`: as the cluster tells them, by its own clock."""
        if job.state == JobState.PENDING:
            failed = self.failed.get(job.id, 0)
            return replace(job, crashes=failed) if failed else job
        if job.state != JobState.RUNNING:
            return job
        ago = self.saved_ago_s.get((job.id, job.restarts))
        if ago is not None:
            job = replace(job, saved_at=max(job.start or 0, now - ago))
        if not job.restarts:
            return job
        runs = self.runs.get(job.id, {})
        ran_s = self.ran_before(job.id, job.restarts)
        return replace(job, ran_s=ran_s, rested=self._need_not_rest(job, runs, comment))

    def ran_before(self, job_id: str, restarts: int) -> int:
        """The seconds of a job's runs before this restart that count as running time."""
        runs = self.runs.get(job_id, {})
        return _counted([runs[number] for number in sorted(runs) if number < restarts])

    def _need_not_rest(self, job: Planned, runs: Mapping[int, Run], comment: str) -> bool:
        before = runs.get(job.restarts - 1)
        if before is None or (job.id, job.restarts) in self.saved:
            return True
        return before.comment is not None and bool(saved_word(before.comment, comment))


def _counted(earlier: list[Run]) -> int:
    """The seconds of earlier runs, in their order, that count."""
    kept = list(takewhile(lambda run: run.is_saved, reversed(earlier)))
    return sum(run.ran_s for run in kept or earlier[-1:])


def past_of(cluster: Cluster) -> PastRuns:
    """Read it, for the jobs that are present: five queries, whatever their number. They go from what is kept to the
    jobs: there are many more of these."""
    since = clock.now() - REMEMBER
    known = {(row.job_id, row.run_restarts): row for row in _asked(cluster.pk, since=since)}
    saved = frozenset(key for key, row in known.items() if row.acknowledged_at)
    over = list(_over(cluster.pk, since=since))
    took = {(run.job_id, run.restarts): (run.ended or run.start) - run.start for run in over}
    runs: dict[str, dict[int, Run]] = {}
    for key in _runs_stopped(cluster.pk, since=since):
        row = known.get(key)
        comment = None if row is None else f"{row.comment_before} {WORD}{row.saved}"
        runs.setdefault(key[0], {})[key[1]] = Run(took.get(key, 0), key in saved, comment)
    return PastRuns(runs, saved, _failed(cluster, since), _saved_ago_s(cluster, since))


def _jobs(cluster: int) -> QuerySet[Job]:
    """The mirror's rows of the job that another row is about."""
    return Job.objects.filter(cluster=cluster, job_id=OuterRef("job_id"))


def _is_present(cluster: int) -> Exists:
    mine = _jobs(cluster).filter(restarts__gt=0, first_submit__lte=OuterRef("run_start"))
    return Exists(mine.exclude(phase=JobPhase.ENDED))


def _asked(cluster: int, since: datetime) -> QuerySet[Checkpoint]:
    return Checkpoint.objects.filter(_is_present(cluster), cluster=cluster, asked_at__gte=since)


def _stopped(cluster: int, since: datetime) -> QuerySet[Victim]:
    stopped = Victim.objects.filter(_is_present(cluster), cluster=cluster, sent_at__gte=since)
    return stopped.exclude(fate=Fate.SPARED)


def _runs_stopped(cluster: int, since: datetime) -> QuerySet[Victim, tuple[str, int]]:
    return _stopped(cluster, since).order_by().values_list("job_id", "run_restarts").distinct()


def _over(cluster: int, since: datetime) -> QuerySet[JobRun]:
    ids = _stopped(cluster, since).values("job_id")
    over = JobRun.objects.filter(cluster=cluster, ended__isnull=False, job_id__in=ids)
    return over.exclude(of_earlier_job(cluster, "start"))


def _saved_ago_s(cluster: Cluster, since: datetime) -> dict[tuple[str, int], int]:
    """Of runs that were asked for a checkpoint and were not stopped, or not yet, how long ago they acknowledged it."""
    now = clock.now()
    moments = list(_saved(cluster.pk, since=since))
    return {
        (job_id, restarts): max(0, int((now - at).total_seconds())) for job_id, restarts, at in moments if at
    }


def _saved(cluster: int, since: datetime) -> QuerySet[Checkpoint, tuple[str, int, datetime | None]]:
    rows = Checkpoint.objects.filter(
        Exists(_jobs(cluster).filter(phase=JobPhase.RUNNING)),
        cluster=cluster,
        asked_at__gte=since,
        acknowledged_at__isnull=False,
        resumed_at=None,
    )
    return rows.values_list("job_id", "run_restarts", "acknowledged_at")


def _failed(cluster: Cluster, since: datetime) -> dict[str, int]:
    """Of each job the most failed starts within any one hour: time alone does not give the right back."""
    moments: dict[str, list[datetime]] = {}
    for job_id, at in _starts_failed(cluster.pk, since=since):
        moments.setdefault(job_id, []).append(at)
    return {job_id: max(_within_an_hour(each)) for job_id, each in moments.items()}


def _starts_failed(cluster: int, since: datetime) -> QuerySet[FailedStart, tuple[str, datetime]]:
    rows = FailedStart.objects.filter(cluster=cluster, ran_well_at=None, at__gte=since).order_by("at")
    return rows.values_list("job_id", "at")


def _within_an_hour(moments: list[datetime]) -> Iterable[int]:
    """From each of some moments on, how many there are within an hour."""
    return (sum(first <= at < first + HOUR for at in moments) for first in moments)


# What earlier cycles saw of the jobs that are not requeued: whether they were requeueable, since when they are not.
#
# Slurm tells only how a job is now. The mirror remembers of every job whether it was ever seen requeueable; of those
# that are not, `NotRequeued` has since when.

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
    for row in _all_of(cluster.pk):
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


# How a job says, in its comment, that it has saved its state: a new word `ckpt:TEXT`.

WORD = "ckpt:"
"""How the word of a comment begins that acknowledges a checkpoint."""
LONGEST_SAVED = 200


def saved_word(before: str, after: str) -> str:
    """What the last new word `ckpt:TEXT` of a comment says; empty when there is none."""
    known = set(before.split())
    told = [word for word in after.split() if word.startswith(WORD) and word not in known]
    return cleaned(told[-1].removeprefix(WORD)) if told else ""


def cleaned(text: str) -> str:
    """A job's own words as they may be stored: printable, one line, cut."""
    return "".join(c if c.isprintable() else " " for c in text).strip()[:LONGEST_SAVED]
