"""Keeping what was expected of starts as short as forecasts are kept, and questions for an hour."""

from datetime import timedelta

from django.conf import settings

from console.cluster.models import Cluster
from console.core import clock
from console.core.bulk_update import delete_rows
from console.starts.models import ExpectedStart, StartQuestion

ASKED = timedelta(hours=1)
"""Answers grow old soon: so long they can be looked up."""


def forget_old_starts() -> int:
    """Delete what was expected of jobs that began, or went, longer ago than forecasts are kept; how many rows."""
    delete_rows(StartQuestion.objects.filter(asked_at__lt=clock.now() - ASKED))
    oldest = clock.now() - timedelta(days=settings.GIVEWAY_FORECAST_DAYS)
    old = (
        ExpectedStart.objects.filter(cluster=cluster, gone_at__lt=oldest) for cluster in Cluster.objects.all()
    )
    return sum(map(delete_rows, old))
