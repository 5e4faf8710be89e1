"""Background work of the audit log."""

from celery import shared_task

from console.audit.anchors import write_anchor


@shared_task(name="console.audit.tasks.anchor")
def anchor() -> None:
    """Write the log's head down outside the database; beat asks for it every hour."""
    write_anchor()
