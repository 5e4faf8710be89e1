"""Which jobs run longer or shorter than forecast together, as the forecasts of those that are over show."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from console.cluster.models import Cluster
from console.forecasts.models import JobForecast
from scheduler.forecast.draws import MOST_SEEN, Bond, PlacedRun, Together, place_of
from scheduler.forecast.facts import Forecast

KIND = ("user", "limit_s", "nodes", "cpus", "gpus")
"""Of one user, with the same limit and request."""
TOLD = ("p10", "p50", "p90", "low", "high", "inner")


@dataclass(frozen=True, slots=True)
class CorrelatedJobs:
    """By job that runs or waits, its kind; and what is known of kinds."""

    kinds: Mapping[str, Hashable] = field(default_factory=dict)
    together: Together = field(default_factory=Together)

    def of(self, job_id: str) -> Bond | None:
        """With whom a job goes together; None where nothing was forecast of it."""
        kind = self.kinds.get(job_id)
        return None if kind is None else self.together.of(kind)


def read_correlated_jobs(cluster: Cluster) -> CorrelatedJobs:
    """Of a cluster's jobs, now. Two queries."""
    rows = JobForecast.objects.filter(cluster=cluster)
    live = rows.filter(ended_at=None).order_by("submit").values_list("job_id", *KIND)
    kinds: dict[str, Hashable] = {job_id: tuple(kind) for job_id, *kind in live}
    over = rows.filter(ran_s__isnull=False, ended_at__isnull=False).order_by("-ended_at", "-pk")
    told = over.values_list("submit", "ended_at", "ran_s", "limit_s", *TOLD, *KIND)[:MOST_SEEN]
    return CorrelatedJobs(kinds, Together.learned(_Over(row[10:], *row[:10]).seen for row in told))


class _Over(NamedTuple):
    """What is read of a run that is over; there are thousands."""

    kind: Hashable
    submit: int
    ended_at: datetime
    ran_s: int
    limit_s: int | None
    p10: float
    p50: float
    p90: float
    low: float
    high: float
    inner: Sequence[float]

    @property
    def seen(self) -> PlacedRun:
        said = Forecast(self.p10, self.p50, self.p90, self.low, self.high, tuple(self.inner))
        place = place_of(said, self.ran_s, self.limit_s)
        return PlacedRun(self.kind, self.submit, self.ended_at.timestamp(), place)
