"""What the probes need to know: whether the database is as the code wants it, and how the worker's cycles end."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from console.cluster.models import Cluster
from console.core import clock
from console.steering.failures import read, what_holds
from console.steering.metrics import read_cadence
from console.steering.models import CycleMeter

LATE_CYCLES = 3
LEAST_LATE_S = 10.0
"""So many cycles may be missing before the worker counts as late, but never less time than this: one look at a busy
slurmctld takes a few seconds."""
AHEAD_S = 60.0
"""A cycle that ended so much later than now was before the clock was put back: nothing is known of one since."""

_known_complete = False


def missing_migrations() -> list[str]:
    """Migrations of the code that the database lacks, `app.name`. Once none was missing, it is not asked again."""
    global _known_complete  # noqa: PLW0603 - for the life of the process: applied migrations stay applied
    if _known_complete:
        return []
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    missing = [f"{migration.app_label}.{migration.name}" for migration, _ in plan]
    _known_complete = not missing
    return missing


def forget_migrations() -> None:
    """Ask the database again at the next time."""
    global _known_complete  # noqa: PLW0603 - as above
    _known_complete = False


class Health(StrEnum):
    """How the worker's cycles are."""

    OK = "ok"
    LATE = "late"
    """There was none for too long."""
    FAILED = "failed"
    """The last one raised an exception; nobody is stopped until one has ended well."""
    DEGRADED = "degraded"
    """None could observe the whole cluster for too long."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """How long ago the last cycle of the attached cluster ended, the cluster was seen, and a cycle did all its work.

    None: never. `fault`: why the last look failed; `failure`: where the last cycle did, and `where` without the
    exception's words. Empty when they did not.
    """

    cycle_age_s: float | None
    observation_age_s: float | None
    fault: str
    late_after_s: float
    good_age_s: float | None = None
    failure: str = ""
    where: str = ""
    gaps_s: dict[str, float] = field(default_factory=dict)
    """Between cycles, over the last hour: `p50`, `p99` and `longest`."""

    @property
    def health(self) -> Health:
        """The worst of it. A cluster that cannot be observed for a moment is no fault of the worker."""
        if self.cycle_age_s is None or not -AHEAD_S <= self.cycle_age_s <= self.late_after_s:
            return Health.LATE
        if self.failure:
            return Health.FAILED
        is_long = self.good_age_s is None or self.good_age_s > self.late_after_s
        return Health.DEGRADED if self.fault and is_long else Health.OK


def late_after_s() -> float:
    """How long there may be no cycle before the worker counts as late."""
    return max(LEAST_LATE_S, LATE_CYCLES * settings.GIVEWAY_CYCLE_S)


def pulse() -> Pulse:
    """The attached cluster's pulse; nothing is written."""
    row = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).select_related("meter").first()
    meter: CycleMeter | None = getattr(row, "meter", None)
    failing = what_holds(read(meter.failing).values()) if meter else []
    return Pulse(
        cycle_age_s=_age(row.attempted_at if row else None),
        observation_age_s=_age(row.observed_at if row else None),
        good_age_s=_age(meter.ended_well_at if meter else None),
        fault=row.fault if row else "",
        failure=failing[0].sentence if failing else "",
        where=failing[0].where if failing else "",
        late_after_s=late_after_s(),
        gaps_s=_gaps_s(row) if row else {},
    )


def _gaps_s(row: Cluster) -> dict[str, float]:
    cadence = read_cadence(row)
    return (
        {"p50": cadence.p50_s, "p99": cadence.p99_s, "longest": cadence.longest_s} if cadence.cycles else {}
    )


def _age(moment: datetime | None) -> float | None:
    return round((clock.now() - moment).total_seconds(), 1) if moment else None
