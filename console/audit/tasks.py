"""Background work of the audit log."""

from celery import shared_task

from console.audit.anchors import anchor_if_due
from console.audit.checks import check_some


@shared_task(name="console.audit.tasks.anchor")
def anchor() -> None:
    """Write the log's head down outside the database; beat asks for it every minute."""
    anchor_if_due()


@shared_task(name="console.audit.tasks.verify")
def verify() -> None:
    """Verify what was added, and a portion of the whole log when that is due; beat asks for it every minute.

    What was added is anchored first: a console that was started just now has no anchor yet, and no alarm is due.
    """
    anchor_if_due()
    check_some()
