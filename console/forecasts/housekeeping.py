"""Keeping the history of finished jobs as short as it is set, and bounded."""

from datetime import timedelta

from django.conf import settings

from console.cluster.models import Cluster
from console.core import clock
from console.core.bulk_update import delete_rows
from console.forecasts.models import JobForecast, KeptRun

MOST_JOBS = 1_000_000
"""Of a cluster that ends more in a year, the oldest are forgotten sooner."""


def forget_old_history() -> int:
    """Delete finished jobs, and what was forecast of them, that are older than they are kept; how many rows."""
    oldest = clock.now() - timedelta(days=settings.GIVEWAY_FORECAST_DAYS)
    gone = 0
    for cluster in Cluster.objects.all():  # as the indexes are
        gone += delete_rows(KeptRun.objects.filter(cluster=cluster, end__lt=int(oldest.timestamp())))
        gone += delete_rows(JobForecast.objects.filter(cluster=cluster, ended_at__lt=oldest))
    for rows in (KeptRun.objects.all(), JobForecast.objects.filter(ended_at__isnull=False)):
        beyond = rows.order_by("-pk").values_list("pk", flat=True)[MOST_JOBS : MOST_JOBS + 1].first()
        if beyond is not None:
            gone += delete_rows(rows.filter(pk__lte=beyond))
    return gone
