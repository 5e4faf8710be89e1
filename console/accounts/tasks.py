"""Celery's door to the accounts: a shell of a few lines."""

import structlog
from celery import shared_task

from console.accounts.directory_sync import follow_directory
from console.accounts.single_sign_on import DirectoryError

log = structlog.get_logger(__name__)


@shared_task(name="accounts.follow")
def follow() -> None:
    """Who has left the directory. When it is away there is another hour."""
    try:
        follow_directory()
    except DirectoryError as error:
        log.warning("the directory was not followed", why=error.why)
