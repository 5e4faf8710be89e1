"""Keeping the steering tables small. Plans, actions and the audit log are never deleted."""

from datetime import timedelta

from console.core import clock
from console.core.bulk_update import delete_rows
from console.steering.models import Cycle, StoredSnapshot


def forget_old_cycles(older_than: timedelta) -> int:
    """Delete cycles that no plan refers to, and snapshots that none does; returns how many rows."""
    old = delete_rows(Cycle.objects.filter(started_at__lt=clock.now() - older_than, plans__isnull=True))
    return old + delete_rows(StoredSnapshot.objects.filter(plans__isnull=True))
