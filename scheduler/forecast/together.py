"""Jobs that run longer or shorter than forecast together, and how much so.

Who submits fifty jobs at once sees them all fail within a minute, or all run to their limit: the forecast of each may
be right, and that of when the last one ends is not while each is drawn as if the others said nothing of it. How
strongly such jobs go together is learned from runs that are over: of each it is known where in its forecast it ended,
and of two of a kind, one submitted while the other had not ended, whether they ended in like places.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np

from scheduler.forecast.draws import LEVELS, Places, marks
from scheduler.forecast.facts import MOST_S, Forecast
from scheduler.forecast.history import Floats

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
        """For those who draw."""
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
