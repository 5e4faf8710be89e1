"""How far chances of being stopped were off, told in several ways, over weeks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.forecast.history import Floats
from scheduler.forecast.stop_risk import EDGES

DAY_H, WEEK_H = 24, 168
WAYS = ("base rate", "drawn", "told")


@dataclass
class Score:
    """All chances of the hours that count, by way, and what came."""

    jobs: int = 0
    stopped: int = 0
    rows: list[Floats] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def tell(
        self, hour: int, chances: Mapping[str, Floats], outcomes: Sequence[bool], *, counts: bool
    ) -> None:
        """One hour: what was said before it, and what came."""
        if counts and len(outcomes):
            base = np.full(len(outcomes), self.stopped / self.jobs if self.jobs else 0.0)
            said = [base if way == "base rate" else chances[way] for way in WAYS]
            hours = np.full(len(outcomes), hour)
            self.rows.append(np.stack([hours, *said, np.array(outcomes, float)], axis=1))
        self.jobs += len(outcomes)
        self.stopped += sum(outcomes)

    def figures(self) -> dict[str, object]:
        """All of it."""
        rows = np.concatenate(self.rows)
        told, came = rows[:, 1 + WAYS.index("told")], rows[:, -1]
        bins = np.digitize(told, EDGES[1:])
        weeks = (rows[:, 0] - rows[0, 0]) // WEEK_H
        return {
            **_briers(rows),
            "longest_s": round(max(self.took), 2),
            **_parts(told, came, bins),
            "weeks": [_briers(rows[weeks == week]) for week in np.unique(weeks)],
            "reliability": [{"from": EDGES[b], "jobs": int((bins == b).sum()),
                             "said": round(float(told[bins == b].mean()), 4),
                             "came": round(float(came[bins == b].mean()), 4)} for b in np.unique(bins)],
        }  # fmt: skip


def _briers(rows: Floats) -> dict[str, object]:
    """The Brier score of each way, and by what share it is below that of the base rate."""
    came = rows[:, -1]
    brier = {way: float(np.mean((rows[:, 1 + place] - came) ** 2)) for place, way in enumerate(WAYS)}
    base = brier["base rate"]
    return {
        "job_hours": len(came),
        "stopped": int(came.sum()),
        "brier": {way: round(value, 5) for way, value in brier.items()},
        "below_base_rate": {way: round(1 - value / base, 3) for way, value in brier.items()}
        if base
        else None,
    }


def _parts(said: Floats, came: Floats, bins: np.ndarray) -> dict[str, float]:
    """The score's parts by classes of chances, as in Murphy 1973: score = reliability - resolution + uncertainty."""
    mean = float(came.mean())
    reliability = resolution = 0.0
    for number in np.unique(bins):
        here = bins == number
        share = float(here.mean())
        reliability += share * (float(said[here].mean()) - float(came[here].mean())) ** 2
        resolution += share * (float(came[here].mean()) - mean) ** 2
    return {
        "reliability_part": round(reliability, 6),
        "resolution_part": round(resolution, 6),
        "uncertainty_part": round(mean * (1 - mean), 6),
    }
