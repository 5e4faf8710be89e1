"""What came of a simulation, in figures: for all jobs and for those of each level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from scheduler.model.policy import Mode
from scheduler.model.resources import Amounts
from scheduler.priority.levels import level_word
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.policy import Policy
from scheduler.simulate.replay import SimulationOutcome

BOUND_S = 10
"""A run shorter than this counts as this long in slowdowns."""
_USERS_FIRST = (Mode.USER, Mode.USER_THEN_TASK)
_TWO_AXES = (Mode.USER_THEN_TASK, Mode.TASK_THEN_USER)


@dataclass(frozen=True, slots=True)
class SimulatedWaits:
    """Seconds in the queue, all waits of a job together. `p90`: nine of ten jobs waited at most so long.

    `longest_tenth`: the mean of the tenth that waited longest.
    """

    mean: float
    median: int
    p90: int
    p99: int
    longest_tenth: float


@dataclass(frozen=True, slots=True)
class SimulatedFigures:
    """The figures of some jobs.

    `slowdown`: the mean of (end - submit) / runtime, runtimes below `BOUND_S` counted as that, never below 1.
    `stops` and `shrinks`: how often jobs were stopped, and lost nodes. `lost`: resource-seconds held for nothing: work
    that was done again, delays of starts after a stop, and last seconds that were not full.
    """

    jobs: int
    waits: SimulatedWaits
    slowdown: float
    stops: int
    shrinks: int
    lost: Amounts


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one policy. `levels` from the highest down, under the names that people call them by.

    `makespan`: seconds from the first submission to the last end. Shares of what the cluster could have given, by
    resource: `used` until the last end, `useful` the same without what was lost, `used_arriving` until the last
    submission.
    """

    policy: Policy
    everybody: SimulatedFigures
    levels: tuple[tuple[str, SimulatedFigures], ...]
    makespan: int
    used: dict[str, float]
    useful: dict[str, float]
    used_arriving: dict[str, float]
    plans: int


def measure(outcome: SimulationOutcome) -> Result:
    """The figures of a workload of one job at least."""
    tasks = outcome.tasks
    first, last = tasks[0].work.submit, max(task.finished or 0 for task in tasks)
    arriving = tasks[-1].work.submit
    by_level: dict[tuple[int, int], list[SimulatedTask]] = {}
    for task in tasks:
        by_level.setdefault(task.pair, []).append(task)
    spent = [(task, task.occupied) for task in tasks]
    until = [(task, _before(task, arriving)) for task in tasks]
    return Result(
        policy=outcome.policy,
        everybody=_figures(tasks),
        levels=tuple(
            (_title(outcome.policy, some[0]), _figures(some))
            for _, some in sorted(by_level.items(), reverse=True)
        ),
        makespan=last - first,
        used=_shares(outcome, spent, last - first),
        useful=_shares(outcome, [(task, task.total) for task in tasks], last - first),
        used_arriving=_shares(outcome, until, arriving - first),
        plans=outcome.plans,
    )


def _figures(tasks: Sequence[SimulatedTask]) -> SimulatedFigures:
    lost = _amounts((task, task.lost + task.restarting + task.idle) for task in tasks)
    return SimulatedFigures(
        jobs=len(tasks),
        waits=_waits(sorted(task.waited for task in tasks)),
        slowdown=sum(map(_slowdown, tasks)) / len(tasks),
        stops=sum(task.stops for task in tasks),
        shrinks=sum(task.shrinks for task in tasks),
        lost=lost,
    )


def _waits(waited: Sequence[int]) -> SimulatedWaits:
    """Of waits in order, one at least."""
    count = len(waited)
    tenth = waited[-ceil(count / 10) :]
    return SimulatedWaits(
        mean=sum(waited) / count,
        median=rank(waited, 50),
        p90=rank(waited, 90),
        p99=rank(waited, 99),
        longest_tenth=sum(tenth) / len(tenth),
    )


def rank(ordered: Sequence[int], percent: int) -> int:
    """The smallest value that so many of a hundred are not above."""
    return ordered[-(-len(ordered) * percent // 100) - 1]


def _slowdown(task: SimulatedTask) -> float:
    stayed = (task.finished or 0) - task.work.submit
    return max(1.0, stayed / max(task.work.runtime, BOUND_S))


def _before(task: SimulatedTask, moment: int) -> int:
    """The piece-seconds that a job held before a moment."""
    return sum((min(end, moment) - since) * held for since, end, _, held in task.spans if since < moment)


def _amounts(spent: Iterable[tuple[SimulatedTask, int]]) -> dict[str, int]:
    """Piece-seconds of jobs as resource-seconds."""
    result: dict[str, int] = {}
    for task, piece_seconds in spent:
        for name, amount in task.pieces.amounts.items():
            result[name] = result.get(name, 0) + amount * piece_seconds
    return result


def _shares(
    outcome: SimulationOutcome, spent: Iterable[tuple[SimulatedTask, int]], seconds: int
) -> dict[str, float]:
    machines = outcome.workload.machines
    held = _amounts(spent)
    there = {name: amount * machines.nodes * seconds for name, amount in machines.per_node.items()}
    return {name: held.get(name, 0) / amount if amount else 0.0 for name, amount in there.items()}


def _title(policy: Policy, task: SimulatedTask) -> str:
    """What people call the levels of a job, as far as the mode looks at them: `P1`, `P1 / L0`."""
    names = policy.partition.level_names
    user, job = level_word(task.levels[0], names), level_word(task.levels[1], names, "L")
    mode = policy.partition.mode
    first, second = (user, job) if mode in _USERS_FIRST else (job, user)
    return f"{first} / {second}" if mode in _TWO_AXES else first
