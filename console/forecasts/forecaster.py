"""A forecast for every job: at its submission how long it will run, while it runs when it will end.

The model stands in the memory of the process that asks it; a process that begins anew reads the one in force, and what
ended since. What is said of a job is kept, and compared with the truth when the job has ended.

A round costs what has changed: the mirror is looked at where it has another version, new jobs are spoken of once, and
an end is said anew at its moment. Both go on in the next round where one has no time for all. Of two processes that do
the same each finds what the other has written.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import NamedTuple

from console.cluster.connect import read_commands
from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.services import show_change
from console.core import clock
from console.core.bulk_update import update_rows
from console.core.duty_cycle import DutyCycle, take_portions
from console.forecasts.learning import load, since
from console.forecasts.models import JobForecast, KeptRun, RunTimeModel
from console.forecasts.requests import facts_of, size_of
from scheduler.forecast.facts import JobFacts
from scheduler.forecast.model import Model

PORTION, WRITTEN = 300, 100
"""So many jobs are spoken of at a time, and so many are written down in one transaction."""
BUDGET_S = 1.0
"""Portions are begun until a round has taken so much of a processor for new jobs, and as much for ends."""
REST, MOST_REST_S = 200.0, 60.0
"""A round is made again after so many times what the last one took, but at least once a minute; at once where it left
something over."""
RENEW_AFTER_S = 60
"""An end is said anew when it has passed, or when the job has run twice as long as when it was said last."""
TOLD_WITHIN = timedelta(hours=1)
"""Accounting tells of an end by then, or never."""
END_FIELDS = ("start", "end_low", "end_p50", "end_p80", "end_high", "end_inner", "renewed", "version")
AT_ONCE = 0

Key = tuple[str, int]
"""A job, and when it was first submitted."""


class _LiveJob(NamedTuple):
    """What is looked at of every job that has not ended, in each round."""

    job_id: str
    pk: int
    phase: str
    start: int
    submit: int
    first_submit: int

    @property
    def key(self) -> Key:
        return self.job_id, self.first_submit or self.submit


@dataclass(slots=True)
class _Said:
    """A forecast that is kept: its row, since when its job runs as far as it knows, and when its end is due."""

    pk: int
    start: int | None
    due: int | None = None


@dataclass
class Forecaster:
    """The model in force of a cluster, kept up to date in memory, with what is said of its jobs."""

    cluster: Cluster
    version: str | None = None
    model: Model = field(default_factory=Model)
    told: int = 0
    duty: DutyCycle = field(default_factory=lambda: DutyCycle(REST, MOST_REST_S))
    _looked_at: int | None = None
    """The cluster's version when the mirror was looked at."""
    _live: dict[str, _LiveJob] = field(default_factory=dict)
    _said: dict[Key, _Said] = field(default_factory=dict)
    _has_read: bool = False
    """Whether `_said` is what is kept, and the model knows who runs."""
    _new: list[Key] = field(default_factory=list)
    _due: list[tuple[int, Key]] = field(default_factory=list)
    """A heap of moments; what a forecast knows itself counts."""
    _leaving: dict[str, tuple[JobFacts, datetime]] = field(default_factory=dict)
    _is_to_compare: bool = True
    _is_left_over: bool = False
    """Whether the last round had no time for all."""

    def forecast_if_due(self) -> int | None:
        """Bring the model up to date and say what is to be said; None where it was not due."""
        if not self._is_left_over and not self.duty.has_rested():
            return None
        self.duty.begin()
        with self.duty.spending():
            self.refresh()
            return self.forecast_jobs()

    def refresh(self) -> None:
        """Read the model in force, if it is another one; tell it what has ended since."""
        row = RunTimeModel.objects.filter(cluster=self.cluster, in_force=True).defer("body").first()
        version = "" if row is None else row.version
        newest = _newest(self.cluster)
        if version != self.version:
            self.model = Model() if row is None else load(row)
            if row is None:
                for job in since(self.cluster, 0):
                    self.model.ended(job)
            self.version = version
            self._has_read = False
        elif newest != self.told:
            for job in since(self.cluster, self.told):
                self.model.ended(job)
        self._is_to_compare |= newest != self.told
        self.told = newest

    def forecast_jobs(self) -> int:
        """Say of every job without a forecast how long it will run, of running ones when they end; how many were said.

        Jobs in several partitions count once.
        """
        if not self._has_read:
            self._read_said()
        self._has_read = False  # A round that fails leaves off anywhere: the next one reads anew.
        self._look()
        now = _now()
        said = self._forecast_new() + self._renew(now)
        self._forget_gone()
        self._compare()
        self._has_read, self._is_left_over = True, bool(self._new) or self._has_due(now)
        if said:
            show_change(self.cluster)
        return said

    # --- what there is --------------------------------------------------------------------------------

    def _read_said(self) -> None:
        """What is kept of jobs that have not ended; the model is told who runs."""
        self._said, self._due, self._looked_at = {}, [], None
        rows = JobForecast.objects.filter(cluster=self.cluster, ended_at=None).order_by("submit", "pk")
        for row in rows.defer("inner", "end_inner").iterator(chunk_size=PORTION):
            self._know(row)
            if row.start is not None:
                self.model.started(row.job_id, _size_facts(row), row.start)

    def _know(self, row: JobForecast) -> None:
        self._said[row.job_id, row.submit] = _Said(row.pk, row.start)
        self._is_due_at(_due_of(row), (row.job_id, row.submit))

    def _is_due_at(self, moment: int | None, key: Key) -> None:
        said = self._said[key]
        if said.due != moment:
            said.due = moment
            if moment is not None:
                heappush(self._due, (moment, key))

    def _look(self) -> None:
        """Who is new, who has begun to run or to wait, and who is gone, where the mirror has changed."""
        self.cluster.refresh_from_db(fields=["version"])
        if self.cluster.version == self._looked_at:
            return
        self._looked_at = self.cluster.version
        rows = Job.objects.filter(cluster=self.cluster).exclude(phase=JobPhase.ENDED).order_by("pk")
        self._live = {row[0]: _LiveJob(*row) for row in rows.values_list(*_LiveJob._fields)}
        gone = self._said.keys() - {job.key for job in self._live.values()}
        self._close(sorted(gone))
        self._new = []
        for job in self._live.values():
            if job.key in self._said:
                self._follow(job)
            else:
                self._new.append(job.key)

    def _follow(self, job: _LiveJob) -> None:
        """Its end is due where it has begun to run, or waits again."""
        said = self._said[job.key]
        begun = job.phase == JobPhase.RUNNING and (said.start != job.start or said.due is None)
        if begun or (job.phase == JobPhase.PENDING and said.start is not None):
            self._is_due_at(AT_ONCE, job.key)

    # --- what is said ---------------------------------------------------------------------------------

    def _forecast_new(self) -> int:
        return sum(self._forecast_some(keys) for keys in take_portions(BUDGET_S, self._new_ones()))

    def _new_ones(self) -> Iterator[list[Key]]:
        while self._new:
            some, self._new = self._new[:PORTION], self._new[PORTION:]
            yield some

    def _forecast_some(self, keys: Sequence[Key]) -> int:
        """How many of these jobs are spoken of now and were not before."""
        ids = [job_id for job_id, _ in keys]
        wanted = set(keys)
        over = {(row.job_id, row.submit): row for row in self._rows_of(ids) if row.ended_at is not None}
        back = [row.pk for key, row in over.items() if key in wanted]
        # It was gone from the queue, and is there again: when it ends is said anew.
        JobForecast.objects.filter(pk__in=back).update(ended_at=None, ran_s=None, renewed=None)
        asked = [key for key in keys if key not in over]
        jobs = Job.objects.filter(pk__in=[self._live[job_id].pk for job_id, _ in asked]).order_by("pk")
        commands = read_commands(self.cluster, [job_id for job_id, _ in asked])
        fresh = [
            self._new_row(job, commands.get(job.job_id, "")) for job in jobs if job.phase != JobPhase.ENDED
        ]
        for first in range(0, len(fresh), WRITTEN):
            JobForecast.objects.bulk_create(fresh[first : first + WRITTEN], ignore_conflicts=True)
        for row in self._rows_of(ids):
            if row.ended_at is None and (row.job_id, row.submit) in wanted:
                self._know(row)
                self._follow(self._live[row.job_id])
        return len(fresh) + len(back)

    def _rows_of(self, ids: Sequence[str]) -> Iterable[JobForecast]:
        # In no order: for that of the keys SQLite would go through all rows.
        rows = JobForecast.objects.filter(cluster=self.cluster, job_id__in=ids).order_by()
        return rows.only("job_id", "submit", "start", "renewed", "end_p50", "ended_at")

    def _new_row(self, job: Job, command: str) -> JobForecast:
        size = size_of(job)
        forecast = self.model.submitted(job.job_id, facts_of(job, size, command))
        row = JobForecast(
            cluster=self.cluster,
            job_id=job.job_id,
            submit=job.first_submit or job.submit,
            partition=job.partition,
            user=job.user,
            nodes=size.nodes,
            cpus=size.cpus,
            gpus=size.gpus,
            limit_s=job.time_limit_s,
            command=command,
            version=self.version or "",
            made_at=clock.now(),
            inner=[round(each) for each in forecast.inner],
            **{name: getattr(forecast, name) for name in ("p10", "p50", "p90", "low", "high")},
        )
        if job.phase == JobPhase.RUNNING:
            self._say_end(row, job)
        return row

    def _renew(self, now: int) -> int:
        """The ends of running jobs, where they are due."""
        return sum(self._renew_some(keys) for keys in take_portions(BUDGET_S, self._due_ones(now)))

    def _has_due(self, now: int) -> bool:
        return bool(self._due) and self._due[0][0] <= now

    def _due_ones(self, now: int) -> Iterator[list[Key]]:
        while self._has_due(now):
            some: list[Key] = []
            while len(some) < PORTION and self._has_due(now):
                moment, key = heappop(self._due)
                said = self._said.get(key)
                if said is not None and said.due == moment:
                    some.append(key)
            yield some

    def _renew_some(self, keys: Sequence[Key]) -> int:
        """How many of these ends were said anew, or taken back."""
        live = {self._live[job_id].pk: self._said[job_id, submit] for job_id, submit in keys}
        rows = JobForecast.objects.in_bulk([said.pk for said in live.values()])
        now, changed = _now(), []
        for job in Job.objects.filter(pk__in=live).order_by("pk"):
            said = live[job.pk]
            row = rows.get(said.pk)
            if row is None:
                continue
            if job.phase == JobPhase.RUNNING and (row.start != job.start or (_due_of(row) or AT_ONCE) <= now):
                self._say_end(row, job)
                changed.append(row)
            elif job.phase == JobPhase.PENDING and row.start is not None:  # it was put back into the queue
                row.start = row.end_low = row.end_p50 = row.end_p80 = row.end_high = row.renewed = None
                row.end_inner = []
                changed.append(row)
            due = _due_of(row) if job.phase == JobPhase.RUNNING else None
            said.start = row.start
            self._is_due_at(None if due is None else max(due, now + 1), (row.job_id, row.submit))
        values = [(*(getattr(row, name) for name in END_FIELDS), row.pk) for row in changed]
        update_rows(JobForecast, END_FIELDS, values)
        return len(changed)

    def _say_end(self, row: JobForecast, job: Job) -> None:
        now = max(_now(), job.start)
        facts = _facts(row, job)
        # It is no twin of itself, neither now nor where it was said before.
        self.model.history.leave(job.job_id, facts)
        left = self.model.remaining(facts, now - job.start)
        self.model.started(job.job_id, facts, job.start)
        row.start, row.renewed, row.version = job.start, now, self.version or ""
        row.end_low, row.end_high = now + int(left.low), now + int(left.high)
        row.end_p50, row.end_p80 = now + int(left.p50), now + int(left.p80)
        row.end_inner = [now + int(each) for each in left.inner]

    # --- what came of it ------------------------------------------------------------------------------

    def _close(self, keys: Sequence[Key]) -> None:
        """Jobs that are gone. How long they ran may be told later, so the model keeps them in mind for a while."""
        now = clock.now()
        for first in range(0, len(keys), PORTION):
            gone = [self._said.pop(key).pk for key in keys[first : first + PORTION]]
            for row in JobForecast.objects.filter(pk__in=gone).defer("inner", "end_inner"):
                self._leaving[row.job_id] = _size_facts(row), now
            JobForecast.objects.filter(pk__in=gone, ended_at=None).update(ended_at=now)
        self._is_to_compare |= bool(keys)

    def _forget_gone(self) -> None:
        now = clock.now()
        for job_id, (facts, left_at) in list(self._leaving.items()):
            if now - left_at > TOLD_WITHIN:
                self.model.gone(job_id, facts)
                del self._leaving[job_id]

    def _compare(self) -> None:
        """Write down how long jobs ran of which something had been said."""
        if not self._is_to_compare:
            return
        self._is_to_compare = False
        since_then = clock.now() - TOLD_WITHIN
        rows = JobForecast.objects.filter(
            cluster=self.cluster, ran_s=None, ended_at__gte=since_then
        ).order_by()
        open_rows = {
            (job_id, submit): pk for job_id, submit, pk in rows.values_list("job_id", "submit", "pk")
        }
        ran = _ran(self.cluster, list(open_rows))
        update_rows(JobForecast, ["ran_s"], [(ran[key], open_rows[key]) for key in open_rows.keys() & ran])


def _now() -> int:
    return int(clock.now().timestamp())


def _due_of(row: JobForecast) -> int | None:
    """When an end that was said is to be said anew; None where none was."""
    if row.end_p50 is None or row.renewed is None or row.start is None:
        return None
    return min(row.end_p50, row.start + max(RENEW_AFTER_S, 2 * (row.renewed - row.start)))


def _facts(row: JobForecast, job: Job) -> JobFacts:
    """As it was submitted: what it holds now may be more."""
    return replace(_size_facts(row), group=job.account, name=job.name)


def _size_facts(row: JobForecast) -> JobFacts:
    """What the forecast itself keeps of a job: enough to know whose it is."""
    return JobFacts(row.user, "", "", row.limit_s, row.nodes, row.cpus, row.gpus, row.submit, row.command)


def _newest(cluster: Cluster) -> int:
    newest = KeptRun.objects.filter(cluster=cluster).order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def _ran(cluster: Cluster, keys: Sequence[Key]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for first in range(0, len(keys), PORTION):
        ids = [job_id for job_id, _ in keys[first : first + PORTION]]
        rows = KeptRun.objects.filter(cluster=cluster, job_id__in=ids).order_by()
        told = sorted(rows.values_list("end", "pk", "start", "job_id", "submit"))
        found.update({(job_id, submit): end - start for end, _, start, job_id, submit in told})
    return found
