"""Celery's door to forecasts: shells of a few lines, in a queue of their own."""

from celery import shared_task
from django.conf import settings

from console.cluster.connect import configured_cluster
from console.cluster.memory import memory_of
from console.core import background_process
from console.forecasts.forecaster import Forecaster
from console.forecasts.learning import is_due, learn_if_due
from console.forecasts.recording import forget_old_history, keep_accounted, keep_seen

READING_S = 5.0
"""After so long a reading of accounting begins no further day; the next one goes on."""


@shared_task(name="forecasts.keep")
def keep() -> None:
    """Keep jobs that have ended: as accounting tells, or as the cycles saw where there is none."""
    cluster = configured_cluster()
    if keep_accounted(cluster, within_s=READING_S) is None:
        keep_seen(cluster)


@shared_task(name="forecasts.forecast")
def forecast() -> None:
    """Say of new jobs how long they will run, and of running ones when they end."""
    memory_of(Forecaster, configured_cluster()).forecast_if_due()


@shared_task(name="forecasts.train")
def train() -> None:
    """Have a model trained, where one is due: minutes of work that must not stand before steering."""
    if not is_due(configured_cluster()):
        return
    if settings.REDIS_URL:
        learn.delay()
    else:
        background_process.start_process()


@shared_task(name="forecasts.learn")
def learn() -> None:
    """Train a model of run times."""
    learn_if_due(configured_cluster())


@shared_task(name="forecasts.forget")
def forget() -> None:
    """Forget what is kept long enough."""
    forget_old_history()
