"""The last word on a chance of being stopped: learned from what came, and heard only as far as it has been right.

1. **Learned.** A logistic regression on the figures of a running job (`stop_figures`), told of each hour once, when
   it is over: its weights are those that are likeliest by all that came, beside a beginning that repeats the drawn
   chance. Jobs of one hour are stopped for the same few that came, so each counts less than one. A larger drawn
   chance, all else equal, never becomes a smaller one.
2. **Mixed.** Three are asked: the share that was stopped before (the base rate), the drawn chance as it has come
   true, the learned one. Each counts by how far it was off in the hours since, none of which it had seen: e to the
   power of minus a quarter of its squares of errors. So what is told is, in all, worse than the best of the three by
   about ten squares and not more, whatever comes: it cannot be much worse than the base rate, and a learned chance
   that is no good is not heard.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.forecast.history import Floats
from scheduler.forecast.stop_figures import FIGURES

VERSION = 1
"""Of the figures and of what is kept: of another one nothing is read."""
BASE, CORRECTED, LEARNED = range(3)
EXPERTS = 3
SURE = 80.0
"""How firmly the weights stand where they begin: as if so much were known of each."""
COUNTS = 0.2
"""A job counts for so much of one: those of an hour are not independent."""
KEPT = 0.999
"""So much of how firm the weights are stays with each job that is stopped: times change."""
STEPS = 4
ETA = 0.25
FARTHEST = 12.0
"""So many squares an expert falls behind at most: it comes back when it is better for some days."""
BEHIND = (8.0, 0.0, 0.0)
"""At the beginning the base rate is not known yet."""
MOST_ODDS = 30.0


class StopLearner:
    """What is learned of a partition; it depends only on what it was told, in the order of telling."""

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        """`kept`: what an earlier one had learned (`state`); anything else is a beginning."""
        self._weights = np.zeros(FIGURES)
        self._weights[1] = 1.0
        self._known = SURE * np.eye(FIGURES)
        self._losses = np.array(BEHIND)
        self.jobs = 0
        if kept and kept.get("version") == VERSION:
            self._weights = np.array(kept["weights"], float)
            self._known = np.array(kept["known"], float)
            self._losses = np.array(kept["losses"], float)
            self.jobs = kept["jobs"]

    @property
    def state(self) -> dict[str, Any]:
        """What was learned, to be kept: numbers only."""
        return {
            "version": VERSION,
            "jobs": self.jobs,
            "weights": self._weights.tolist(),
            "known": self._known.tolist(),
            "losses": self._losses.tolist(),
        }

    @property
    def shares(self) -> Floats:
        """How much each of the three counts; sum 1."""
        powers = np.exp(-ETA * (self._losses - self._losses.min()))
        return np.asarray(powers / powers.sum())

    def experts(self, base: float, corrected: Sequence[float], figures: Floats) -> Floats:
        """(jobs, EXPERTS): what each of the three says."""
        return np.stack(
            [np.full(len(corrected), base), np.array(corrected, float), self.learned(figures)], axis=1
        )

    def learned(self, figures: Floats) -> Floats:
        """The learned chance of jobs with these figures."""
        return _chance(figures @ self._weights)

    def told(self, experts: Floats) -> Floats:
        """What people are told: all three, as much as each counts."""
        return np.asarray(np.clip(experts @ self.shares, 0, 1))

    def came(self, figures: Floats, experts: Floats, stopped: Sequence[bool]) -> None:
        """Hours are over of jobs of which this was known and said then."""
        if not len(stopped):
            return
        truth = np.array(stopped, float)
        self._losses += ((experts - truth[:, None]) ** 2).sum(axis=0)
        self._losses = np.minimum(self._losses - self._losses.min(), FARTHEST)
        self._learn(figures, truth)
        self.jobs += len(truth)

    def _learn(self, figures: Floats, truth: Floats) -> None:
        """Newton's steps to the likeliest weights; then what is known is what was, and these jobs."""
        before = self._weights
        weights = before.copy()
        for _ in range(STEPS):
            chance = _chance(figures @ weights)
            slope = COUNTS * figures.T @ (truth - chance) - self._known @ (weights - before)
            step = np.linalg.solve(self._known + _curve(figures, chance), slope)
            weights += step / max(1.0, float(np.abs(step).max()))
        known = self._known + _curve(figures, _chance(figures @ weights))
        weights[1] = max(weights[1], 0.0)
        weights[2] = max(weights[2], -weights[1])
        self._weights = weights
        kept = KEPT ** float(truth.sum())
        self._known = kept * known + (1 - kept) * SURE * np.eye(FIGURES)


def _curve(figures: Floats, chance: Floats) -> Floats:
    return np.asarray(COUNTS * (figures.T * (chance * (1 - chance))) @ figures)


def _chance(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -MOST_ODDS, MOST_ODDS))))
