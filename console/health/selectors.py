"""What the probes need to know: whether the database is as the code wants it, and when the worker was last at work."""

from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from console.cluster.models import Cluster
from console.core import clock

LATE_CYCLES = 10
"""So many cycles may be missing before the worker counts as late; one look at Slurm may take its whole time, too."""

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


@dataclass(frozen=True, slots=True)
class Pulse:
    """How long ago the last cycle of the attached cluster ended, and how long ago the cluster was seen; None: never."""

    cycle_age_s: float | None
    observation_age_s: float | None
    fault: str
    late_after_s: float

    @property
    def late(self) -> bool:
        """Whether the worker has not run for too long. A cluster that cannot be observed is no fault of the worker."""
        return self.cycle_age_s is None or self.cycle_age_s > self.late_after_s


def pulse() -> Pulse:
    """The attached cluster's pulse; nothing is written."""
    row = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).first()
    now = clock.now()
    attempted, observed = (row.attempted_at, row.observed_at) if row else (None, None)
    return Pulse(
        cycle_age_s=round((now - attempted).total_seconds(), 1) if attempted else None,
        observation_age_s=round((now - observed).total_seconds(), 1) if observed else None,
        fault=row.fault if row else "",
        late_after_s=LATE_CYCLES * settings.GIVEWAY_CYCLE_S + settings.GIVEWAY_SLURM_TIMEOUT_S,
    )
