"""One cycle per cluster at a time: a lease in the database with a fencing epoch.

1. Take the lease if it is free, run out, or its holder was a process of this machine that is gone (or is this very
   process, which has given up that cycle). Time is the database's own, whatever the clocks of the workers say.
2. Each taking makes a new epoch. Whoever writes intents renews the lease in the same transaction; if the epoch is
   no longer his, the transaction fails and nothing of it remains.
3. Right before something is done to the cluster, `check` asks again. A process that was paused, or whose commands took
   too long, does nothing any more.
4. Give it back at the end; if that never happens it runs out.
"""

import os
import socket
import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from console.cluster.models import Cluster
from console.core.failpoints import failpoint
from console.steering.models import CycleLease

FRESH_S = 5.0
"""What is done to the cluster begins within so many seconds after the lease was renewed, or not at all."""
_mine: set[str] = set()
"""The leases that are in use in this process, by their holder's name."""


class LeaseLostError(Exception):
    """Another process holds the lease now; what this one was about to do must not be done."""


@dataclass(slots=True)
class Lease:
    """The right to run a cluster's cycle."""

    cluster_id: int
    epoch: int
    holder: str = ""
    renewed: float = field(default_factory=time.monotonic)

    def renew(self) -> None:
        """Make the lease last again, inside the caller's transaction. Raises `LeaseLostError`."""
        self.renewed = time.monotonic()
        if not self._row().update(expires_at=Now() + _duration()):
            raise self._lost()

    def check(self) -> None:
        """Whether it is still ours, and renewed a moment ago. Raises `LeaseLostError`.

        After this, nobody else can take the lease before the commands that follow are over: they have less time than
        the lease lasts.
        """
        if not self._row().exists():
            raise self._lost()
        if time.monotonic() - self.renewed > FRESH_S:
            raise LeaseLostError("This process stood still too long; the next cycle looks again.")

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        _mine.discard(self.holder)
        self._row().update(holder="", expires_at=None)
        failpoint("lease.released")

    def _row(self) -> QuerySet[CycleLease]:
        return CycleLease.objects.filter(cluster_id=self.cluster_id, epoch=self.epoch)

    def _lost(self) -> LeaseLostError:
        return LeaseLostError(f"Cycle lease {self.epoch} of cluster {self.cluster_id} was taken over.")


def take(cluster: Cluster) -> Lease | None:
    """The lease, or None when somebody else's cycle is under way."""
    row, _ = CycleLease.objects.get_or_create(cluster=cluster)
    free = Q(expires_at__isnull=True) | Q(expires_at__lt=Now())
    if row.holder and _is_dead(row.holder):
        free |= Q(holder=row.holder)
    holder = f"{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}.{uuid.uuid4().hex[:8]}"
    taken = CycleLease.objects.filter(free, pk=row.pk, epoch=row.epoch).update(
        holder=holder, epoch=row.epoch + 1, expires_at=Now() + _duration()
    )
    if not taken:
        return None
    _mine.add(holder)
    failpoint("lease.taken")
    return Lease(cluster.pk, row.epoch + 1, holder)


def _duration() -> timedelta:
    """Longer than a look and the commands after it may take, so that a slow Slurm does not cost us the lease."""
    return timedelta(seconds=FRESH_S + 2 * settings.GIVEWAY_SLURM_TIMEOUT_S + 10)


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that no longer exists, or a cycle that this one gave up."""
    host, pid, rest = holder.split(":", 2)
    if host != socket.gethostname():
        return False
    if int(pid) == os.getpid():
        return holder not in _mine
    return _born(int(pid)) != rest.partition(".")[0]


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks: another process with its number is another one.

    Empty when there is none; one that is dead but not yet mourned by its parent (a zombie) is none.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in {"Z", "X"} else fields[19]
