"""The answer as one document, `giveway.hindsight/1`: waits, stops and work lost, for all, by level and by project.

A figure is that of the jobs as they were submitted (`value`), with the lowest and the highest of all runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.history.hindsight.facts import Standing
from scheduler.model.jobs import Level
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.measures import rank
from scheduler.simulate.replay import SimulationOutcome
from scheduler.simulate.trace import TraceRow

SCHEMA = "giveway.hindsight/1"
NONE = ""
"""Jobs of no project."""
Work = dict[str, int]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What came of some jobs in one run. `lost`: seconds of work by resource."""

    mean: float
    median: int
    p90: int
    stops: int
    lost: Work


@dataclass(frozen=True, slots=True)
class RunFiguresOfAll:
    """One run: all jobs, those of each level, those of each project."""

    everybody: RunFigures
    levels: Mapping[Level, RunFigures]
    projects: Mapping[str, RunFigures]


def measured(
    outcome: SimulationOutcome, counted: frozenset[str], known: Mapping[str, Standing]
) -> RunFiguresOfAll:
    """The figures of one run, of the jobs that count."""
    tasks = [task for task in outcome.tasks if task.work.row.id in counted]
    levels: dict[Level, list[SimulatedTask]] = {}
    projects: dict[str, list[SimulatedTask]] = {}
    for task in tasks:
        standing = known[task.work.row.id]
        levels.setdefault(standing.rank, []).append(task)
        projects.setdefault(standing.project or NONE, []).append(task)
    # Who was stopped need not count: a stop of a job from before does.
    stops, lost = sum(task.stops for task in outcome.tasks), _lost(outcome.tasks)
    everybody = _figures(tasks)
    return RunFiguresOfAll(
        RunFigures(everybody.mean, everybody.median, everybody.p90, stops, lost),
        {level: _figures(some) for level, some in levels.items()},
        {code: _figures(some) for code, some in projects.items()},
    )


def _figures(tasks: Sequence[SimulatedTask]) -> RunFigures:
    waits = sorted(task.waited for task in tasks)
    return RunFigures(
        mean=round(sum(waits) / len(waits), 1),
        median=rank(waits, 50),
        p90=rank(waits, 90),
        stops=sum(task.stops for task in tasks),
        lost=_lost(tasks),
    )


def _lost(tasks: Iterable[SimulatedTask]) -> Work:
    lost: Work = {}
    for task in tasks:
        if task.lost:
            for name, amount in task.pieces.amounts.items():
                lost[name] = lost.get(name, 0) + amount * task.lost
    return lost


@dataclass(frozen=True, slots=True)
class BothWays:
    """One run without Giveway and one with the policy, of the same submissions."""

    without: RunFiguresOfAll
    with_policy: RunFiguresOfAll


def groups(
    rows: Sequence[TraceRow], known: Mapping[str, Standing], names: Sequence[str], runs: Sequence[BothWays]
) -> dict[str, Any]:
    """`all`, `levels` (the highest first, unconfigured last) and `projects` (the largest first)."""
    levels: dict[Level, list[TraceRow]] = {}
    projects: dict[str, list[TraceRow]] = {}
    for row in rows:
        standing = known[row.id]
        levels.setdefault(standing.rank, []).append(row)
        projects.setdefault(standing.project or NONE, []).append(row)
    return {
        "all": _group(rows, [(run.without.everybody, run.with_policy.everybody) for run in runs]),
        "levels": [
            {
                "rank": rank,
                "name": "unconfigured" if rank is None else names[rank],
                **_group(some, [(run.without.levels[rank], run.with_policy.levels[rank]) for run in runs]),
            }
            for rank, some in sorted(levels.items(), key=lambda item: (item[0] is None, item[0] or 0))
        ],
        "projects": [
            {
                "project": code,
                **_group(
                    some, [(run.without.projects[code], run.with_policy.projects[code]) for run in runs]
                ),
            }
            for code, some in sorted(projects.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
    }


def _group(rows: Sequence[TraceRow], runs: Sequence[tuple[RunFigures, RunFigures]]) -> dict[str, Any]:
    recorded = sorted(row.wait or 0 for row in rows)
    without, with_policy = zip(*runs, strict=True)
    return {
        "jobs": len(rows),
        "recorded": {
            "mean_s": round(sum(recorded) / len(recorded), 1),
            "median_s": rank(recorded, 50),
            "p90_s": rank(recorded, 90),
        },
        "without": _waits(without),
        "with_policy": _waits(with_policy),
        "stops": _range([each.stops for each in with_policy]),
        "lost_s": {
            name: _range([each.lost.get(name, 0) for each in with_policy])
            for name in sorted({name for each in with_policy for name in each.lost})
        },
    }


def _waits(runs: Sequence[RunFigures]) -> dict[str, Any]:
    return {f"{name}_s": _range([getattr(each, name) for each in runs]) for name in ("mean", "median", "p90")}


def _range(values: Sequence[float]) -> dict[str, float]:
    return {"value": values[0], "low": min(values), "high": max(values)}
