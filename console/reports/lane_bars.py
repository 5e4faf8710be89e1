"""The bars of a partition's lanes: runs that are over, runs, starts that are expected, room that is set aside."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.cluster.models import JobPhase
from console.reports.lane_bar import FORECAST, KEPT, KNOWN, OVER, LaneBar, bar_of
from console.reports.lane_coming import ComingBars
from console.reports.lane_rows import (
    LaneJob,
    Place,
    RunOver,
    ends_said,
    expected_rows,
    held_rows,
    jobs_of,
    kept_rows,
    runs_over,
    runs_said,
)
from console.reports.lane_runs import running_bars
from console.starts.remaining_time import RunsLeft
from console.steering.models import KeptPlace, Plan


@dataclass(slots=True)
class LaneBars:
    """What was found."""

    bars: list[LaneBar] = field(default_factory=list)
    left_out: int = 0
    unplaced: int = 0


def bars_of(place: Place, begun: Sequence[Plan]) -> LaneBars:
    """All bars of the window. `begun`: the plans that make room and are under way."""
    leaving = frozenset(str(victim["job"]) for plan in begun for victim in plan.victims)
    (held, held_out), (over, over_out) = held_rows(place), runs_over(place)
    found = LaneBars(left_out=held_out + over_out)
    expected, kept = expected_rows(place), kept_rows(place)
    named = [plan.job_id for plan in begun] + [row.job_id for row in kept]
    jobs = jobs_of(place, over, expected, named)
    waiting = {key: job for key, job in jobs.items() if job.phase == JobPhase.PENDING}
    coming = {plan.job_id: plan for plan in begun if plan.job_id in waiting}
    starts = {row.job_id: row for row in expected if row.job_id in waiting}
    come = ComingBars(place, RunsLeft(place.window.now, runs_said(place, waiting)))
    found.bars += running_bars(place, held, ends_said(place, held), leaving)
    found.bars += [
        bar for run in over if run.job_id in jobs and (bar := _ended(place, run, jobs[run.job_id]))
    ]
    for key in dict.fromkeys([*coming, *starts]):
        if (bar := come.bar(waiting[key], coming.get(key), starts.get(key))) is None:
            found.unplaced += not place.is_part
        else:
            found.bars.append(bar)
    come.remember()
    found.bars += [
        bar for row in kept if row.job_id in waiting and (bar := _kept(place, row, waiting[row.job_id]))
    ]
    return found


def _ended(place: Place, run: RunOver, job: LaneJob) -> LaneBar | None:
    lanes = place.lanes(json.loads(run.nodes))
    if not lanes:
        return None
    bar = bar_of(job, OVER, lanes, run.start)
    return bar._replace(restarts=run.restarts, end=run.ended, end_by=KNOWN, why="")


def _kept(place: Place, row: KeptPlace, job: LaneJob) -> LaneBar | None:
    """From when the nodes were first kept until the job is expected there."""
    lanes, until = place.lanes(row.nodes), max(row.at, place.window.now)
    if not lanes or until <= place.window.start:
        return None
    return bar_of(job, KEPT, lanes, row.moved)._replace(end=until, end_by=FORECAST)
