"""What the lanes of a partition are drawn from: few columns of thousands of rows, and no models."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple, TypeVar

from django.db.models import Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

from console.cluster.models import Job, JobPhase, JobRun
from console.forecasts.models import JobForecast
from console.partitions.models import Partition
from console.reports.lane_kept import HeldRow, held_columns, read_held
from console.reports.lane_window import MOST_BARS, LaneWindow
from console.starts.left import SaidOfRun
from console.starts.models import ExpectedStart
from console.steering.models import KeptPlace
from scheduler.model.jobs import Level
from scheduler.model.policy import Dispatch, Mode, PartitionPolicy

M = TypeVar("M", bound=Model)
R = TypeVar("R")

HELD = (JobPhase.RUNNING, JobPhase.COMPLETING)


class LaneJob(NamedTuple):
    """What a bar needs of a job: there are thousands, so no more than this and no model. `level`: of the axis that the
    partition's mode looks at first; `on_node`: where all of it is; else `alloc` tells, as JSON. `why`: as a sentence is
    kept."""

    job_id: str
    name: str
    user: str
    phase: str
    start: int
    restarts: int
    time_limit_s: int | None
    level: Level
    on_node: str = ""
    alloc: str = ""
    why: str = ""

    @property
    def nodes(self) -> Iterable[str]:
        """Where it is."""
        return (self.on_node,) if self.on_node else json.loads(self.alloc or "{}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when; `places`: the lane of each node."""

    partition: Partition
    policy: PartitionPolicy
    window: LaneWindow
    places: Mapping[str, int]

    def lanes(self, nodes: Iterable[str]) -> tuple[int, ...]:
        """The lanes of those nodes that are the partition's."""
        return tuple(sorted(self.places[node] for node in nodes if node in self.places))

    @property
    def columns(self) -> tuple[str, ...]:
        """The first fields of `LaneJob`, as the database has them."""
        level = "user_level" if self.policy.mode in {Mode.USER, Mode.USER_THEN_TASK} else "task_level"
        return ("job_id", "name", "user", "phase", "start", "restarts", "time_limit_s", level)

    @property
    def jobs(self) -> QuerySet[Job]:
        """The jobs of the partition, in whatever phase."""
        return Job.objects.filter(cluster=self.partition.cluster_id, partition=self.partition.name).order_by()


def held_rows(place: Place) -> tuple[list[HeldRow], int]:
    """Of the jobs that hold nodes, and how many are left out."""
    rows = place.jobs.filter(phase__in=HELD, start__gt=0, start__lt=place.window.end)
    every = read_held((place.partition.pk, place.columns), rows, place.columns, MOST_BARS)
    if every is not None:
        return every, 0
    # Putting thousands in order takes as long as reading them: it is done where some are to be left out.
    return _bounded(held_columns(rows, place.columns).order_by("-start", "job_id"))


class RunOver(NamedTuple):
    """A run that is over; `nodes` is JSON."""

    job_id: str
    start: int
    restarts: int
    ended: int
    nodes: str


def runs_over(place: Place) -> tuple[list[RunOver], int]:
    """The runs of the window that are over, and how many are left out."""
    rows = _over(place).filter(job_id__in=place.jobs.values("job_id"))
    told = rows.values_list("job_id", "start", "restarts", "ended", Cast("nodes", TextField()))
    found, left_out = _bounded(told.order_by("-ended", "job_id"))
    return list(starmap(RunOver, found)), left_out


def _over(place: Place) -> QuerySet[JobRun]:
    window = place.window
    return JobRun.objects.filter(
        cluster=place.partition.cluster_id, ended__gte=window.start, start__lt=window.end
    )


def _bounded(rows: QuerySet[M, R]) -> tuple[list[R], int]:
    """As many as a chart can take, the latest; those beyond are counted."""
    first = list(rows[:MOST_BARS])
    return first, rows.count() - MOST_BARS if len(first) == MOST_BARS else 0


class StartSaid(NamedTuple):
    """What is expected of the start of a job that waits; `nodes` is JSON."""

    job_id: str
    p50: int | None
    low: int | None
    high: int | None
    nodes: str


def expected_rows(place: Place) -> list[StartSaid]:
    """The starts that are expected in the window."""
    rows = ExpectedStart.objects.filter(
        cluster=place.partition.cluster_id,
        partition=place.partition.name,
        gone_at=None,
        p50__lt=place.window.end,
    )
    told = rows.values_list("job_id", "p50", "low", "high", Cast("nodes", TextField()))
    return list(starmap(StartSaid, told.order_by("submit")[:MOST_BARS]))


def runs_said(place: Place, jobs: Iterable[str]) -> dict[str, SaidOfRun]:
    """What is forecast of the whole runs of some jobs."""
    every = JobForecast.objects.filter(cluster=place.partition.cluster_id, ended_at=None)
    rows = every.filter(job_id__in=list(jobs)).order_by("submit")
    # The first five: a bar has no need of the parts in between.
    told = rows.values_list("job_id", *SaidOfRun._fields[:5])
    return {str(job_id): SaidOfRun(*said) for job_id, *said in told}


def kept_rows(place: Place) -> list[KeptPlace]:
    """Asked for only where the policy has nodes kept."""
    if place.policy.dispatch is not Dispatch.MANAGED:
        return []
    kept = KeptPlace.objects.filter(cluster=place.partition.cluster_id, partition=place.partition.name)
    return list(kept.filter(until__gt=0, refused=""))


def jobs_of(place: Place, expected: Iterable[StartSaid], named: Iterable[str]) -> dict[str, LaneJob]:
    """The jobs of runs that are over, and those that wait and are expected or named; one query."""
    ids = {row.job_id for row in expected} | set(named)
    over = Q(job_id__in=_over(place).values("job_id"))
    rows = place.jobs.filter(over | Q(phase=JobPhase.PENDING, job_id__in=ids))
    told = rows.values_list(*place.columns, Value(""), Value(""), Cast("explain", TextField()))
    return {str(row[0]): LaneJob(*row) for row in told}
