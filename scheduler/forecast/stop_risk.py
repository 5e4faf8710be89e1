"""The chance that a running job is stopped within the next hour.

1. **Who comes**: as in hours that have passed. Each draw mixes a few of them, each whole but thinned, so that jobs that
   came together come together again; recent hours count more, those of the same time of day, and those before which
   about as many came as before now.
2. **One draw** plays the hour (`stop_hour`): who ends, who comes, who starts, and whom that costs his room; node by
   node, or where too many run or it is not known who runs where, in one pool.
3. **The chance** of a job is in how many draws it is stopped. What limits and all else of the policy do to it is
   corrected by what came of earlier chances (`StopCalibration`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import drawn
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_hour import Arrival, HourStart, RiskPicture, StopHour

HOURS_OF_DAY = 24
MOST_DRAWS, LEAST_DRAWS = 200, 25
JOBS_DRAWN, JOBS_DRAWN_ON_NODES = 250_000, 60_000
"""So many jobs are drawn in all, as far as the numbers of draws allow it: a few seconds of one core."""
MOST_ON_NODES = 2500
"""With more running jobs the hour is played in one pool."""
MIXED = 3
"""Of so many past hours a draw takes each job with the chance of one in so many."""
FADING = 0.6
"""An hour that is n hours ago counts n to the power of minus this."""
SAME_TIME = 4.0
"""An hour of about the same time of day counts so many times as much."""
BEFORE, ALIKE = (1, 3), 1.5
"""An hour before which, in the last one and the last three, n times as many or as few came as before now, counts less:
1 / n to the power of one divided by `ALIKE`, for both. Bursts go on, and quiet goes on."""
MOST_HOURS = 28 * HOURS_OF_DAY
PRIOR = 1000.0
"""A chance as it was drawn counts as much as so many jobs whose end is known."""
EDGES = (0.0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85)


@dataclass(frozen=True, slots=True)
class PastHours:
    """Who came in each hour up to now, the oldest first; hours in which nobody came count too."""

    hours: Sequence[Sequence[Arrival]] = ()

    @property
    def known(self) -> Sequence[Sequence[Arrival]]:
        return self.hours[-MOST_HOURS:]

    def weights(self) -> Floats:
        """How likely each of those is taken."""
        ages = np.arange(len(self.known), 0, -1)
        apart = np.minimum(ages % HOURS_OF_DAY, HOURS_OF_DAY - ages % HOURS_OF_DAY)
        weights = np.where(apart <= 1, SAME_TIME, 1.0) * ages**-FADING * np.exp(-self._unlike() / ALIKE)
        return np.asarray(weights / weights.sum())

    def _unlike(self) -> Floats:
        """How far the hours before each were from those before now: by how many came, as logarithms of ratios."""
        counts = np.array([len(hour) for hour in self.hours[-MOST_HOURS - max(BEFORE) :]], float)
        known, apart = len(self.known), np.zeros(len(self.known))
        for span in BEFORE:
            # Before the first hour it was as in the first.
            sums = np.concatenate(
                [np.zeros(1), np.cumsum(np.concatenate([np.repeat(counts[:1], span), counts]))]
            )
            means = (sums[span:] - sums[:-span]) / span
            levels = np.log1p(means[-known - 1 :]) if known else np.zeros(1)
            apart += np.abs(levels[:-1] - levels[-1])
        return apart

    def drawn(self, count: int, rng: np.random.Generator) -> list[list[Arrival]]:
        """Who comes in so many draws of the next hour, each by his moment."""
        if not self.hours:
            return [[] for _ in range(count)]
        chosen = rng.choice(len(self.known), (count, MIXED), p=self.weights())
        return [self._mixed([self.known[hour] for hour in hours], rng) for hours in chosen]

    @staticmethod
    def _mixed(hours: Sequence[Sequence[Arrival]], rng: np.random.Generator) -> list[Arrival]:
        found = [each for hour in hours for each, chance in zip(hour, rng.random(len(hour)), strict=True)
                 if chance * MIXED < 1]  # fmt: skip
        return sorted(found, key=lambda each: each.at_s)


def draws_for(picture: RiskPicture) -> int:
    """So many draws are played where nobody says how many."""
    jobs = JOBS_DRAWN_ON_NODES if _on_nodes(picture) else JOBS_DRAWN
    return max(LEAST_DRAWS, min(MOST_DRAWS, jobs // max(1, len(picture.running))))


def _on_nodes(picture: RiskPicture) -> bool:
    return bool(picture.nodes) and len(picture.running) <= MOST_ON_NODES


def stop_chances(picture: RiskPicture, past: PastHours, *, draws: int | None = None, seed: int = 0) -> Floats:
    """The chance of each running job, in their order. The same input and seed give the same answer."""
    count = len(picture.running)
    if not count:
        return np.zeros(0)
    draws = draws or draws_for(picture)
    rng = np.random.default_rng(seed)
    lefts = _whole(drawn([job.left for job in picture.running], draws, rng)).T.tolist()
    lasts = _whole(drawn([job.lasts for job in picture.waiting], draws, rng)).T.tolist()
    stopped, play = np.zeros(count), hour_of(picture)
    for left, last, coming in zip(lefts, lasts, past.drawn(draws, rng), strict=True):
        stopped[list(play(left, last, coming).stopped())] += 1
    return np.asarray(stopped / draws)


def hour_of(picture: RiskPicture) -> Callable[[list[int], list[int], Sequence[Arrival]], StopHour]:
    """Makes the hour of a draw: of how long each running job still runs, each waiting one will, and who comes. On the
    nodes where it is known who runs on which, and where that does not take too long; else in one pool."""
    return partial(StopHour, HourStart(picture if _on_nodes(picture) else replace(picture, nodes=())))


def _whole(seconds: Floats) -> NDArray[np.int64]:
    return np.asarray(np.maximum(seconds, 1), np.int64)


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
