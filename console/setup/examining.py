"""Asking the doctor, and Slurm for its accounts: a page asks in the database, the worker answers there.

Pages touch no cluster.
"""

from dataclasses import asdict

from django.db.models import F, Q

from console.cluster.connect import read_accounts
from console.cluster.models import Cluster
from console.core import clock
from console.health.doctor.run import examine, worst
from console.setup.models import EXAMINED_EVERY, Examination


def examine_if_asked(cluster: Cluster) -> bool:
    """Examine the installation if somebody has asked since the last time, or that is long ago; whether it was."""
    begun = clock.now()
    row, made = Examination.objects.get_or_create(cluster=cluster, defaults={"asked_at": begun})
    due = row.examined_at is None or begun - row.examined_at > EXAMINED_EVERY
    if not made and not row.waits and not due:
        return False
    findings = list(examine())
    Examination.objects.filter(pk=row.pk).update(
        findings=[each.without_secrets().as_json() for each in findings],
        worst=worst(findings).value,
        accounts=asdict(read_accounts(cluster)),
        # Somebody who asks while it is examined is answered by the next one.
        examined_at=begun,
    )
    return True


def is_examination_due(cluster: Cluster) -> bool:
    """Whether anything waits; cheap, for the timer."""
    due = Q(examined_at__lt=clock.now() - EXAMINED_EVERY)
    waiting = Q(examined_at__isnull=True) | Q(examined_at__lt=F("asked_at")) | due
    rows = Examination.objects.filter(cluster=cluster)
    return not rows.exists() or rows.filter(waiting).exists()
