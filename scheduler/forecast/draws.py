"""Run times drawn from forecasts, and the line of time on which draws are played."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.facts import INNER, MOST_S, Forecast
from scheduler.forecast.history import Floats

LEVELS = (0.0, 0.05, 0.1, *INNER, 0.9, 0.95, 1.0)
BEYOND = 2.0
"""Below `low` and above `high`, a run time is at most so many times shorter or longer."""
FIRST_S, FAR_S = 30.0, 60 * 86_400
FINE, COARSE, LONG = 0.005, 0.03, 300
"""By how much each step of the line of time is longer than the one before: for short queues and, in proportion, for
long ones, of so many jobs and more."""
SOON_S = (5.0, 20.0)
"""Two moments more before the first half minute is over: what starts in some seconds is not told as half a minute."""

Places = NDArray[np.int64]


def drawn(
    forecasts: Sequence[Forecast], count: int, rng: np.random.Generator, strata: Places | None = None
) -> Floats:
    """(forecasts, count): run times in seconds. Each forecast gives one of every 1 / count of its distribution.

    `strata`: which of them in each draw; None: in any order, whatever the others give.
    """
    if not forecasts:
        return np.zeros((0, count))
    if strata is None:
        strata = rng.permuted(np.tile(np.arange(count), (len(forecasts), 1)), axis=1)
    chances = (strata + rng.random(strata.shape)) / count
    known = np.log(np.clip([marks(each) for each in forecasts], 1, MOST_S))
    values = np.zeros_like(chances)
    for number, (low, high) in enumerate(pairwise(LEVELS)):
        part = np.clip((chances - low) / (high - low), 0, 1)
        values += part * (known[:, number + 1] - known[:, number])[:, None]
    # Whole seconds: rounding keeps equal forecasts equal.
    return np.asarray(np.rint(np.exp(values + known[:, :1])))


def marks(forecast: Forecast) -> tuple[float, ...]:
    """The run times at `LEVELS`, in order."""
    low, high = forecast.low, forecast.high
    beyond = 1.0 if low == high else BEYOND
    inner = forecast.inner or _between(forecast.p10, forecast.p50, forecast.p90)
    inside = [min(max(each, low), high) for each in inner]
    p10, p90 = min(forecast.p10, inside[0]), max(forecast.p90, inside[-1])
    return low / beyond, low, p10, *inside, p90, high, high * beyond


def _between(p10: float, p50: float, p90: float) -> Iterator[float]:
    """What is at `INNER` where only these three are known: straight lines of logarithms."""
    for level in INNER:
        near, far, part = (p10, p50, (level - 0.1) / 0.4) if level < 0.5 else (p50, p90, (level - 0.5) / 0.4)
        yield near * (far / near) ** part


class TimeLine:
    """Moments from now on (0 the first), in seconds, ever farther apart; the last stretch has no end."""

    def __init__(self, moments: Floats | None = None) -> None:
        self.moments: Floats = _usual_moments(COARSE) if moments is None else moments

    @classmethod
    def for_jobs(cls, jobs: int) -> Self:
        """As fine as a play of so many jobs can afford."""
        return cls(_usual_moments(min(COARSE, max(FINE, COARSE * jobs / LONG))))

    def __len__(self) -> int:
        return len(self.moments)

    def place(self, seconds: Floats, chance: Floats) -> Places:
        """The moment before or after, the nearer the likelier: on average no time is won or lost.

        `chance` (0 to 1) decides; both have the same shape.
        """
        before = np.clip(np.searchsorted(self.moments, seconds, side="right") - 1, 0, len(self) - 2)
        width = self.moments[before + 1] - self.moments[before]
        return np.asarray(before + (chance < (seconds - self.moments[before]) / width), np.int64)


def _usual_moments(growth: float) -> Floats:
    steps = int(np.ceil(np.log(1 + FAR_S * growth / FIRST_S) / np.log1p(growth)))
    minutes = FIRST_S * ((1 + growth) ** np.arange(steps + 1) - 1) / growth
    return np.asarray([minutes[0], *SOON_S, *minutes[1:]], np.float64)
