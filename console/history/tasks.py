"""Celery's door to the record."""

from celery import shared_task

from console.history.housekeeping import forget_old_record


@shared_task(name="history.forget")
def forget() -> None:
    """Forget what is kept long enough."""
    forget_old_record()
