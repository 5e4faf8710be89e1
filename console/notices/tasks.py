"""Celery's door to notices: shells of a few lines."""

import time
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from console.notices.collecting import collect
from console.notices.hook import post_notices
from console.notices.mail import send_mails
from console.notices.outbox import forget_old_notices

BUDGET_S = 10
"""Its worker does one thing at a time: whatever a mail server does, other short work goes on after this."""


@shared_task(name="notices.tell")
def tell() -> None:
    """Find out what is new, and tell it in the ways that are switched on."""
    collect()
    if settings.GIVEWAY_EMAIL:
        send_mails(time.monotonic() + BUDGET_S / 2)
    if settings.GIVEWAY_WEBHOOK_URL:
        post_notices(time.monotonic() + BUDGET_S / 2)


@shared_task(name="notices.forget")
def forget() -> None:
    """Forget what was told a month ago."""
    forget_old_notices(timedelta(days=30))
