"""Compute power: whether what is to be measured can be, and which processors are far from their kind."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from console.cluster.connect import measures
from console.cluster.models import Cluster
from console.core import clock
from console.health.doctor.findings import Finding, ok, warn
from console.power.models import (
    DrainState,
    Measurement,
    MeasurementState,
    NodeDrain,
    PowerIncident,
    Processor,
    StandoutKind,
    StandoutState,
)
from console.power.selectors import Figured, kinds_of, outliers, rules_in_force

NAME = "power"
LATELY = timedelta(days=1)
MOST = 5
"""So many processors are named one by one; a cluster with more has another kind of trouble."""


def check_power() -> Iterator[Finding]:
    """Nothing where nothing is measured or known."""
    cluster = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).first()
    if cluster is None:
        return
    rules = rules_in_force(cluster)
    if rules and measures(cluster) and not settings.GIVEWAY_NODES_URL:
        yield warn(NAME, "doctor.power.address", partition=rules[0].partition.name)
    since = clock.now() - LATELY
    failed = Measurement.objects.filter(
        cluster=cluster, state=MeasurementState.FAILED, ended_at__gte=since
    ).first()
    if failed is not None:
        yield warn(NAME, "doctor.power.failed", node=failed.node, why=failed.outcome)
    drain = NodeDrain.objects.filter(cluster=cluster, state=DrainState.FAILED, changed_at__gte=since).first()
    if drain is not None:
        yield warn(NAME, "doctor.power.drain", node=drain.node, why=drain.detail)
    yield from _stand_out(cluster)


def _stand_out(cluster: Cluster) -> Iterator[Finding]:
    """But for those that somebody has left as they are."""
    standing = PowerIncident.objects.filter(cluster=cluster).exclude(state=StandoutState.CLOSED)
    known = {(row.node, row.resource, row.device): row for row in standing}
    for row in known.values():
        if (row.kind, row.state) == (StandoutKind.JUMPED, StandoutState.OPEN):
            yield warn(NAME, "doctor.power.jumped", what=row.words)
    left = {key for key, row in known.items() if row.state == StandoutState.LEFT}
    processors = list(Processor.objects.filter(cluster=cluster))
    far = [each for each in outliers(processors, kinds_of(cluster)) if each.share > 0]
    far = [each for each in far if _key(each.processor) not in left]
    for each in far[:MOST]:
        node, resource, device = _key(each.processor)
        yield warn(
            NAME, "doctor.power.far",
            node=node, resource=resource, device=device, n=each.percent, others=each.siblings,
        )  # fmt: skip
    if processors and not far and not known:
        yield ok(NAME, "doctor.power.even", n=len(processors))


def _key(row: Figured) -> tuple[str, str, int]:
    return row.node, row.resource, row.device
