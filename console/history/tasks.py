"""Celery's door to the record and to the studies."""

from celery import shared_task
from django.conf import settings

from console.core import background_process
from console.history.recording import forget_old_record
from console.history.studying import due, work_off


@shared_task(name="history.forget")
def forget() -> None:
    """Forget what is kept long enough."""
    forget_old_record()


@shared_task(name="history.studies")
def studies() -> None:
    """Tell the worker of the studies that wait."""
    due(study.delay)


@shared_task(name="history.study")
def study(pk: int) -> None:
    """Work one off. The embedded worker does one thing at a time: it has a process do it."""
    if settings.REDIS_URL:
        work_off(pk)
    else:
        background_process.start_process()
