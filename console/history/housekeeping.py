"""Keeping the record small."""

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Length

from console.core import clock
from console.history.models import PartitionMinute, RecordedObservation

MINUTES_KEPT = timedelta(days=30)
BYTES_PER_MB = 1024 * 1024


def forget_old_record() -> int:
    """Delete what is older than it is kept, and of the observations the oldest when they take too much room."""
    now = clock.now()
    kept = timedelta(days=settings.GIVEWAY_HISTORY_DAYS)
    gone = PartitionMinute.objects.filter(at__lt=now - MINUTES_KEPT).delete()[0]
    gone += RecordedObservation.objects.filter(at__lt=now - kept).delete()[0]
    return gone + _forget_what_is_too_much()


def _forget_what_is_too_much() -> int:
    room = settings.GIVEWAY_HISTORY_MB * BYTES_PER_MB
    sizes = RecordedObservation.objects.order_by("-at").values_list("pk", Length("body"))
    beyond: list[int] = []
    for pk, size in sizes:
        room -= size
        if room < 0:
            beyond.append(pk)
    return RecordedObservation.objects.filter(pk__in=beyond).delete()[0] if beyond else 0
