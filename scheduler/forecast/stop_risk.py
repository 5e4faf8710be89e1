"""The chance that a running job is stopped within the next hour: who may come, who finds no room, whom that costs.

1. **Arrivals.** Jobs of each rank come as often as they came before at that hour of the week, pulled towards their
   overall rate as far as little is known; each is as large as one of those that came.
2. **One draw** of the hour: when everybody who runs would end by himself, and who comes when. Who comes takes what is
   free and not due to those who wait before him; else the first jobs in the order of stopping that he outranks, if they
   suffice; else he waits.
3. **The chance** of a job is in how many draws it is taken.

Nodes are not looked at: the partition is one pool of its main resource. What that and all limits of the policy do is
corrected by what came of earlier chances (`StopCalibration`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import drawn
from scheduler.forecast.facts import Forecast
from scheduler.forecast.history import Floats

Bools = NDArray[np.bool_]

HORIZON_S = 3600
HOURS_OF_WEEK = 168
DRAWS = 100
PULL_H = 2.0
"""The overall rate counts as much as so many hours of the same hour of the week."""
MOST_SIZES = 500
PRIOR = 20.0
"""A chance as it was drawn counts as much as so many jobs whose end is known."""
EDGES = (0.0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85)


@dataclass(frozen=True, slots=True)
class Standing:
    """A running job: its rank (a number that `outranks` knows), its units of the main resource, what is left of it."""

    rank: int
    units: int
    left: Forecast


@dataclass
class ArrivalRates:
    """How often jobs of each rank came, by hour of the week, and how large they were."""

    hours: float = 0.0
    seen: Counter[int] = field(default_factory=Counter)
    """Hours that were watched, by hour of the week."""
    came: Counter[tuple[int, int]] = field(default_factory=Counter)
    total: Counter[int] = field(default_factory=Counter)
    sizes: dict[int, list[int]] = field(default_factory=dict)

    def watched(self, hour: int, arrivals: Iterable[tuple[int, int]]) -> None:
        """Tell one hour (its number in the week) with all who came in it: their ranks and units."""
        self.hours += 1
        self.seen[hour] += 1
        for rank, units in arrivals:
            self.came[rank, hour] += 1
            self.total[rank] += 1
            sizes = self.sizes.setdefault(rank, [])
            sizes.append(units)
            del sizes[:-MOST_SIZES]

    def expected(self, rank: int, hour: int) -> float:
        """How many of a rank come in that hour."""
        if not self.hours:
            return 0.0
        overall = self.total[rank] / self.hours
        return (self.came[rank, hour] + PULL_H * overall) / (self.seen[hour] + PULL_H)


@dataclass(frozen=True, slots=True)
class RiskPicture:
    """What is known now. `running`: in the order in which jobs are stopped, the first to go first. `free`: units of the
    main resource. `ahead`: by rank, what is due to those who wait before a job of that rank that comes now.
    `outranks`: by rank, the ranks that it may have stopped."""

    running: Sequence[Standing]
    free: int
    ahead: Mapping[int, int]
    outranks: Mapping[int, frozenset[int]]


def stop_chances(
    picture: RiskPicture, rates: ArrivalRates, hour: int, *, draws: int = DRAWS, seed: int = 0
) -> Floats:
    """The chance of each running job, in their order. The same input and seed give the same answer."""
    count = len(picture.running)
    if not count:
        return np.zeros(0)
    rng = np.random.default_rng(seed)
    lefts = drawn([job.left for job in picture.running], draws, rng)
    units = np.array([job.units for job in picture.running])
    ranks = np.array([job.rank for job in picture.running])
    below = {rank: np.isin(ranks, list(lower)) for rank, lower in picture.outranks.items()}
    taken = np.zeros(count)
    for draw in range(draws):
        taken += _played(picture, _arrivals(rates, picture.outranks, hour, rng), units, lefts[:, draw], below)
    return np.asarray(taken / draws)


def _arrivals(
    rates: ArrivalRates, ranks: Iterable[int], hour: int, rng: np.random.Generator
) -> list[tuple[float, int, int]]:
    found: list[tuple[float, int, int]] = []
    for rank in sorted(ranks):
        many = int(rng.poisson(rates.expected(rank, hour)))
        if many and rates.sizes.get(rank):
            moments, sizes = rng.random(many) * HORIZON_S, rng.choice(rates.sizes[rank], many)
            found += [(float(at), rank, int(size)) for at, size in zip(moments, sizes, strict=True)]
    return sorted(found)


def _played(
    picture: RiskPicture,
    arrivals: Iterable[tuple[float, int, int]],
    units: Floats,
    left: Floats,
    below: Mapping[int, Bools],
) -> Bools:
    """Who is taken in one draw."""
    taken = np.zeros(len(units), np.bool_)
    used = 0
    waiting: Counter[int] = Counter()
    for moment, rank, wants in arrivals:
        if not wants:
            continue  # It asks for nothing that is counted in.
        gone = (left < moment) & ~taken
        before = picture.ahead.get(rank, 0) + sum(
            n for other, n in waiting.items() if rank not in picture.outranks[other]
        )
        room = picture.free + int(units[gone | taken].sum()) - used - before
        if room >= wants:
            used += wants
            continue
        sums = np.cumsum(np.where(below[rank] & ~gone & ~taken, units, 0))
        missing = wants - max(room, 0)
        if len(sums) and sums[-1] >= missing:
            last = int(np.searchsorted(sums, missing))
            taken[: last + 1] |= (below[rank] & ~gone)[: last + 1]
            used += wants
        else:
            waiting[rank] += wants
    return taken


class StopCalibration:
    """Chances, corrected by how often jobs of about the same chance were stopped."""

    def __init__(self, bins: Sequence[Sequence[int]] = ()) -> None:
        """`bins`: what an earlier one had learned."""
        self._jobs = [jobs for jobs, _ in bins] if len(bins) == len(EDGES) else [0] * len(EDGES)
        self._stopped = [stopped for _, stopped in bins] if len(bins) == len(EDGES) else [0] * len(EDGES)

    @property
    def bins(self) -> list[list[int]]:
        """What was learned: of each class, how many jobs, and how many of them were stopped."""
        return [list(pair) for pair in zip(self._jobs, self._stopped, strict=True)]

    def came(self, chance: float, *, stopped: bool) -> None:
        """An hour is over for a job of which this was drawn."""
        bin_ = self._bin(chance)
        self._jobs[bin_] += 1
        self._stopped[bin_] += stopped

    def corrected(self, chance: float) -> float:
        """The chance as it has come true."""
        bin_ = self._bin(chance)
        return (self._stopped[bin_] + PRIOR * chance) / (self._jobs[bin_] + PRIOR)

    def _bin(self, chance: float) -> int:
        return sum(chance >= edge for edge in EDGES[1:])
