"""Run times drawn from forecasts, and the line of time on which draws are played."""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from statistics import NormalDist
from typing import NamedTuple, Self

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


# --- Jobs that run longer or shorter than forecast together, and how much so.
#
# Who submits fifty jobs at once sees them all fail within a minute, or all run to their limit: the forecast of each may
# be right, and that of when the last one ends is not while each is drawn as if the others said nothing of it. How
# strongly such jobs go together is learned from runs that are over: of each it is known where in its forecast it ended,
# and of two of a kind, one submitted while the other had not ended, whether they ended in like places.


USUAL = 0.45
"""The correlation where nothing has been seen: about the middle of what earlier parts of four traces showed (.29 to
.68)."""
BEFORE_ALL, BEFORE_OWN = 50.0, 20.0
"""What is usual counts as so many pairs of jobs; what is known of all kinds as so many pairs of one kind."""
MOST = 0.95
MOST_SEEN = 2000
"""Of so many runs, the last ones, it is learned."""
AT_LIMIT = 0.99
"""Who ran for so much of its limit was ended by it."""
EDGE = 0.02
"""No place is nearer to an end of the distribution: how far beyond its forecast a job ran must not decide alone."""
_NORMAL = NormalDist()


class Bond(NamedTuple):
    """`kind`: the same of jobs that go together; `strength`: how much so, from 0 to 1."""

    kind: Hashable
    strength: float


@dataclass(frozen=True, slots=True)
class PlacedRun:
    """A run that is over. `place`: where in its forecast it ended, as a normal score (`place_of`); times in seconds."""

    kind: Hashable
    submit: float
    end: float
    place: float


def place_of(forecast: Forecast, run_s: float, limit_s: float | None) -> float:
    """Where in the distribution that was forecast a run ended: 0 in its middle, above it later, in standard deviations.

    Who ran into its limit is somewhere beyond, and counts as in the middle of that.
    """
    most = MOST_S if limit_s is None else max(1.0, limit_s)
    ran = most if run_s >= AT_LIMIT * most else max(1.0, run_s)
    known = np.log(np.clip(marks(forecast), 1.0, most))
    around = np.log(ran) + np.array([-1e-6, 1e-6])
    chance = float(np.interp(around, known, LEVELS).mean())
    return _NORMAL.inv_cdf(min(1 - EDGE, max(EDGE, chance)))


@dataclass(slots=True)
class _Pairs:
    products: float = 0.0
    squares: float = 0.0

    def add(self, one: float, other: float) -> None:
        self.products += one * other
        self.squares += (one * one + other * other) / 2

    def strength(self, usual: float, before: float) -> float:
        return min(MOST, max(0.0, (usual * before + self.products) / (before + self.squares)))


@dataclass(frozen=True, slots=True)
class Together:
    """How strongly jobs go together: of each kind that has been seen, and of the others."""

    usual: float = USUAL
    kinds: dict[Hashable, float] = field(default_factory=dict)

    @classmethod
    def learned(cls, runs: Iterable[PlacedRun]) -> Self:
        """From runs that are over, in any order. What comes of one kind, however much, says little of the others."""
        last: dict[Hashable, PlacedRun] = {}
        found: dict[Hashable, _Pairs] = {}
        for run in sorted(runs, key=attrgetter("submit", "end", "place")):
            before = last.get(run.kind)
            if before is not None and before.end > run.submit:
                found.setdefault(run.kind, _Pairs()).add(before.place, run.place)
            last[run.kind] = run
        every = _Pairs()
        for pairs in found.values():
            part = min(1.0, BEFORE_OWN / pairs.squares) if pairs.squares else 0.0
            every.products += part * pairs.products
            every.squares += part * pairs.squares
        usual = every.strength(USUAL, BEFORE_ALL)
        return cls(usual, {kind: pairs.strength(usual, BEFORE_OWN) for kind, pairs in found.items()})

    def of(self, kind: Hashable) -> Bond:
        return Bond(kind, self.kinds.get(kind, self.usual))


class Strata:
    """Which part of its distribution a job takes in each draw: over all draws it takes every part once.

    In as many draws as their bond is strong all jobs of a kind take like parts, as a burst that fails or runs long as a
    whole; in the others each goes its own way. So of weak bonds the likeliest start stays what it is without them.
    """

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self.count, self._rng = count, rng
        self._rows: dict[Hashable, int] = {}
        self._common: Floats = np.zeros((0, count))
        self._turns: Floats = np.zeros((0, count))

    def of(self, jobs: Sequence[Bond | None]) -> Places:
        """(jobs, count). None: nobody is like it."""
        rows = [0 if job is None else self._rows.setdefault(job.kind, len(self._rows)) for job in jobs]
        new = max(0, max(1, len(self._rows)) - len(self._common))
        self._common = np.concatenate([self._common, self._rng.normal(size=(new, self.count))])
        turns = self._rng.permuted(np.tile((np.arange(self.count) + 0.5) / self.count, (new, 1)), axis=1)
        self._turns = np.concatenate([self._turns, turns])
        strengths = np.array([0.0 if job is None else job.strength for job in jobs])[:, None]
        own = self._rng.normal(size=(len(jobs), self.count))
        scores = np.where(self._turns[rows] < strengths, self._common[rows], own)
        return np.asarray(scores.argsort(axis=1).argsort(axis=1), np.int64)


# --- Who may come while others wait: as on a past day, from the same time of day on.
#
# A draw takes a day of the past and has the jobs of the 24 hours that followed come again, each as long after now as it
# came after that moment; then another day for the 24 hours after that. So jobs that came together come together, quiet
# nights stay quiet, and no two draws need be alike. Days of late count more, and the same day of the week.


DAY_S = 86_400
DAYS_AHEAD = 2
MOST_DAYS = 28
FADING = 0.6
"""A day that is n days ago counts n to the power of minus this."""
SAME_DAY = 2.0
"""A day of the same day of the week counts so many times as much."""
MOST_COMING = 300
"""Of each draw the first so many: others come too late to matter much, and cost time."""


@dataclass(frozen=True, slots=True)
class PastJobs:
    """Jobs that came before now. `ago_s`: how long ago each did, the oldest first."""

    ago_s: Sequence[float] = ()

    def drawn(self, rng: np.random.Generator) -> list[tuple[float, int]]:
        """Who comes in a draw: in how many seconds, and which of them (its number), by the moment."""
        days = min(MOST_DAYS, int(self.ago_s[0] // DAY_S)) if len(self.ago_s) else 0
        if not days:
            return []
        found: list[tuple[float, int]] = []
        for ahead, day in enumerate(rng.choice(days, DAYS_AHEAD, p=_weights(days)) + 1):
            since = float(day) * DAY_S
            first = bisect_left(self.ago_s, -since, key=lambda ago: -ago)
            last = bisect_right(self.ago_s, DAY_S - since, key=lambda ago: -ago)
            found += [(ahead * DAY_S + since - self.ago_s[job], job) for job in range(first, last)]
        return found[:MOST_COMING]


def _weights(days: int) -> Floats:
    ages = np.arange(1, days + 1)
    weights = np.where(ages % 7 == 0, SAME_DAY, 1.0) * ages**-FADING
    return np.asarray(weights / weights.sum())
