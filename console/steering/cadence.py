"""How the cycles of the last hour came, and what slurmctld was asked: for pages, metrics, the doctor."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings

from console.cluster.models import Cluster
from console.core import clock
from console.steering.models import CyclePace, SteeringMinute

START = "start"
"""Stands among what ran instead of a cycle, where the worker was started anew."""


def allowed_budget(per_minute: float) -> int:
    """Requests a minute: what is set, and no more than slurmctld allows."""
    most = int(settings.GIVEWAY_SLURM_REQUESTS_PER_MINUTE)
    return max(1, min(most, int(per_minute)) if per_minute else most)


@dataclass(frozen=True, slots=True)
class Cadence:
    """The last hour's cycles and requests. Seconds; `p50_s` and `p99_s` are the edges that so many gaps stayed below.

    `late_s`: how much the latest cycle was beyond three times of what was wanted; `instead`: what ran meanwhile.
    `requests`: of the last whole minute, by kind; `share`: of slurmctld's time over the last ten minutes.
    """

    cycles: int = 0
    p50_s: float = 0.0
    p99_s: float = 0.0
    longest_s: float = 0.0
    late_s: float = 0.0
    instead: tuple[tuple[str, float], ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    share: float = 0.0
    limited: int = 0
    stretched: int = 0
    budget: int = 0
    pace: CyclePace | None = None

    @property
    def restarted(self) -> bool:
        """Whether the latest cycle was late because the worker was started anew."""
        return any(name == START for name, _ in self.instead)

    @property
    def share_percent(self) -> float:
        """The same for people."""
        return 100.0 * self.share

    @property
    def rings(self) -> bool:
        """Whether submissions ring: the last one that was seen did."""
        return self.pace is not None and self.pace.rings

    @property
    def asked(self) -> int:
        """Requests in the last whole minute."""
        return sum(self.requests.values())


def read_cadence(cluster: Cluster) -> Cadence:
    """How the cycles of a cluster came within the last hour."""
    return read_cadences([cluster])[cluster.pk]


def read_cadences(clusters: Iterable[Cluster]) -> dict[int, Cadence]:
    """The same of several, by their keys. Two queries."""
    now = int(clock.now().timestamp() // 60)
    rows: dict[int, list[SteeringMinute]] = {cluster.pk: [] for cluster in clusters}
    for row in SteeringMinute.objects.filter(cluster__in=rows, minute__gt=now - 60, minute__lte=now):
        rows[row.cluster_id].append(row)
    paces = {pace.cluster_id: pace for pace in CyclePace.objects.filter(cluster__in=rows)}
    return {pk: _cadence(found, paces.get(pk), now) for pk, found in rows.items()}


def _cadence(rows: Sequence[SteeringMinute], pace: CyclePace | None, now: int) -> Cadence:
    gaps: Counter[float] = Counter()
    for row in rows:
        gaps.update({float(edge): number for edge, number in row.gaps.items()})
    requests: Counter[str] = Counter()
    for row in rows:
        if row.minute == now - 1:
            requests.update(row.requests)
    latest = max(rows, key=lambda row: row.late_s, default=None)
    recent = [row for row in rows if now - 10 <= row.minute < now]
    return Cadence(
        cycles=sum(gaps.values()),
        p50_s=_quantile(gaps, 0.5),
        p99_s=_quantile(gaps, 0.99),
        longest_s=max((row.longest_s for row in rows), default=0.0),
        late_s=latest.late_s if latest else 0.0,
        instead=tuple((str(name), float(s)) for name, s in latest.instead) if latest else (),
        requests=dict(requests),
        share=sum(row.answer_s for row in recent) / 600.0,
        limited=sum(row.limited for row in recent),
        stretched=sum(row.stretched for row in recent),
        budget=pace.budget if pace and pace.budget else allowed_budget(0.0),
        pace=pace,
    )


def _quantile(gaps: Mapping[float, int], part: float) -> float:
    left = part * sum(gaps.values())
    for edge in sorted(gaps):
        left -= gaps[edge]
        if left <= 0:
            return edge
    return 0.0


def forget_old_minutes(older_than: timedelta) -> None:
    """Delete what is told of minutes so long ago."""
    SteeringMinute.objects.filter(minute__lt=int((clock.now() - older_than).timestamp() // 60)).delete()
