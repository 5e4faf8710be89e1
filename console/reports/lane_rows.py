"""What the lanes of a partition are drawn from: few columns of thousands of rows, and no models."""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, starmap
from typing import Any, NamedTuple, TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet, TextField, Value
from django.db.models.functions import Cast

from console.cluster.models import Job, JobPhase, JobRun
from console.core import kept_queries
from console.forecasts.models import JobForecast
from console.partitions.models import Partition
from console.reports.lane_kept import (
    FEW,
    HeldRow,
    SaidEnd,
    held_columns,
    marks_of,
    read_ends,
    read_held,
    said_ends,
)
from console.reports.lane_part import perhaps_on
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
        return (self.on_node,) if self.on_node else _nodes_of(self.alloc)


@lru_cache(maxsize=20_000)
def _nodes_of(alloc: str) -> tuple[str, ...]:
    return tuple(json.loads(alloc or "{}"))


class LanesAsked(NamedTuple):
    """What queries hang on. `names`: the nodes of some lanes, None for all; `columns`: the first fields of `LaneJob`,
    as the database has them; `start` and `end` of the window."""

    cluster: int
    partition: str
    names: tuple[str, ...] | None
    columns: tuple[str, ...]
    start: int
    end: int

    @property
    def jobs(self) -> QuerySet[Job]:
        """The jobs of the partition, in whatever phase."""
        return Job.objects.filter(cluster=self.cluster, partition=self.partition).order_by()

    @property
    def held(self) -> QuerySet[Job]:
        """Those that hold nodes; of some lanes those that hold one alone."""
        rows = self.jobs.filter(phase__in=HELD, start__gt=0, start__lt=self.end)
        return rows if self.names is None else rows.filter(on_node__in=self.names)

    @property
    def over(self) -> QuerySet[JobRun]:
        """The runs of the window that are over, of whatever partition."""
        rows = JobRun.objects.filter(cluster=self.cluster, ended__gte=self.start, start__lt=self.end)
        return rows if self.names is None else perhaps_on(rows, self.names)

    @property
    def expected(self) -> QuerySet[ExpectedStart]:
        """The starts that are expected in the window."""
        rows = ExpectedStart.objects.filter(
            cluster=self.cluster, partition=self.partition, gone_at=None, p50__lt=self.end
        )
        return rows if self.names is None else perhaps_on(rows, self.names)


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when; `places`: the lane of each node. `first`: only what is on the first so many lanes is wanted."""

    partition: Partition
    policy: PartitionPolicy
    window: LaneWindow
    places: Mapping[str, int]
    first: int | None = None

    def lanes(self, nodes: Iterable[str]) -> tuple[int, ...]:
        """The lanes of those nodes that are the partition's; none where none of them is wanted."""
        found = tuple(sorted(self.places[node] for node in nodes if node in self.places))
        return () if self.first is not None and (not found or found[0] >= self.first) else found

    @property
    def is_part(self) -> bool:
        """Whether lanes are left out."""
        return self.first is not None

    @property
    def asked(self) -> LanesAsked:
        """What queries hang on."""
        by_user = self.policy.mode in {Mode.USER, Mode.USER_THEN_TASK}
        level = "user_level" if by_user else "task_level"
        return LanesAsked(
            self.partition.cluster_id,
            self.partition.name,
            tuple(islice(self.places, self.first)) if self.is_part else None,
            ("job_id", "name", "user", "phase", "start", "restarts", "time_limit_s", level),
            self.window.start,
            self.window.end,
        )

    def read(self, build: Callable[[LanesAsked], QuerySet[Any, R]]) -> list[R]:
        """The rows of a query that hangs on what is asked. That of some lanes is the same for minutes, and for all who
        open the page; to make it would take longer than to answer it."""
        asked = self.asked
        return kept_queries.rows(build, asked) if self.is_part else list(build(asked))

    @property
    def key(self) -> tuple[Hashable, ...]:
        """By which what is made for one look is kept for the next one."""
        return (self.partition.pk, self.policy.mode, self.first)


def held_rows(place: Place) -> tuple[list[HeldRow], int]:
    """Of the jobs that hold nodes, and how many are left out."""
    asked = place.asked
    if place.is_part:
        return _held_on(place, asked), 0
    marks = list(marks_of(asked.held))
    if len(marks) <= MOST_BARS:
        key = (place.partition.pk, asked.columns, False)
        return read_held(key, marks, lambda: asked.held, asked.columns), 0
    # Putting thousands in order takes as long as reading them: it is done where some are to be left out.
    return _bounded(held_columns(asked.held, asked.columns).order_by("-start", "job_id"))


def _held_on(place: Place, asked: LanesAsked) -> list[HeldRow]:
    """Of some nodes: who is on one alone, and of those on several who is on one of these."""
    marks = place.read(_several_marks)
    key = (place.partition.pk, asked.columns, True)
    several = read_held(key, marks[:MOST_BARS], lambda: _several(asked), asked.columns)
    return place.read(_alone) + [row for row in several if place.lanes(_nodes_of(row[-1]))]


def _several(asked: LanesAsked) -> QuerySet[Job]:
    return asked._replace(names=None).held.filter(on_node="")


def _several_marks(asked: LanesAsked) -> QuerySet[Job, Any]:
    return marks_of(_several(asked))


def _alone(asked: LanesAsked) -> QuerySet[Job, HeldRow]:
    return held_columns(asked.held, asked.columns)


def ends_said(place: Place, held: Iterable[HeldRow]) -> Mapping[str, SaidEnd]:
    """What is forecast of the ends of those that hold nodes."""
    if not place.is_part:
        return read_ends(place.partition.cluster_id)
    several = [row[0] for row in held if not row[-2]]
    told = said_ends(place.partition.cluster_id).filter(job_id__in=several)
    return {row[0]: SaidEnd(*row) for row in [*place.read(_ends_alone), *told]}


def _ends_alone(asked: LanesAsked) -> QuerySet[JobForecast, Any]:
    return said_ends(asked.cluster).filter(job_id__in=asked.held.values("job_id"))


class RunOver(NamedTuple):
    """A run that is over; `nodes` is JSON."""

    job_id: str
    start: int
    restarts: int
    ended: int
    nodes: str


def runs_over(place: Place) -> tuple[list[RunOver], int]:
    """The runs of the window that are over, and how many are left out."""
    if place.is_part:  # whose are the partition's, `jobs_of` will say
        return list(starmap(RunOver, place.read(_over_columns))), 0
    asked = place.asked
    # Asked of each run, which an index answers: most runs are long over, and not among them.
    theirs = Exists(asked.jobs.filter(job_id=OuterRef("job_id")))
    found, left_out = _bounded(_over_columns(asked).filter(theirs))
    return list(starmap(RunOver, found)), left_out


def _over_columns(asked: LanesAsked) -> QuerySet[JobRun, Any]:
    told = asked.over.values_list("job_id", "start", "restarts", "ended", Cast("nodes", TextField()))
    return told.order_by("-ended", "job_id")


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
    return list(starmap(StartSaid, place.read(_expected_columns)))


def _expected_columns(asked: LanesAsked) -> QuerySet[ExpectedStart, Any]:
    told = asked.expected.values_list("job_id", "p50", "low", "high", Cast("nodes", TextField()))
    return told.order_by("submit")[:MOST_BARS]


def runs_said(place: Place, jobs: Iterable[str]) -> dict[str, SaidOfRun]:
    """What is forecast of the whole runs of some jobs."""
    every = JobForecast.objects.filter(cluster=place.partition.cluster_id, ended_at=None)
    rows = every.filter(job_id__in=list(jobs)).order_by("submit")
    # The first five: a bar has no need of the parts in between.
    told = rows.values_list("job_id", *SaidOfRun._fields[:5])
    return {str(job_id): SaidOfRun(*said) for job_id, *said in told}


def kept_rows(place: Place) -> list[KeptPlace]:
    """LanesAsked for only where the policy has nodes kept."""
    if place.policy.dispatch is not Dispatch.MANAGED:
        return []
    kept = KeptPlace.objects.filter(cluster=place.partition.cluster_id, partition=place.partition.name)
    return list(kept.filter(until__gt=0, refused=""))


def jobs_of(
    place: Place, over: Iterable[RunOver], expected: Iterable[StartSaid], named: Iterable[str]
) -> dict[str, LaneJob]:
    """The jobs of runs that are over, and those that wait and are expected or named; one query.

    In two halves: with OR no database would use an index.
    """
    asked, ended = place.asked, {run.job_id for run in over}
    ids = ended if len(ended) <= FEW else asked.over.values("job_id")
    ran = asked.jobs.filter(job_id__in=ids)
    waiting = {row.job_id for row in expected} | set(named)
    wait = asked.jobs.filter(phase=JobPhase.PENDING, job_id__in=waiting)
    told = _job_columns(asked, ran).union(_job_columns(asked, wait), all=True)
    return {str(row[0]): LaneJob(*row) for row in told}


def _job_columns(asked: LanesAsked, jobs: QuerySet[Job]) -> QuerySet[Job, Any]:
    return jobs.values_list(*asked.columns, Value(""), Value(""), Cast("explain", TextField()))
