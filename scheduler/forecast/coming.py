"""Who may come while others wait: as on a past day, from the same time of day on.

A draw takes a day of the past and has the jobs of the 24 hours that followed come again, each as long after now as it
came after that moment; then another day for the 24 hours after that. So jobs that came together come together, quiet
nights stay quiet, and no two draws need be alike. Days of late count more, and the same day of the week.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.forecast.history import Floats

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
