"""Celery's door to measuring."""

from celery import shared_task
from django.conf import settings

from console.cluster.connect import configured_cluster, connect_benchmarks, connect_nodes
from console.cluster.models import Node
from console.power.causes import note_boots
from console.power.draining import tend
from console.power.losses import keep_losses
from console.power.measuring import measure
from console.power.models import OPEN_DRAINS, NodeDrain
from console.power.selectors import rules_in_force
from console.power.standouts import follow_figures


@shared_task(name="power.measure")
def measure_some() -> None:
    """Measure what is due, where that is possible."""
    cluster = configured_cluster()
    port = connect_benchmarks(cluster)
    if port is not None and settings.GIVEWAY_NODES_URL:
        note_boots(cluster, Node.objects.filter(cluster=cluster), rules_in_force(cluster))
        measure(cluster, port)


@shared_task(name="power.watch")
def watch() -> None:
    """Which processors stand out, and the nodes that people have drained because of them."""
    cluster = configured_cluster()
    follow_figures(cluster)
    if NodeDrain.objects.filter(cluster=cluster, state__in=OPEN_DRAINS).exists():
        tend(cluster, connect_nodes(cluster))


@shared_task(name="power.count_losses")
def count_losses() -> None:
    """What the runs that have ended lost to waiting for their slowest processor."""
    keep_losses(configured_cluster())
