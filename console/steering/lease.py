"""One cycle per cluster at a time: a lease in the database with a fencing epoch.

1. Take the lease if it is free, run out, or its holder was a process of this machine that is gone.
2. Each taking makes a new epoch. Whoever writes intents renews the lease in the same transaction; if the epoch is
   no longer his, the transaction fails and nothing of it remains.
3. Give it back at the end; if that never happens it runs out.
"""

import os
import socket
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from console.cluster.models import Cluster
from console.core import clock
from console.steering.models import CycleLease


class LeaseLostError(Exception):
    """Another process holds the lease now; what this one was about to write must not be written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a cluster's cycle."""

    cluster_id: int
    epoch: int

    def renew(self) -> None:
        """Make the lease last again, inside the caller's transaction. Raises `LeaseLostError`."""
        mine = CycleLease.objects.filter(cluster_id=self.cluster_id, epoch=self.epoch)
        if not mine.update(expires_at=clock.now() + _duration()):
            raise LeaseLostError(f"Cycle lease {self.epoch} of cluster {self.cluster_id} was taken over.")

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        CycleLease.objects.filter(cluster_id=self.cluster_id, epoch=self.epoch).update(
            holder="", expires_at=None
        )


def take(cluster: Cluster) -> Lease | None:
    """The lease, or None when somebody else's cycle is under way."""
    row, _ = CycleLease.objects.get_or_create(cluster=cluster)
    now = clock.now()
    free = Q(expires_at__isnull=True) | Q(expires_at__lt=now)
    if row.holder and _is_dead(row.holder):
        free |= Q(holder=row.holder)
    taken = CycleLease.objects.filter(free, pk=row.pk, epoch=row.epoch).update(
        holder=f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}",
        epoch=row.epoch + 1,
        expires_at=now + _duration(),
    )
    return Lease(cluster.pk, row.epoch + 1) if taken else None


def _duration() -> timedelta:
    """Longer than the longest single call to the cluster, so that a slow Slurm does not cost us the lease."""
    return timedelta(seconds=settings.GIVEWAY_SLURM_TIMEOUT_S + 15)


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that no longer exists."""
    host, pid, _ = holder.split(":", 2)
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
