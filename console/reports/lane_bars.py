"""The bars of a partition's lanes: runs that are over, runs, starts that are expected, room that is set aside.

Few columns of thousands of rows, and no models.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, starmap
from typing import Any, NamedTuple, TypeVar, cast

from django.db.models import Case, Exists, Model, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Cast

from console.cluster.models import Job, JobPhase, JobRun
from console.core.sentence_field import read_sentence
from console.forecasts.models import JobForecast
from console.partitions.models import Partition
from console.starts.models import ExpectedStart
from console.starts.remaining_time import ENDING_S, RunsLeft, SaidOfRun
from console.steering.models import KeptPlace, Plan
from scheduler.model.jobs import Level
from scheduler.model.policy import Dispatch, Mode, PartitionPolicy

M = TypeVar("M", bound=Model)
R = TypeVar("R")
MOST_BARS = 20_000
FEW = 500
"""More ids than these are asked for by a query within the query."""
FARTHEST = 10**12
HELD = (JobPhase.RUNNING, JobPhase.COMPLETING)
OVER, RUNNING, EXPECTED, PLANNED, KEPT = "over", "running", "expected", "planned", "kept"
FORECAST, LIMIT, STOP, KNOWN = "forecast", "limit", "stop", "known"


class LaneBar(NamedTuple):
    """A job on some lanes, by their places. `end` is null where nothing tells it.

    `kind`: `over`, `running`, `expected` (a start that is forecast), `planned` (a plan makes room there), `kept` (nodes
    are kept for it). `end_by`: what tells the end: `known`, `forecast`, `limit`, `stop`; empty without one. `low`,
    `high`: of what is forecast, where 90 % lie: the start of a job that waits, else the end.
    """

    job: str
    name: str
    user: str
    level: Level
    kind: str
    lanes: tuple[int, ...]
    start: int
    restarts: int
    end: int | None
    end_by: str
    low: int | None
    high: int | None
    why: str
    plan: int | None


class LaneJob(NamedTuple):
    """What a bar needs of a job. `level`: of the axis that the partition's mode looks at first; `on_node`: where all of
    it is; else `alloc` tells, as JSON. `why`: as a sentence is kept."""

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

    def bar(  # noqa: PLR0913 - as many as a bar has, and no dict for each of thousands
        self,
        kind: str,
        lanes: tuple[int, ...],
        start: int,
        end: int | None = None,
        end_by: str = "",
        *,
        low: int | None = None,
        high: int | None = None,
        restarts: int | None = None,
        plan: int | None = None,
    ) -> LaneBar:
        """Without an end, unless told."""
        why = str(read_sentence(self.why)) if kind in {EXPECTED, PLANNED, KEPT} else ""
        again = self.restarts if restarts is None else restarts
        head = (self.job_id, self.name, self.user, self.level, kind, lanes, start)
        return LaneBar(*head, again, end, end_by, low, high, why, plan)


class RunOver(NamedTuple):
    """A run that is over; `nodes` is JSON."""

    job_id: str
    start: int
    restarts: int
    ended: int
    nodes: str


class StartSaid(NamedTuple):
    """What is expected of the start of a job that waits; `nodes` is JSON."""

    job_id: str
    p50: int | None
    low: int | None
    high: int | None
    nodes: str


class EndSaid(NamedTuple):
    """When the run that began at `start` should end, epoch seconds."""

    start: int | None
    low: int | None
    p50: int | None
    high: int | None


@dataclass(slots=True)
class LaneBars:
    """What was found. `left_out`: runs beyond the bound; `unplaced`: expected jobs of which no node is known."""

    bars: list[LaneBar] = field(default_factory=list)
    left_out: int = 0
    unplaced: int = 0


@dataclass(frozen=True, slots=True)
class LanePlace:
    """Where and when, epoch seconds; `places`: the lane of each node. `first`: only what is on the first so many lanes
    is wanted."""

    partition: Partition
    policy: PartitionPolicy
    start: int
    end: int
    now: int
    places: Mapping[str, int]
    first: int | None = None

    def lanes(self, nodes: Iterable[str]) -> tuple[int, ...]:
        """The lanes of those nodes that are the partition's; none where none of them is wanted."""
        found = tuple(sorted(self.places[node] for node in nodes if node in self.places))
        return () if self.first is not None and (not found or found[0] >= self.first) else found

    @property
    def columns(self) -> tuple[str, ...]:
        """The first fields of `LaneJob`, as the database has them."""
        by_user = self.policy.mode in {Mode.USER, Mode.USER_THEN_TASK}
        level = "user_level" if by_user else "task_level"
        return ("job_id", "name", "user", "phase", "start", "restarts", "time_limit_s", level)

    @property
    def jobs(self) -> QuerySet[Job]:
        """The jobs of the partition, in whatever phase."""
        rows = Job.objects.filter(cluster=self.partition.cluster_id, partition=self.partition.name)
        return rows.order_by()

    @property
    def over(self) -> QuerySet[JobRun]:
        """The runs of the window that are over, of whatever partition."""
        rows = JobRun.objects.filter(cluster=self.partition.cluster_id)
        return self.perhaps_on(rows.filter(ended__gte=self.start, start__lt=self.end))

    def perhaps_on(self, rows: QuerySet[M]) -> QuerySet[M]:
        """Of rows with a list of `nodes`, as JSON, those that are on a wanted one alone, and all on several."""
        if self.first is None:
            return rows
        wanted = islice(self.places, self.first)
        alone = {json.dumps([name], ensure_ascii=is_plain) for name in wanted for is_plain in (True, False)}
        told = rows.alias(nodes_text=Cast("nodes", TextField()))
        found = told.filter(Q(nodes_text__in=alone) | Q(nodes_text__contains=","))
        return cast("QuerySet[M]", found)


def read_bars(place: LanePlace, begun: Sequence[Plan]) -> LaneBars:
    """All bars of the window. `begun`: the plans that make room and are under way."""
    leaving = frozenset(str(victim["job"]) for plan in begun for victim in plan.victims)
    (held, held_out), (over, over_out) = _held_jobs(place), _runs_over(place)
    found = LaneBars(left_out=held_out + over_out)
    expected, kept = _expected_starts(place), kept_places(place.partition, place.policy)
    named = [plan.job_id for plan in begun] + [row.job_id for row in kept]
    jobs = _jobs_of(place, over, expected, named)
    waiting = {key: job for key, job in jobs.items() if job.phase == JobPhase.PENDING}
    coming = {plan.job_id: plan for plan in begun if plan.job_id in waiting}
    starts = {row.job_id: row for row in expected if row.job_id in waiting}
    ends, left = _ends_said(place, held), RunsLeft(place.now, _runs_said(place, waiting))
    for job in held:
        if lanes := place.lanes(job.nodes):
            found.bars.append(_running_bar(job, lanes, ends.get(job.job_id), place.now, leaving))
    for run in over:
        if run.job_id in jobs and (lanes := place.lanes(json.loads(run.nodes))):
            bar = jobs[run.job_id].bar(
                OVER, lanes, run.start, restarts=run.restarts, end=run.ended, end_by=KNOWN
            )
            found.bars.append(bar)
    for key in dict.fromkeys([*coming, *starts]):
        plan, said = coming.get(key), starts.get(key)
        if lanes := place.lanes(plan.placement if plan else json.loads(said.nodes) if said else ()):
            found.bars.append(_coming_bar(waiting[key], lanes, plan, said, left))
        else:
            found.unplaced += place.first is None
    for row in kept:
        lanes, until = place.lanes(row.nodes), max(row.at, place.now)
        if row.job_id in waiting and lanes and until > place.start:
            found.bars.append(waiting[row.job_id].bar(KEPT, lanes, row.moved, end=until, end_by=FORECAST))
    return found


def _running_bar(
    job: LaneJob, lanes: tuple[int, ...], said: EndSaid | None, now: int, leaving: frozenset[str]
) -> LaneBar:
    """Its end as `RunsLeft` has it, without the parts that no bar shows: there are thousands."""
    leaves = job.job_id in leaving
    if leaves or job.phase == JobPhase.COMPLETING:
        return job.bar(RUNNING, lanes, job.start, end=now + ENDING_S, end_by=STOP if leaves else KNOWN)
    limit = None if job.time_limit_s is None else max(now + 1, job.start + job.time_limit_s)
    if said is not None and said.start == job.start and None not in said:
        top = FARTHEST if limit is None else limit
        low, p50, high = (min(max(now + 1, end or 0), top) for end in (said.low, said.p50, said.high))
        return job.bar(RUNNING, lanes, job.start, end=p50, end_by=FORECAST, low=low, high=high)
    return job.bar(RUNNING, lanes, job.start, end=limit, end_by="" if limit is None else LIMIT)


def _coming_bar(
    job: LaneJob, lanes: tuple[int, ...], plan: Plan | None, said: StartSaid | None, left: RunsLeft
) -> LaneBar:
    start = max(left.now, said.p50) if said is not None and said.p50 is not None else left.now
    more: dict[str, Any] = {"plan": plan.pk if plan else None}
    if said is not None:
        more |= {"low": said.low, "high": said.high}
    if job.job_id in left.forecasts or job.time_limit_s is not None:
        end_by = FORECAST if job.job_id in left.forecasts else LIMIT
        more |= {"end": start + round(left.whole(job).p50), "end_by": end_by}
    return job.bar(PLANNED if plan else EXPECTED, lanes, start, **more)


def _held_jobs(place: LanePlace) -> tuple[list[LaneJob], int]:
    """The jobs that hold nodes, and how many are left out; of some lanes those that hold one of these."""
    # Most jobs are on one node: only the others' JSON is read.
    alloc = When(on_node="", then=Cast("alloc", TextField()))
    several = Case(alloc, default=Value(""), output_field=TextField())
    rows = place.jobs.filter(phase__in=HELD, start__gt=0, start__lt=place.end).annotate(several=several)
    if place.first is not None:
        wanted = list(islice(place.places, place.first))
        rows = rows.filter(on_node__in=["", *wanted])
    told, left_out = _bounded(
        rows.order_by("-start", "job_id").values_list(*place.columns, "on_node", "several")
    )
    return list(starmap(LaneJob, told)), 0 if place.first is not None else left_out


def _ends_said(place: LanePlace, held: Sequence[LaneJob]) -> dict[str, EndSaid]:
    """What is forecast of the ends of those that hold nodes; of one that was submitted again, what was said last."""
    rows = JobForecast.objects.filter(
        cluster=place.partition.cluster_id, ended_at=None, renewed__isnull=False
    ).order_by("submit")
    if len(held) <= FEW:
        rows = rows.filter(job_id__in=[job.job_id for job in held])
    told = rows.values_list("job_id", "start", "end_low", "end_p50", "end_high")
    return {str(job_id): EndSaid(*said) for job_id, *said in told}


def _runs_over(place: LanePlace) -> tuple[list[RunOver], int]:
    """The runs of the window that are over, and how many are left out."""
    told = place.over.values_list("job_id", "start", "restarts", "ended", Cast("nodes", TextField()))
    told = told.order_by("-ended", "job_id")
    if place.first is not None:  # whose are the partition's, `_jobs_of` will say
        return list(starmap(RunOver, told)), 0
    # Asked of each run, which an index answers: most runs are long over, and not among them.
    found, left_out = _bounded(told.filter(Exists(place.jobs.filter(job_id=OuterRef("job_id")))))
    return list(starmap(RunOver, found)), left_out


def _bounded(rows: QuerySet[M, R]) -> tuple[list[R], int]:
    """As many as a chart can take, the latest; those beyond are counted."""
    first = list(rows[:MOST_BARS])
    return first, rows.count() - MOST_BARS if len(first) == MOST_BARS else 0


def _expected_starts(place: LanePlace) -> list[StartSaid]:
    rows = ExpectedStart.objects.filter(
        cluster=place.partition.cluster_id, partition=place.partition.name, gone_at=None, p50__lt=place.end
    )
    told = place.perhaps_on(rows).values_list("job_id", "p50", "low", "high", Cast("nodes", TextField()))
    return list(starmap(StartSaid, told.order_by("submit")[:MOST_BARS]))


def _runs_said(place: LanePlace, jobs: Iterable[str]) -> dict[str, SaidOfRun]:
    """What is forecast of the whole runs of some jobs."""
    every = JobForecast.objects.filter(cluster=place.partition.cluster_id, ended_at=None)
    rows = every.filter(job_id__in=list(jobs)).order_by("submit")
    # The first five: a bar has no need of the parts in between.
    told = rows.values_list("job_id", *SaidOfRun._fields[:5])
    return {str(job_id): SaidOfRun(*said) for job_id, *said in told}


def kept_places(partition: Partition, policy: PartitionPolicy) -> list[KeptPlace]:
    """The nodes that are kept there; asked for only where the policy has any kept."""
    if policy.dispatch is not Dispatch.MANAGED:
        return []
    kept = KeptPlace.objects.filter(cluster=partition.cluster_id, partition=partition.name)
    return list(kept.filter(until__gt=0, refused=""))


def _jobs_of(
    place: LanePlace, over: Iterable[RunOver], expected: Iterable[StartSaid], named: Iterable[str]
) -> dict[str, LaneJob]:
    """The jobs of runs that are over, and those that wait and are expected or named; one query.

    In two halves: with OR no database would use an index.
    """
    ended = {run.job_id for run in over}
    ran = place.jobs.filter(job_id__in=ended if len(ended) <= FEW else place.over.values("job_id"))
    waiting = {row.job_id for row in expected} | set(named)
    wait = place.jobs.filter(phase=JobPhase.PENDING, job_id__in=waiting)
    columns = *place.columns, *cast("tuple[Any, ...]", (Value(""), Value(""), Cast("explain", TextField())))
    told = ran.values_list(*columns).union(wait.values_list(*columns), all=True)
    return {str(row[0]): LaneJob(*row) for row in told}
