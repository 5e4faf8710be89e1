"""One cycle per cluster at a time: a lease in the database with a fencing epoch.

1. Take the lease if it is free, run out, or its holder was a process of this machine that is gone (or is this very
   process, which has given up that cycle). Time is the database's own, whatever the clocks of the workers say.
2. Each taking makes a new epoch. Whoever writes intents renews the lease in the same transaction; if the epoch is
   no longer his, the transaction fails and nothing of it remains. So does one that writes down what came of them.
3. It lasts `LASTS_S` only. While a cycle takes longer a thread of its process prolongs it (`keep_alive`): who is alive
   keeps it, however slow Slurm is, and who stands still loses it, for then the thread stands still, too.
4. Right before something is done to the cluster `check` asks again, and `may_act` before each command. A process that
   was paused does nothing any more: what the thread prolongs is no fresh look at the cluster.
5. Give it back at the end; if that never happens it runs out. A command of a holder that was overtaken may still be
   under way: what it had claimed is left alone for as long as commands take (`may_still_come`).
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import Error, connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from console.cluster.models import Cluster
from console.core import clock
from console.core.failpoints import failpoint
from console.steering.models import CycleLease, CyclePace

FRESH_S = 5.0
"""What is done to the cluster begins within so many seconds after the lease was renewed, or not at all."""
LASTS_S = 8.0
"""So long after it was last renewed or prolonged somebody else may take it. PostgreSQL ends a transaction of its holder
that does nothing for as long, for it keeps the row from everybody."""
PROLONGED_EVERY_S = 2.5
LONGEST_CYCLE_S = 1800.0
"""A cycle that takes longer hangs: its lease is not prolonged any more."""
log = structlog.get_logger(__name__)
_mine: set[str] = set()
"""The leases that are in use in this process, by their holder's name."""


class LeaseLostError(Exception):
    """Another process holds the lease now; what this one was about to do must not be done."""


class _DatabaseTime(Now):
    """The time at which a row is written, which on PostgreSQL may be long after its statement began to wait for it."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="CLOCK_TIMESTAMP()", **context)


@dataclass(slots=True)
class Lease:
    """The right to run a cluster's cycle. `overtaken_at`: when it was last taken from somebody who may be alive."""

    cluster_id: int
    epoch: int
    holder: str = ""
    renewed: float = field(default_factory=time.monotonic)
    overtaken_at: datetime | None = None
    _alive: float = field(default_factory=time.monotonic)
    """When it was last renewed or prolonged."""
    _stood_still: bool = False
    """The thread was late, and nothing was renewed since."""

    def renew(self) -> None:
        """Make the lease last again, inside the caller's transaction. Raises `LeaseLostError`."""
        self.renewed = self._alive = time.monotonic()
        self._stood_still = False
        if connection.vendor == "postgresql" and _is_outermost():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{LASTS_S}s'")
        if not self._row().update(expires_at=_expiry()):
            raise self._lost()

    def check(self) -> None:
        """Whether it is still ours, and renewed a moment ago. Raises `LeaseLostError`."""
        if not self._row().exists():
            raise self._lost()
        if time.monotonic() - self.renewed > FRESH_S:
            raise LeaseLostError("This process stood still too long; the next cycle looks again.")

    def may_act(self) -> bool:
        """Whether a command may be sent that is part of what `check` has allowed, however long the ones before took.

        Not after this process stood still, nor without the database: then nobody else can take the lease in the next
        `LASTS_S - FRESH_S` seconds.
        """
        if self._stood_still or time.monotonic() - self._alive > FRESH_S:
            return False
        try:
            return self._row().exists()
        except Error as error:
            log.warning("nothing more is sent: the lease cannot be read", reason=str(error))
            return False

    def may_still_come(self, claimed_at: datetime | None) -> bool:
        """Whether a command that was claimed then, and of which no outcome is known, may take effect yet."""
        if claimed_at is None or self.overtaken_at is None or claimed_at > self.overtaken_at:
            return False
        limited = CyclePace.objects.filter(cluster=self.cluster_id, limit_per_minute__gt=0).exists()
        longest = timedelta(seconds=LONGEST_CYCLE_S) if limited else _longest_command()
        return abs(clock.now() - claimed_at) < longest

    @contextmanager
    def keep_alive(self) -> Iterator[None]:
        """Have the lease last while the block runs and this process lives, but not for ever."""
        over = threading.Event()
        thread = threading.Thread(target=self._prolong, args=(over,), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(
                PROLONGED_EVERY_S
            )  # Not longer: it may wait for the database. What it does then is nothing.

    def _prolong(self, over: threading.Event) -> None:
        """By a connection of the thread's own, which there is only in a cycle that is long enough."""
        began, told = time.monotonic(), False
        try:
            while not over.wait(PROLONGED_EVERY_S):
                now = time.monotonic()
                if now - began > LONGEST_CYCLE_S:
                    log.error("this cycle hangs; whoever comes next takes over", seconds=round(now - began))
                    return
                self._stood_still |= now - self._alive > FRESH_S
                try:
                    if not self._row().filter(holder=self.holder).update(expires_at=_expiry()):
                        return  # Taken over. Whoever works under it finds that out by itself.
                    self._alive = max(self._alive, now)
                except Error as error:
                    if not told:
                        log.warning("the lease of a cycle cannot be prolonged", reason=str(error))
                    told = True
                    connection.close()
        finally:
            connection.close()

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
    elif row.holder:
        row.overtaken_at = clock.now()
    holder = f"{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}.{uuid.uuid4().hex[:8]}"
    asked = time.monotonic()
    taken = CycleLease.objects.filter(free, pk=row.pk, epoch=row.epoch).update(
        holder=holder, epoch=row.epoch + 1, expires_at=_expiry(), overtaken_at=row.overtaken_at
    )
    if not taken:
        return None
    _mine.add(holder)
    failpoint("lease.taken")
    return Lease(cluster.pk, row.epoch + 1, holder, asked, row.overtaken_at)


def _expiry() -> Any:
    return _DatabaseTime() + timedelta(seconds=LASTS_S)


def _longest_command() -> timedelta:
    """From its claim to the end of the last command for it: these have twice the time limit (`ClusterPort.apply`)."""
    return timedelta(seconds=FRESH_S + 2 * settings.GIVEWAY_SLURM_TIMEOUT_S + 10)


def _is_outermost() -> bool:
    """Whether a transaction is open, and it is that of a cycle: a setting of it lasts as long as it does."""
    return connection.in_atomic_block and not connection.savepoint_ids


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
