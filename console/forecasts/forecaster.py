"""A forecast for every job: at its submission how long it will run, while it runs when it will end.

The model stands in the memory of the process that asks it; a process that begins anew reads the one in force, and what
ended since. What is said of a job is kept, and compared with the truth when the job has ended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from console.cluster.connect import read_commands
from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.services import show_change
from console.core import clock
from console.forecasts.learning import load, since
from console.forecasts.models import JobForecast, KeptRun, RunTimeModel
from console.forecasts.requests import facts_of, size_of
from scheduler.forecast.facts import JobFacts
from scheduler.forecast.model import Model

BATCH = 300
MOST_AT_ONCE = 2_000
"""Forecasts in one round, about a millisecond each; the rest have their turn in the next."""
RENEW_AFTER_S = 60
"""An end is said anew when it has passed, or when the job has run twice as long as when it was said last."""
TOLD_WITHIN = timedelta(hours=1)
"""Accounting tells of an end by then, or never."""
END_FIELDS = ("start", "end_low", "end_p50", "end_p80", "end_high", "end_inner", "renewed", "version")


@dataclass
class Forecaster:
    """The model in force of a cluster, kept up to date in memory."""

    cluster: Cluster
    version: str | None = None
    model: Model = field(default_factory=Model)
    told: int = 0
    _leaving: dict[str, tuple[JobFacts, datetime]] = field(default_factory=dict)

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
        else:
            for job in since(self.cluster, self.told):
                self.model.ended(job)
        self.told = newest

    def forecast_jobs(self) -> int:
        """Say of every job without a forecast how long it will run, of running ones when they end; how many were said.

        Jobs in several partitions count once.
        """
        rows = Job.objects.filter(cluster=self.cluster).exclude(phase=JobPhase.ENDED)
        live = {row.job_id: row for row in rows.order_by("pk")}
        said = {
            (row.job_id, row.submit): row
            for row in JobForecast.objects.filter(cluster=self.cluster, ended_at=None)
        }
        new = [job for job in live.values() if (job.job_id, _submit(job)) not in said][:MOST_AT_ONCE]
        commands = read_commands(self.cluster, [job.job_id for job in new])
        fresh = [self._new(job, commands.get(job.job_id, "")) for job in new]
        JobForecast.objects.bulk_create(fresh, batch_size=BATCH, ignore_conflicts=True)
        renewed = self._renew(live, said)
        self._close(live, said.values())
        self._compare()
        if fresh or renewed:
            show_change(self.cluster)
        return len(fresh) + renewed

    def _new(self, job: Job, command: str) -> JobForecast:
        size = size_of(job)
        forecast = self.model.submitted(job.job_id, facts_of(job, size, command))
        row = JobForecast(
            cluster=self.cluster,
            job_id=job.job_id,
            submit=_submit(job),
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

    def _renew(self, live: dict[str, Job], said: dict[tuple[str, int], JobForecast]) -> int:
        """The ends of running jobs, where they are due."""
        now = int(clock.now().timestamp())
        due: list[JobForecast] = []
        for job in live.values():
            row = said.get((job.job_id, _submit(job)))
            if row is None or len(due) >= MOST_AT_ONCE:
                continue
            if job.phase == JobPhase.RUNNING and _is_due(row, job, now):
                self._say_end(row, job)
                due.append(row)
            elif job.phase == JobPhase.PENDING and row.start is not None:  # it was put back into the queue
                row.start = row.end_low = row.end_p50 = row.end_p80 = row.end_high = row.renewed = None
                row.end_inner = []
                due.append(row)
        JobForecast.objects.bulk_update(due, END_FIELDS, batch_size=BATCH)
        return len(due)

    def _say_end(self, row: JobForecast, job: Job) -> None:
        now = max(int(clock.now().timestamp()), job.start)
        facts = _facts(row, job)
        # It is no twin of itself, neither now nor where it was said before.
        self.model.history.leave(job.job_id, facts)
        left = self.model.remaining(facts, now - job.start)
        self.model.started(job.job_id, facts, job.start)
        row.start, row.renewed, row.version = job.start, now, self.version or ""
        row.end_low, row.end_high = now + int(left.low), now + int(left.high)
        row.end_p50, row.end_p80 = now + int(left.p50), now + int(left.p80)
        row.end_inner = [now + int(each) for each in left.inner]

    def _close(self, live: dict[str, Job], said: Iterable[JobForecast]) -> None:
        """Jobs that are gone. How long they ran may be told later, so the model keeps them in mind for a while."""
        now = clock.now()
        gone = [row for row in said if row.job_id not in live or _submit(live[row.job_id]) != row.submit]
        for row in gone:
            row.ended_at = now
            self._leaving[row.job_id] = _size_facts(row), now
        JobForecast.objects.bulk_update(gone, ["ended_at"], batch_size=BATCH)
        for job_id, (facts, left_at) in list(self._leaving.items()):
            if now - left_at > TOLD_WITHIN:
                self.model.gone(job_id, facts)
                del self._leaving[job_id]

    def _compare(self) -> None:
        """Write down how long jobs ran of which something had been said."""
        since_then = clock.now() - TOLD_WITHIN
        rows = list(JobForecast.objects.filter(cluster=self.cluster, ran_s=None, ended_at__gte=since_then))
        ran = _ran(self.cluster, rows)
        known = [row for row in rows if (row.job_id, row.submit) in ran]
        for row in known:
            row.ran_s = ran[row.job_id, row.submit]
        JobForecast.objects.bulk_update(known, ["ran_s"], batch_size=BATCH)


def _is_due(row: JobForecast, job: Job, now: int) -> bool:
    if row.end_p50 is None or row.renewed is None or row.start != job.start:
        return True
    ran = now - job.start
    return now >= row.end_p50 or (ran >= RENEW_AFTER_S and ran >= 2 * (row.renewed - job.start))


def _facts(row: JobForecast, job: Job) -> JobFacts:
    """As it was submitted: what it holds now may be more."""
    return replace(_size_facts(row), group=job.account, name=job.name)


def _size_facts(row: JobForecast) -> JobFacts:
    """What the forecast itself keeps of a job: enough to know whose it is."""
    return JobFacts(row.user, "", "", row.limit_s, row.nodes, row.cpus, row.gpus, row.submit, row.command)


def _submit(job: Job) -> int:
    return job.first_submit or job.submit


def _newest(cluster: Cluster) -> int:
    newest = KeptRun.objects.filter(cluster=cluster).order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def _ran(cluster: Cluster, rows: Sequence[JobForecast]) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for first in range(0, len(rows), BATCH):
        ids = [row.job_id for row in rows[first : first + BATCH]]
        jobs = KeptRun.objects.filter(cluster=cluster, job_id__in=ids)
        found.update({(job.job_id, job.submit): job.end - job.start for job in jobs})
    return found


_FORECASTERS: dict[int, Forecaster] = {}
"""By cluster. What it holds follows from the database: a process without one makes it."""


def forecaster(cluster: Cluster) -> Forecaster:
    """The cluster's forecaster in this process, brought up to date."""
    found = _FORECASTERS.setdefault(cluster.pk, Forecaster(cluster))
    found.refresh()
    return found
