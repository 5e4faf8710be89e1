"""Keeping the record small."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models.functions import Length

from console.core import clock
from console.core.bulk_update import delete_rows
from console.history.models import OPEN_STUDIES, PartitionMinute, QuotaMinute, RecordedObservation, Study

MINUTES_KEPT = timedelta(days=30)
QUOTAS_KEPT = timedelta(days=8)
"""A row per level and minute: no longer than the longest span that is drawn, and a day."""
STUDIES_KEPT = timedelta(days=30)
MOST_STUDIES = 1000
"""An answer has a few kilobytes; a question about a whole priority file has more."""
BYTES_PER_MB = 1024 * 1024


def forget_old_record() -> int:
    """Delete what is older than it is kept, and of the observations the oldest when they take too much room."""
    now = clock.now()
    kept = timedelta(days=settings.GIVEWAY_HISTORY_DAYS)
    gone = delete_rows(PartitionMinute.objects.filter(at__lt=now - MINUTES_KEPT))
    gone += delete_rows(QuotaMinute.objects.filter(at__lt=now - QUOTAS_KEPT))
    gone += delete_rows(RecordedObservation.objects.filter(at__lt=now - kept))
    return gone + _forget_old_studies(now) + _forget_what_is_too_much()


def _forget_old_studies(now: datetime) -> int:
    over = Study.objects.exclude(state__in=OPEN_STUDIES)
    beyond = list(over.order_by("-pk").values_list("pk", flat=True)[MOST_STUDIES:])
    gone = over.filter(pk__in=beyond).delete()[0]
    return gone + over.filter(asked_at__lt=now - STUDIES_KEPT).delete()[0]


def _forget_what_is_too_much() -> int:
    room = settings.GIVEWAY_HISTORY_MB * BYTES_PER_MB
    sizes = RecordedObservation.objects.order_by("-at").values_list("pk", Length("body"))
    beyond: list[int] = []
    for pk, size in sizes:
        room -= size
        if room < 0:
            beyond.append(pk)
    return delete_rows(RecordedObservation.objects.filter(pk__in=beyond)) if beyond else 0
