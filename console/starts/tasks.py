"""Celery's door to expected starts, in the queue of forecasts."""

from celery import shared_task

from console.cluster.connect import configured_cluster
from console.starts.expecting import expecting


@shared_task(name="forecasts.starts")
def expect_starts() -> None:
    """Say of waiting jobs when they start, where something has changed."""
    expecting(configured_cluster()).expect_starts()
