"""Background work of the audit log."""

from celery import shared_task

from console.audit.anchors import never_anchored, write_anchor
from console.audit.checks import check_some


@shared_task(name="console.audit.tasks.anchor")
def anchor() -> None:
    """Write the log's head down outside the database; beat asks for it every hour."""
    write_anchor()


@shared_task(name="console.audit.tasks.verify")
def verify() -> None:
    """Verify what was added, and a portion of the whole log when that is due; beat asks for it every minute.

    A console that never ran for an hour has no anchor yet: it gets one, instead of an alarm.
    """
    if never_anchored():
        write_anchor()
    check_some()
