"""What follows how well forecasts lately did: the ends of intervals, and the share of the learned weights.

Ends: each is a quantile of the job's distribution; whenever a job ends, the level of the quantile moves
against the error (adaptive conformal inference), so that in the long run the promised share lies beyond it, whatever
the distribution is worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scheduler.forecast.history import Floats

AIMS = np.array([0.05, 0.1, 0.9, 0.95])
"""The shares of jobs that are to end before `low`, `p10`, `p90` and `high`."""
PACE = 0.002
SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""How much of a mixture the weights of `features.PRIOR` make; the learned ones make the rest."""
MEMORY = 300
"""Jobs: what ended so many jobs ago counts 1 / e."""


@dataclass(slots=True)
class Levels:
    """The quantiles that now serve as ends of the intervals."""

    values: Floats = field(default_factory=AIMS.copy)

    def ended(self, ends: Floats, truth: float) -> None:
        """A job whose intervals had these ends ran so long (all log seconds)."""
        lower = truth < ends
        upper = truth <= ends
        before = np.where(AIMS < 0.5, lower, upper)
        self.values = self.values + PACE * (AIMS - before)
        self.values[:2] = np.clip(self.values[:2], 1e-4, 0.4)
        self.values[2:] = np.clip(self.values[2:], 0.6, 1 - 1e-4)


@dataclass(slots=True)
class Success:
    """The recent figure of each of `SHARES`."""

    gained: Floats = field(default_factory=lambda: np.zeros(len(SHARES)))

    def best(self) -> int:
        """The index of the share that did best; the middle one before anything has ended."""
        if not self.gained.any():
            return len(SHARES) // 2
        return int(self.gained.argmax())

    def ended(self, points: Floats, truth: float) -> None:
        """A job for which the shares forecast these points ran so long (all log seconds)."""
        self.gained = self.gained * np.exp(-1 / MEMORY) + np.exp(-np.abs(points - truth))


def read_floats(document: Mapping[str, object], key: str, size: int) -> Floats:
    """Finite numbers of a JSON document. Raises `ValueError`."""
    values = document.get(key)
    if not isinstance(values, list) or len(values) != size:
        raise ValueError(f"{key} must be a list of {size} numbers")
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        raise ValueError(f"{key} must hold numbers only")
    result = np.array(values, float)
    if not np.isfinite(result).all():
        raise ValueError(f"{key} must hold finite numbers")
    return result
