"""When waiting jobs start, and where: the queue played forward in many draws of how long everybody runs.

In a draw all run times are fixed. Waiting jobs are placed in their order, each at the earliest moment at which it has
its nodes from then to its end, beside all that were placed before it: nobody delays anybody who is before him, and
short jobs pass where they end in time (spec 3.1). A job with kept nodes is placed on them before all others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.forecast.draws import TimeLine, drawn
from scheduler.forecast.facts import Forecast
from scheduler.forecast.history import Floats
from scheduler.forecast.room_ahead import RoomAhead, Want

MOST_DRAWS, FEWEST_DRAWS = 48, 12
CELLS = 3_500_000
"""Nodes × moments × draws; of large clusters fewer draws are played."""


@dataclass(frozen=True, slots=True)
class RunningShare:
    """A running job: by node (its number) what it holds there, and a forecast of what is left."""

    nodes: tuple[int, ...]
    holds: tuple[int, ...]
    left: Forecast


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A waiting job: so many nodes, on each of which it wants `wants`. `among`: the nodes it may use; None for all.

    `after_s`: it starts no sooner, for example because it is to begin at a time.
    """

    id: str
    nodes: int
    wants: tuple[int, ...]
    run: Forecast
    among: frozenset[int] | None = None
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TriedStart:
    """A request that does not wait, or that a waiting job might have made instead: when would it start?

    It stands before the waiting job of the number `before` (as many as wait: behind all), and delays nobody.
    `instead_of`: the number of the waiting job that it stands for; both run for the same time in a draw, as far as the
    request lets it.
    """

    request: WaitingRequest
    before: int
    instead_of: int | None = None


@dataclass(frozen=True, slots=True)
class StartForecast:
    """Seconds from now; `low` to `high` is meant to hold 90 %. None: not within the time that is looked at.

    `nodes`: those of the middle draw. `draws`: the starts of all draws, in their order (inf where there is none).
    """

    id: str
    p50: float | None
    low: float | None
    high: float | None
    nodes: tuple[int, ...]
    draws: tuple[float, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Queue:
    """What is played. `free`: of each node what is free now, as many resources as in `holds` and `wants`.

    `kept`: by waiting job, the nodes that are kept for it.
    """

    free: Sequence[tuple[int, ...]]
    running: Sequence[RunningShare]
    waiting: Sequence[WaitingRequest]
    kept: Mapping[str, frozenset[int]] = field(default_factory=dict)


def sure(seconds: float) -> Forecast:
    """A run time that is known."""
    return Forecast(*(5 * (seconds,)))


def forecast_starts(
    queue: Queue, *, draws: int | None = None, seed: int = 0, line: TimeLine | None = None
) -> list[StartForecast]:
    """The starts of all waiting jobs, in the order given. The same queue and seed give the same answer."""
    return forecast_with_trials(queue, (), draws=draws, seed=seed, line=line)[0]


def forecast_with_trials(
    queue: Queue,
    trials: Sequence[TriedStart],
    *,
    draws: int | None = None,
    seed: int = 0,
    line: TimeLine | None = None,
) -> tuple[list[StartForecast], list[StartForecast]]:
    """The same, and the starts of what is tried, in the order given. Trials change nothing for those who wait."""
    if not queue.waiting and not trials:
        return [], []
    line = line or TimeLine()
    cells = max(len(queue.free), 1) * len(line)
    draws = draws or max(FEWEST_DRAWS, min(MOST_DRAWS, CELLS // cells))
    rng = np.random.default_rng(seed)
    left = drawn([job.left for job in queue.running], draws, rng)
    requests = [*queue.waiting, *(trial.request for trial in trials)]
    ahead = RoomAhead(queue.free, [_want(queue, job) for job in requests], line, draws)
    # Somebody who runs now has not ended now.
    ends = np.maximum(line.place(left, rng.random(left.shape)), 1)
    ahead.release([job.nodes for job in queue.running], [job.holds for job in queue.running], ends)
    runs, chances = _runs(queue, trials, draws, rng)
    starts = np.full((len(requests), draws), np.inf)
    where: list[list[tuple[int, ...]]] = [[] for _ in requests]
    for row in _in_turn(queue, trials):
        starts[row], where[row] = ahead.put(
            row, requests[row].after_s, runs[row], chances[row], takes=row < len(queue.waiting)
        )
    said = [_said(job.id, starts[row], where[row]) for row, job in enumerate(requests)]
    return said[: len(queue.waiting)], said[len(queue.waiting) :]


def _runs(
    queue: Queue, trials: Sequence[TriedStart], draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """How long each runs in each draw, and its chance of being put on the moment before or after."""
    runs = drawn([job.run for job in queue.waiting], draws, rng)
    chances = rng.random(runs.shape)
    tried = drawn([trial.request.run for trial in trials], draws, rng)
    theirs = rng.random(tried.shape)
    for row, trial in enumerate(trials):
        if trial.instead_of is not None:
            tried[row] = np.minimum(runs[trial.instead_of], trial.request.run.high)
            theirs[row] = chances[trial.instead_of]
    return np.concatenate([runs, tried]), np.concatenate([chances, theirs])


def _in_turn(queue: Queue, trials: Sequence[TriedStart]) -> list[int]:
    """The rows in the order in which they are placed: those with kept nodes first, what is tried before its place."""
    waiting = range(len(queue.waiting))
    kept = [row for row in waiting if queue.waiting[row].id in queue.kept]
    turns = [(row, 1, row) for row in waiting if queue.waiting[row].id not in queue.kept]
    turns += [(trial.before, 0, len(queue.waiting) + number) for number, trial in enumerate(trials)]
    return [*kept, *(row for _, _, row in sorted(turns))]


def _want(queue: Queue, job: WaitingRequest) -> Want:
    return Want(job.nodes, job.wants, queue.kept.get(job.id, job.among))


def _said(job_id: str, starts: Floats, where: Sequence[tuple[int, ...]]) -> StartForecast:
    low, p50, high = (
        float(value) if np.isfinite(value) else None
        for value in np.quantile(starts, [0.05, 0.5, 0.95], method="inverted_cdf")
    )
    middle = np.argsort(starts, kind="stable")[(len(starts) - 1) // 2]
    return StartForecast(job_id, p50, low, high, where[middle], tuple(starts.tolist()))
