"""The only place where adapters are made."""

import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from django.conf import settings

from console.cluster.models import Cluster as ClusterRow
from console.cluster.selectors import shown_cluster
from scheduler.model.associations import Associations
from scheduler.model.checkup import Checkup
from scheduler.model.finished import FinishedRuns
from scheduler.model.observation import RequestUse
from scheduler.ports import BenchmarkPort, ClusterPort, NodePort

logger = logging.getLogger(__name__)


def configured_cluster() -> ClusterRow:
    """The row of the cluster that the settings name; made at first use."""
    row = shown_cluster()
    if row.kind != settings.GIVEWAY_CLUSTER:
        row.kind = settings.GIVEWAY_CLUSTER
        row.save(update_fields=["kind"])
    return row


@cache
def _adapter(name: str, kind: str, scenario: str, home: str) -> ClusterPort:
    if kind == "slurm":
        from scheduler.adapters.slurm.cluster import SlurmCluster

        return SlurmCluster(name, timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S)
    from scheduler.adapters.simulator.stored import StoredSimulator

    return StoredSimulator(Path(home) / f"simulator-{name}.json", scenario, name=name)


def connect(row: ClusterRow) -> ClusterPort:
    """The adapter for an attached cluster; the same one for the life of this process (it keeps caches)."""
    return _adapter(row.name, row.kind, settings.GIVEWAY_SCENARIO, str(settings.HOME))


def connect_anew(row: ClusterRow) -> ClusterPort:
    """An adapter of one's own, for another thread: adapters belong to one thread at a time."""
    return _adapter.__wrapped__(row.name, row.kind, settings.GIVEWAY_SCENARIO, str(settings.HOME))


def check_up() -> Checkup | None:
    """A look at the Slurm installation itself; None where the cluster is simulated."""
    if settings.GIVEWAY_CLUSTER != "slurm":
        return None
    from scheduler.adapters.slurm.checkup import look

    return look(timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S)


def read_accounts(row: ClusterRow) -> Associations:
    """Slurm's accounts with their users, from its accounting. The simulator keeps none: who has no jobs is unknown."""
    if row.kind != "slurm":
        return Associations(kept=False)
    from scheduler.adapters.slurm.accounting import look

    return look(timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S)


def read_finished(row: ClusterRow, since: int, until: int) -> FinishedRuns:
    """Jobs that ended within a span (epoch seconds), from Slurm's accounting. The simulator keeps none."""
    if row.kind != "slurm":
        return FinishedRuns(kept=False)
    from scheduler.adapters.slurm.finished import look

    return look(since, until, timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S)


def read_commands(row: ClusterRow, job_ids: Sequence[str]) -> dict[str, str]:
    """By job that waits or runs: its program and script, where they are known.

    Nothing where the cluster does not answer. The simulator's jobs run no program.
    """
    if row.kind != "slurm" or not job_ids:
        return {}
    from scheduler.adapters.slurm.commanded import look
    from scheduler.adapters.slurm.errors import SlurmUnavailableError

    try:
        return look(job_ids, timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S)
    except SlurmUnavailableError as error:
        logger.warning("the commands of %d jobs are not known: %s", len(job_ids), error)
        return {}


def measures(row: ClusterRow) -> bool:
    """Whether processors can be measured there."""
    return row.kind == "slurm"


def connect_benchmarks(row: ClusterRow) -> BenchmarkPort | None:
    """Where processors are measured; None where the cluster is simulated."""
    if not measures(row):
        return None
    from scheduler.adapters.slurm.benchmarks import SlurmBenchmarks, runner_for

    return SlurmBenchmarks(runner_for(timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S))


def connect_nodes(row: ClusterRow) -> NodePort:
    """Where nodes are taken out of service and put back."""
    if row.kind == "slurm":
        from scheduler.adapters.slurm.benchmarks import runner_for
        from scheduler.adapters.slurm.draining import SlurmNodes

        return SlurmNodes(runner_for(timeout_s=settings.GIVEWAY_SLURM_TIMEOUT_S))
    from scheduler.adapters.simulator.draining import SimulatorNodes
    from scheduler.adapters.simulator.stored import StoredSimulator

    file = Path(str(settings.HOME)) / f"simulator-{row.name}.json"
    return SimulatorNodes(StoredSimulator(file, settings.GIVEWAY_SCENARIO, name=row.name).opened)


def take_requests() -> RequestUse:
    """What this process has asked of the cluster since it was asked last. The simulator counts nothing."""
    from scheduler.adapters.slurm.requests import METER

    return METER.take()


def allowed_requests(row: ClusterRow) -> tuple[int, float]:
    """How often the cluster lets this account ask: at once, and in a minute; zeros where it limits nobody."""
    from scheduler.adapters.slurm.requests import own_limit

    limit = own_limit(row.facts)
    return limit.burst, limit.per_minute


def forget_adapters() -> None:
    """Make new adapters at the next use (tests attach one cluster after the other)."""
    _adapter.cache_clear()
