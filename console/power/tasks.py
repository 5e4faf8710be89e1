"""Celery's door to measuring."""

from celery import shared_task
from django.conf import settings

from console.cluster.connect import configured_cluster, connect_benchmarks
from console.power.measuring import measure


@shared_task(name="power.measure")
def measure_some() -> None:
    """Measure what is due, where that is possible."""
    cluster = configured_cluster()
    port = connect_benchmarks(cluster)
    if port is not None and settings.GIVEWAY_NODES_URL:
        measure(cluster, port)
