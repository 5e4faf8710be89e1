"""The bars of a partition's lanes: runs that are over, runs, starts that are expected, room that is set aside."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from console.cluster.models import JobPhase, JobRun
from console.reports.lane_rows import (
    HeldRow,
    LaneJob,
    Place,
    expected_rows,
    held_rows,
    jobs_of,
    kept_rows,
    runs_over,
)
from console.starts.left import RunsLeft, runs_left
from console.starts.models import ExpectedStart
from console.steering.models import KeptPlace, Plan
from scheduler.model.jobs import Level

OVER, RUNNING, EXPECTED, PLANNED, KEPT = "over", "running", "expected", "planned", "kept"
FORECAST, LIMIT, STOP, KNOWN = "forecast", "limit", "stop", "known"
_PHASE, _LIMIT = LaneJob._fields.index("phase"), LaneJob._fields.index("time_limit_s")


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


@dataclass(slots=True)
class LaneBars:
    """What was found."""

    bars: list[LaneBar] = field(default_factory=list)
    left_out: int = 0
    unplaced: int = 0


def bars_of(place: Place, begun: Sequence[Plan]) -> LaneBars:
    """All bars of the window. `begun`: the plans that make room and are under way."""
    leaving = frozenset(str(victim["job"]) for plan in begun for victim in plan.victims)
    left = runs_left(place.partition.cluster, leaving)
    (held, held_out), (over, over_out) = held_rows(place), runs_over(place)
    found = LaneBars(left_out=held_out + over_out)
    expected, kept = expected_rows(place), kept_rows(place)
    named = [plan.job_id for plan in begun] + [row.job_id for row in kept]
    jobs = jobs_of(place, expected, named)
    waiting = {key: job for key, job in jobs.items() if job.phase == JobPhase.PENDING}
    coming = {plan.job_id: plan for plan in begun if plan.job_id in waiting}
    starts = {row.job_id: row for row in expected if row.job_id in waiting}
    found.bars += _running(place, held, left)
    found.bars += [
        bar for run in over if run.job_id in jobs and (bar := _ended(place, run, jobs[run.job_id]))
    ]
    for key in dict.fromkeys([*coming, *starts]):
        if (bar := _coming(place, waiting[key], coming.get(key), starts.get(key), left)) is None:
            found.unplaced += 1
        else:
            found.bars.append(bar)
    found.bars += [
        bar for row in kept if row.job_id in waiting and (bar := _kept(place, row, waiting[row.job_id]))
    ]
    return found


def _running(place: Place, held: Iterable[HeldRow], left: RunsLeft) -> Iterator[LaneBar]:
    """The runs. One of which nothing has changed since the last look, and its end neither, is the bar that it was."""
    key = (place.partition.pk, place.policy.mode)
    places, before = _known.get(key, ({}, {}))
    if places != place.places:
        before = {}
    now: dict[HeldRow, LaneBar | None] = {}
    for row in held:
        bar = before[row] if row in before else _run(place, LaneJob(*row))
        now[row] = bar = bar and _with_end(place, row, bar, left)
        if bar is not None:
            yield bar
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[key] = (place.places, now)


MOST_KNOWN = 16
_known: dict[Any, tuple[Mapping[str, int], dict[HeldRow, LaneBar | None]]] = {}
"""Of each partition its lanes and the bars of the last look, by all that was read of their jobs."""


def _run(place: Place, job: LaneJob) -> LaneBar | None:
    """Without an end; None where it is on no lane of the partition."""
    lanes = place.lanes(job.nodes)
    return _bar(job, RUNNING, lanes, job.start) if lanes else None


def _with_end(place: Place, row: HeldRow, bar: LaneBar, left: RunsLeft) -> LaneBar:
    """The same with what is said of its end now: itself, if that has not changed."""
    told = row[_LIMIT] is not None or row[_PHASE] == JobPhase.COMPLETING
    if told or bar.job in left.leaving or bar.job in left.forecasts:
        job = LaneJob(*row)
        end, end_by, low, high = _end(job, _end_by(job, left), left, place.window.now)
    elif bar.end is None:
        return bar
    else:
        end, end_by, low, high = None, "", None, None
    if (end, end_by, low, high) == (bar.end, bar.end_by, bar.low, bar.high):
        return bar
    return bar._replace(end=end, end_by=end_by, low=low, high=high)


def _end(
    job: LaneJob, end_by: str, left: RunsLeft, now: int
) -> tuple[int | None, str, int | None, int | None]:
    """`end`, `end_by`, `low` and `high` of a run."""
    if not end_by:
        return None, "", None, None
    said = left.of(job)
    if end_by != FORECAST:
        return now + round(said.p50), end_by, None, None
    return now + round(said.p50), end_by, now + round(said.low), now + round(said.high)


def _end_by(job: LaneJob, left: RunsLeft) -> str:
    """What tells the end of a run: without a forecast and a limit, nothing does."""
    if job.job_id in left.leaving:
        return STOP
    if job.phase == JobPhase.COMPLETING:
        return KNOWN
    said = left.forecasts.get(job.job_id)
    if said is not None and said.end_p50 is not None:
        return FORECAST
    return LIMIT if job.time_limit_s is not None else ""


def _ended(place: Place, run: JobRun, job: LaneJob) -> LaneBar | None:
    lanes = place.lanes(run.nodes)
    if not lanes:
        return None
    bar = _bar(job, OVER, lanes, run.start)
    return bar._replace(restarts=run.restarts, end=run.ended, end_by=KNOWN, why="")


def _coming(
    place: Place, job: LaneJob, plan: Plan | None, said: ExpectedStart | None, left: RunsLeft
) -> LaneBar | None:
    """A job that waits, where a plan makes room for it or where it is expected; None where no node is known."""
    lanes = place.lanes(plan.placement if plan else said.nodes if said else ())
    if not lanes:
        return None
    now = place.window.now
    start = max(now, said.p50) if said is not None and said.p50 is not None else now
    bar = _bar(job, PLANNED if plan else EXPECTED, lanes, start)._replace(plan=plan.pk if plan else None)
    if said is not None:
        bar = bar._replace(low=said.low, high=said.high)
    if job.job_id not in left.forecasts and job.time_limit_s is None:
        return bar
    end_by = FORECAST if job.job_id in left.forecasts else LIMIT
    return bar._replace(end=start + round(left.whole(job).p50), end_by=end_by)


def _kept(place: Place, row: KeptPlace, job: LaneJob) -> LaneBar | None:
    """From when the nodes were first kept until the job is expected there."""
    lanes, until = place.lanes(row.nodes), max(row.at, place.window.now)
    if not lanes or until <= place.window.start:
        return None
    return _bar(job, KEPT, lanes, row.moved)._replace(end=until, end_by=FORECAST)


def _bar(job: LaneJob, kind: str, lanes: tuple[int, ...], start: int) -> LaneBar:
    """Without an end."""
    why = job.why if kind in {EXPECTED, PLANNED, KEPT} else ""
    return LaneBar(
        job.job_id,
        job.name,
        job.user,
        job.level,
        kind,
        lanes,
        start,
        job.restarts,
        None,
        "",
        None,
        None,
        why,
        None,
    )
