"""What follows how well forecasts lately did: the ends of intervals, and the mixture that serves.

Ends: each is a quantile of the job's distribution; whenever a job ends, the level of the quantile moves
against the error (adaptive conformal inference), so that in the long run the promised share lies beyond it, whatever
the distribution is worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from scheduler.forecast.facts import Owner
from scheduler.forecast.history import Floats
from scheduler.forecast.mixture import MIXTURES

AIMS = np.array([0.05, 0.1, 0.9, 0.95])
"""The shares of jobs that are to end before `low`, `p10`, `p90` and `high`."""
PACE = 0.002
SAME = 1e-9
"""Logarithms that are so near each other are of the same number of seconds."""
MEMORY = 1_000
"""Jobs: what ended so many jobs ago counts 1 / e."""
OWN_MEMORY = 80
"""The same of the jobs of one owner."""
BEFORE_OWN = 30
"""What is known of everybody counts as so many jobs of the owner."""
CAUTION = 1.5
"""Another mixture serves only where it is better by so many standard errors: choosing by chance costs more."""


@dataclass(slots=True)
class Levels:
    """The quantiles that now serve as ends of the intervals."""

    values: Floats = field(default_factory=AIMS.copy)

    def ended(self, ends: Floats, truth: float, weight: float = 1.0) -> None:
        """A job whose intervals had these ends ran so long (all log seconds). `weight`: of one job."""
        lower = truth < ends - SAME
        upper = truth <= ends + SAME
        before = np.where(AIMS < 0.5, lower, upper)
        self.values = self.values + PACE * weight * (AIMS - before)
        self.values[:2] = np.clip(self.values[:2], 1e-4, 0.4)
        self.values[2:] = np.clip(self.values[2:], 0.6, 1 - 1e-4)


@dataclass(slots=True)
class Tally:
    """By how much each mixture has lately been better than the first: sums, sums of squares, and of how many jobs."""

    sums: Floats = field(default_factory=lambda: np.zeros(len(MIXTURES)))
    squares: Floats = field(default_factory=lambda: np.zeros(len(MIXTURES)))
    jobs: float = 0.0

    def add(self, better: Floats, memory: float) -> None:
        """One more job; what is there fades."""
        fades = float(np.exp(-1 / memory))
        self.sums = self.sums * fades + better
        self.squares = self.squares * fades + better**2
        self.jobs = self.jobs * fades + 1

    def document(self) -> list[float]:
        """What `read` reads."""
        return [*self.sums.tolist(), *self.squares.tolist(), self.jobs]

    @classmethod
    def read(cls, document: Mapping[str, object], key: str) -> Self:
        """Of a JSON document. Raises `ValueError`."""
        values = read_floats(document, key, 2 * len(MIXTURES) + 1)
        if (values[len(MIXTURES) :] < 0).any():
            raise ValueError(f"squares and jobs in {key} must not be negative")
        return cls(values[: len(MIXTURES)], values[len(MIXTURES) : -1], float(values[-1]))


@dataclass(slots=True)
class Success:
    """How well each of `MIXTURES` lately forecast, for all jobs and for those of each owner.

    Whose jobs follow a habit that the weights have not learned is forecast by what did well for these jobs, and a user
    with very many of them decides for the others only while they have no past.
    """

    everybody: Tally = field(default_factory=Tally)
    owners: dict[Owner, Tally] = field(default_factory=dict)

    def best(self, owner: Owner) -> int:
        """The index of the mixture that serves: the first one, unless another is surely better."""
        if not self.everybody.jobs:
            return 0
        own = self.owners.get(owner) or Tally()
        shared, jobs = BEFORE_OWN / self.everybody.jobs, own.jobs + BEFORE_OWN
        mean = (own.sums + shared * self.everybody.sums) / jobs
        square = (own.squares + shared * self.everybody.squares) / jobs
        return int((mean - CAUTION * np.sqrt(square / jobs)).argmax())

    def ended(self, owner: Owner, points: Floats, truth: float) -> None:
        """A job for which the mixtures forecast these points ran so long (all log seconds)."""
        figures = np.exp(-np.abs(points - truth))
        better = figures - figures[0]
        self.everybody.add(better, MEMORY)
        self.owners.setdefault(owner, Tally()).add(better, OWN_MEMORY)

    def document(self) -> dict[str, object]:
        """What `read` reads."""
        owners = [[*owner, tally.document()] for owner, tally in self.owners.items()]
        return {"success": self.everybody.document(), "owners": owners}

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Self:
        """Of a JSON document. Raises `ValueError`."""
        owners: dict[Owner, Tally] = {}
        rows = document.get("owners", [])
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, list) or len(row) != 3 or not all(isinstance(key, str) for key in row[:2]):
                raise ValueError("an owner must be two texts and numbers")
            owners[row[0], row[1]] = Tally.read({"owners": row[2]}, "owners")
        return cls(Tally.read(document, "success"), owners)


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
