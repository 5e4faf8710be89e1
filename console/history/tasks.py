"""Celery's door to the record and to the studies."""

from celery import shared_task
from django.conf import settings

from console.core import apart
from console.history.housekeeping import forget_old_record
from console.history.studying import due, work_off

STUDY_LIMIT_S = int(2 * settings.GIVEWAY_STUDY_S + 120)
"""The looks may take twice as long as planned; reading the facts and one long look come on top."""


@shared_task(name="history.forget")
def forget() -> None:
    """Forget what is kept long enough."""
    forget_old_record()


@shared_task(name="history.studies")
def studies() -> None:
    """Tell the worker of the studies that wait."""
    due(study.delay)


@shared_task(name="history.study", time_limit=STUDY_LIMIT_S)
def study(pk: int) -> None:
    """Work one off. The embedded worker steers too and does one thing at a time: it has a process do it."""
    if settings.REDIS_URL:
        work_off(pk)
    else:
        apart.start()
