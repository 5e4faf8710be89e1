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
    if not queue.waiting:
        return []
    line = line or TimeLine()
    cells = max(len(queue.free), 1) * len(line)
    draws = draws or max(FEWEST_DRAWS, min(MOST_DRAWS, CELLS // cells))
    rng = np.random.default_rng(seed)
    left = drawn([job.left for job in queue.running], draws, rng)
    ahead = RoomAhead(queue.free, [_want(queue, job) for job in queue.waiting], line, draws)
    # Somebody who runs now has not ended now.
    ends = np.maximum(line.place(left, rng.random(left.shape)), 1)
    ahead.release([job.nodes for job in queue.running], [job.holds for job in queue.running], ends)
    runs = drawn([job.run for job in queue.waiting], draws, rng)
    chances = rng.random(runs.shape)
    starts = np.full((len(queue.waiting), draws), np.inf)
    where: list[list[tuple[int, ...]]] = [[] for _ in queue.waiting]
    order = sorted(range(len(queue.waiting)), key=lambda row: queue.waiting[row].id not in queue.kept)
    for row in order:
        starts[row], where[row] = ahead.put(row, queue.waiting[row].after_s, runs[row], chances[row])
    return [_said(job.id, starts[row], where[row]) for row, job in enumerate(queue.waiting)]


def _want(queue: Queue, job: WaitingRequest) -> Want:
    return Want(job.nodes, job.wants, queue.kept.get(job.id, job.among))


def _said(job_id: str, starts: Floats, where: Sequence[tuple[int, ...]]) -> StartForecast:
    low, p50, high = (
        float(value) if np.isfinite(value) else None
        for value in np.quantile(starts, [0.05, 0.5, 0.95], method="inverted_cdf")
    )
    middle = np.argsort(starts, kind="stable")[(len(starts) - 1) // 2]
    return StartForecast(job_id, p50, low, high, where[middle], tuple(starts.tolist()))
