"""The one look of a cycle. When it fails, or only part is seen, the cycle is degraded: nothing is planned on it."""

import structlog
from django.db import transaction

from console.cluster.models import Cluster
from console.cluster.services import describe_cluster, note_cycle
from console.core.failpoints import failpoint
from console.steering.actions.lease import Lease
from console.steering.cycle_report import Report
from console.steering.journal import tell_cluster
from console.steering.models import BEGUN_STATES, Plan
from scheduler.model.observation import Observation
from scheduler.ports import ClusterPort, ClusterUnavailableError

log = structlog.get_logger(__name__)
_described: dict[int, ClusterPort] = {}
"""By cluster who has told what it is. It is asked again after a fault: a Slurm that was away may be another release."""


def observe(cluster: Cluster, adapter: ClusterPort, lease: Lease, report: Report) -> Observation | None:
    """Look once; quickly where nothing is under way: before anybody is stopped another look is taken (`ledger`).

    When that fails, or only part is seen, the cycle is degraded: say so, plan nothing, stop nobody.
    """
    try:
        if _described.get(cluster.pk) is not adapter or cluster.fault or not cluster.software:
            info = adapter.describe()
            describe_cluster(
                cluster, software=f"{info.kind} {info.version}".strip(), facts=info.facts.items()
            )
            _described[cluster.pk] = adapter
        under_way = Plan.objects.filter(cluster=cluster, state__in=BEGUN_STATES).exists()
        observation = adapter.observe(quick=not under_way)
    except ClusterUnavailableError as error:
        _degrade(cluster, str(error), lease, report)
        return None
    if observation.degraded:
        _degrade(cluster, "; ".join(observation.faults[:5]), lease, report)
        return None
    return observation


def _degrade(cluster: Cluster, fault: str, lease: Lease, report: Report) -> None:
    report.fault = fault
    with transaction.atomic():
        lease.renew()
        was = cluster.fault
        note_cycle(cluster, fault=fault, changed=False)
        if not was:
            tell_cluster(cluster, "cluster.degraded", fault)
        failpoint("cycle.degrading")
    failpoint("cycle.degraded")
    log.warning("cluster cannot be observed", fault=fault)
