"""Celery's door to expected starts, in the queue of forecasts."""

from celery import shared_task

from console.cluster.connect import configured_cluster
from console.starts.expecting import expecting
from console.starts.housekeeping import forget_old_starts


@shared_task(name="forecasts.starts")
def expect_starts() -> None:
    """Say of waiting jobs when they start, where something has changed."""
    expecting(configured_cluster()).expect_starts()


@shared_task(name="forecasts.forget_starts")
def forget_starts() -> None:
    """Forget what is kept long enough."""
    forget_old_starts()
