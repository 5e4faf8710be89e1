"""What is expected of waiting jobs, for pages and the API."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.forecasts.models import JobForecast
from console.starts.models import ExpectedStart, StopChance, StopTally
from scheduler.model.reasons import Reason

STALE_S = 900
MAY_NOT = (Reason.BLOCKED, Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED)
"""Why a job may not start, whatever room there is."""


class SeenRun(Protocol):
    """Whatever tells a job's number, and where and since when it runs."""

    @property
    def job_id(self) -> str: ...

    @property
    def partition(self) -> str: ...

    @property
    def phase(self) -> str: ...

    @property
    def start(self) -> int:
        """When its run began, epoch seconds."""


class SeenJob(NamedTuple):
    """What is played of a job: there are thousands, so no more than this and no model."""

    pk: int
    job_id: str
    partition: str
    phase: str
    submit: int
    first_submit: int
    start: int
    time_limit_s: int | None
    restarts: int
    alloc: Mapping[str, Mapping[str, int]]
    request: Mapping[str, Any]
    user_level: int | None
    task_level: int | None
    held: bool
    reason: str
    priority: int
    place: int
    line_place: int
    estimated_start: int | None
    protected: str
    immune: str
    ended_at: datetime | None

    @property
    def submitted(self) -> int:
        """When it was first submitted: with its number it tells it from a later one."""
        return self.first_submit or self.submit

    @property
    def in_line(self) -> tuple[int, int, int, str]:
        """Sorts jobs that wait. Slurm's line decides who starts first; where none is known, the decisions' order."""
        return (self.line_place or self.place, -self.priority, self.submit, self.job_id)

    @property
    def ran_s(self) -> int:
        """How long a job that has ended ran; 0 where that is not known."""
        if self.ended_at is None or not self.start:
            return 0
        return max(1, int(self.ended_at.timestamp()) - self.start)


def read_seen_jobs(rows: QuerySet[Job]) -> list[SeenJob]:
    """What is played of these."""
    return [SeenJob(*row) for row in rows.values_list(*SeenJob._fields)]


def expected_starts(cluster: Cluster | int, jobs: Iterable[SeenRun]) -> dict[str, ExpectedStart]:
    """By job, of those that wait; one query, none where nobody does. `cluster`: itself, or its key."""
    ids = {job.job_id for job in jobs if job.phase == JobPhase.PENDING}
    if not ids:
        return {}
    rows = ExpectedStart.objects.filter(cluster=cluster, job_id__in=ids, gone_at=None).order_by("submit")
    return {row.job_id: row for row in rows}


def jobs_in_line(cluster: Cluster) -> QuerySet[Job]:
    """The waiting jobs that could start if there were room."""
    waiting = Job.objects.filter(cluster=cluster, phase=JobPhase.PENDING, place__gt=0, held=False)
    return waiting.exclude(reason__in=MAY_NOT)


def last_said(cluster: Cluster) -> int | None:
    """When starts were last forecast (epoch s); None: of nobody who waits."""
    return last_said_of_all().get((cluster.name,))


def last_said_of_all() -> dict[tuple[str, ...], int]:
    """The same by the name of the cluster."""
    waiting = ExpectedStart.objects.filter(cluster=OuterRef("pk"), gone_at=None).order_by("-made_at")
    clusters = Cluster.objects.annotate(last=Subquery(waiting.values("made_at")[:1])).exclude(last=None)
    return {(name,): made_at for name, made_at in clusters.values_list("name", "last")}


def said_chances(cluster: Cluster | int) -> QuerySet[StopChance]:
    """The chances that count: said lately, in partitions where they were better than the share stopped before."""
    since = int(clock.now().timestamp()) - STALE_S
    proven = StopTally.objects.filter(cluster=cluster, partition=OuterRef("partition")).proven()
    return StopChance.objects.filter(Exists(proven), cluster=cluster, made_at__gte=since)


def stop_chances(cluster: Cluster | int, jobs: Iterable[SeenRun]) -> dict[str, float]:
    """By job, of those that run: the chance that this run is stopped within the hour; at most one query."""
    runs = {(job.job_id, job.partition): job.start for job in jobs if job.phase == JobPhase.RUNNING}
    if not runs:
        return {}
    rows = said_chances(cluster).filter(job_id__in={job_id for job_id, _ in runs})
    return {row.job_id: row.chance for row in rows if runs.get((row.job_id, row.partition)) == row.start}


def forecast_and_risk(cluster: Cluster, job: Job) -> tuple[JobForecast | None, float | None]:
    """What is forecast of a job's run, and of a running one the chance that it is stopped; one query."""
    risk = said_chances(cluster).filter(partition=job.partition, job_id=job.job_id, start=job.start)
    rows = JobForecast.objects.filter(cluster=cluster, job_id=job.job_id, ended_at=None)
    found = rows.annotate(risk=Subquery(risk.values("chance")[:1])).order_by("-submit").first()
    if found is None:
        return None, None
    return found, found.risk if job.phase == JobPhase.RUNNING else None
