"""Celery's door to expected starts and chances of being stopped, in the queue of forecasts."""

from celery import shared_task

from console.cluster.connect import configured_cluster
from console.cluster.memory import memory_of
from console.starts.expecting import Expecting, forget_old_starts
from console.starts.risk import Risks


@shared_task(name="forecasts.starts")
def expect_starts() -> None:
    """Say of waiting jobs when they start, where something has changed."""
    memory_of(Expecting, configured_cluster()).expect_starts()


@shared_task(name="forecasts.risks")
def say_risks() -> None:
    """Say of running jobs how likely they are stopped within the hour."""
    memory_of(Risks, configured_cluster()).say()


@shared_task(name="forecasts.forget_starts")
def forget_starts() -> None:
    """Forget what is kept long enough."""
    forget_old_starts()
