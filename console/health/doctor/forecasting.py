"""The forecasts: whether starts of waiting jobs are said, and whether the accounting that they learn from is read."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from console.cluster.models import Cluster
from console.core import clock
from console.forecasts.models import AccountingRead
from console.health.doctor.findings import Finding, ok, warn
from console.starts.selectors import jobs_in_line, last_said
from scheduler.model.sentence import told

NAME = "forecasts"
LATE = timedelta(minutes=10)
"""Expected starts are said anew within five minutes, as long as anybody waits."""


def check_forecasts() -> Iterator[Finding]:
    """Of jobs that wait: when it was last said when they start. Of accounting: why it could not be read."""
    cluster = Cluster.objects.filter(name=settings.GIVEWAY_CLUSTER_NAME).first()
    if cluster is None:
        return
    waits = jobs_in_line(cluster).order_by("waits_since").first()
    now, said = int(clock.now().timestamp()), last_said(cluster)
    late = LATE.total_seconds()
    if waits is None or now - waits.waits_since < late:
        yield ok(NAME, "doctor.forecasts.nobody")
    elif said is None:
        yield warn(NAME, "doctor.forecasts.never")
    elif now - said > late:
        yield warn(NAME, "doctor.forecasts.late", n=(now - said) // 60)
    else:
        yield ok(NAME, "doctor.forecasts.said", n=now - said)
    fault = AccountingRead.objects.filter(cluster=cluster).values_list("fault", flat=True).first()
    if fault:
        yield warn(NAME, "doctor.forecasts.accounting", why=told(fault))
