"""Compute power: whether what is to be measured can be, and which processors are far from their kind."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from console.cluster.connect import measures
from console.cluster.models import Cluster
from console.core import clock
from console.health.doctor.findings import Finding, ok, warn
from console.power.models import Measurement, MeasurementState, Processor
from console.power.selectors import outliers, rules_in_force

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
    processors = list(Processor.objects.filter(cluster=cluster))
    far = [each for each in outliers(processors) if each.share > 0]
    for each in far[:MOST]:
        row = each.processor
        yield warn(
            NAME, "doctor.power.far",
            node=row.node, resource=row.resource, device=row.device, n=each.percent, others=each.siblings,
        )  # fmt: skip
    if processors and not far:
        yield ok(NAME, "doctor.power.even", n=len(processors))
