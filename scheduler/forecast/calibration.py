"""What follows how well forecasts lately did: the ends of intervals, and the share of the learned weights.

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

AIMS = np.array([0.05, 0.1, 0.9, 0.95])
"""The shares of jobs that are to end before `low`, `p10`, `p90` and `high`."""
PACE = 0.002
SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
"""How much of a mixture the weights of `features.PRIOR` make; the learned ones make the rest."""
MEMORY = 300
"""Jobs: what ended so many jobs ago counts 1 / e."""
OWN_MEMORY = 80
"""The same of the jobs of one owner."""
BEFORE_OWN = 30
"""What is known of everybody counts as so many jobs of the owner."""


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
    """The recent figure of each of `SHARES`, of all jobs and of those of each owner.

    Whose jobs follow a habit that the weights have not learned is forecast by what did well for these jobs, and a user
    with very many of them decides for the others only while they have no past.
    """

    gained: Floats = field(default_factory=lambda: np.zeros(len(SHARES)))
    jobs: float = 0.0
    owners: dict[Owner, Floats] = field(default_factory=dict)

    def best(self, owner: Owner) -> int:
        """The index of the share that did best; the middle one before anything has ended."""
        if not self.jobs:
            return len(SHARES) // 2
        own = self.owners.get(owner, 0.0)
        return int((own + BEFORE_OWN * self.gained / self.jobs).argmax())

    def ended(self, owner: Owner, points: Floats, truth: float) -> None:
        """A job for which the shares forecast these points ran so long (all log seconds)."""
        figures = np.exp(-np.abs(points - truth))
        self.gained = self.gained * np.exp(-1 / MEMORY) + figures
        self.jobs = self.jobs * float(np.exp(-1 / MEMORY)) + 1
        self.owners[owner] = self.owners.get(owner, 0.0) * np.exp(-1 / OWN_MEMORY) + figures

    def document(self) -> dict[str, object]:
        """What `read` reads."""
        owners = [[*owner, gained.tolist()] for owner, gained in self.owners.items()]
        return {"success": [*self.gained.tolist(), self.jobs], "owners": owners}

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Self:
        """Of a JSON document. Raises `ValueError`."""
        values, rows = document.get("success"), document.get("owners", [])
        if isinstance(values, list) and len(values) == len(SHARES):
            # Of before owners were looked at: the jobs were not counted.
            values = [*values, MEMORY if any(values) else 0]
        *gained, jobs = read_floats({"success": values}, "success", len(SHARES) + 1)
        owners: dict[Owner, Floats] = {}
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, list) or len(row) != 3 or not all(isinstance(key, str) for key in row[:2]):
                raise ValueError("an owner must be two texts and numbers")
            owners[row[0], row[1]] = read_floats({"owners": row[2]}, "owners", len(SHARES))
        return cls(np.array(gained), float(jobs), owners)


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
