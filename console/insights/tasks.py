"""Celery's door to the sums."""

from celery import shared_task

from console.cluster.connect import configured_cluster
from console.insights.summing import forget_old_sums, sum_up
from console.insights.unevenness import sum_unevenness


@shared_task(name="insights.sum_up")
def add_up() -> None:
    """Add up what has come since the last time."""
    cluster = configured_cluster()
    sum_up(cluster)
    sum_unevenness(cluster)


@shared_task(name="insights.forget")
def forget() -> None:
    """Forget sums that are kept long enough."""
    forget_old_sums()
