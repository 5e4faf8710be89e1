"""What an hour of stops begins with: who runs, who waits, who may come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.forecast.facts import Forecast

HORIZON_S = 3600
"""The hour, in seconds."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A running job: its rank (a number that `outranks` knows), its units of the main resource, how long it still runs.

    `ran_s`: how long it has run, earlier runs too. `safe_s`: for how long it is still not stopped; None: never.
    `on`: how many units it holds on which nodes (their numbers), where that is known.
    """

    rank: int
    units: int
    left: Forecast
    ran_s: int = 0
    safe_s: int | None = 0
    on: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Waiter:
    """A waiting job. `lasts`: how long it will run; `ran_s`: how long it has run before; `nodes`: as of `Arrival`."""

    rank: int
    units: int
    lasts: Forecast
    ran_s: int = 0
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that came in an hour: how many seconds after its beginning, and how long it ran, in seconds.

    `nodes`: on so many nodes its units lie, in equal parts.
    """

    at_s: int
    rank: int
    units: int
    lasts_s: int
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class RiskPicture:
    """What is known now. `free`: units of the main resource. `waiting`: in the order of the line, those who may start.

    `outranks`: by rank, the ranks that it may have stopped; the larger of two numbers is served first. `by_rank`:
    whether the line goes by ranks. `exempt_s`: how long a job runs before it may be stopped. `nodes`: the free units of
    each node, where it is known who runs on which.
    """

    running: Sequence[Runner]
    free: int
    waiting: Sequence[Waiter]
    outranks: Mapping[int, frozenset[int]]
    by_rank: bool = False
    exempt_s: int = 0
    nodes: Sequence[int] = ()
