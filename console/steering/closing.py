"""How a cycle ended: written down, told, and where three in a row failed, partitions are paused.

1. The streaks (`streaks`) are written in the cycle's last transaction, so that a worker that is started again knows of
   them. Where even that fails, this process remembers, and writes them down before its next cycle does anything.
2. Audit rows and pauses come after it, in a transaction of their own: what hinders them does not undo the hold.
3. Three failures of a streak pause the partitions concerned, which only a person resumes; three more do it again. That
   the database was away counts for no pause: it is nobody's defect.
"""

from collections.abc import Mapping
from dataclasses import replace

import structlog
from django.db import connection, transaction

from console.audit.services import SYSTEM
from console.cluster.models import Cluster
from console.cluster.services import show_change
from console.core import clock
from console.partitions.models import Partition
from console.steering.actions.lease import Lease, LeaseLostError
from console.steering.failures import EVERYWHERE, Failure, Failures
from console.steering.journal import tell_cluster
from console.steering.models import CycleMeter, Pause
from console.steering.operations.pausing import pause
from console.steering.streaks import Streak, next_streaks, read, what_holds, written
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import say

MOST_IN_A_ROW = 3
STOPS_SOMEBODY = (Enforcement.ENFORCE.value, Enforcement.APPROVE.value)
_unwritten: dict[int, list[Failure]] = {}
"""Failures that could not be written down, by cluster."""

log = structlog.get_logger(__name__)


def begin(cluster: Cluster, lease: Lease) -> Failures:
    """What a new cycle has to heed. Writes down first what the last one could not."""
    unwritten = _unwritten.get(cluster.pk)
    if unwritten:
        with transaction.atomic():
            lease.renew()
            _write(_meter(cluster), unwritten, seen=False)
        del _unwritten[cluster.pk]
    kept = CycleMeter.objects.filter(cluster=cluster).values_list("failing", flat=True).first()
    return Failures(each.partition for each in what_holds(read(kept or {}).values()))


def close(
    cluster: Cluster,
    lease: Lease,
    failures: Failures,
    number: int,
    *,
    seen: bool,
    meter: CycleMeter | None = None,
) -> None:
    """Write down how a cycle ended. `seen`: the cluster was observed in full. `meter`: as this cycle has just written
    it, if it has. Never raises for what was raised in it.

    What cannot be written down now is written by the next cycle of this process, before it does anything.
    """
    try:
        if connection.errors_occurred and not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        with transaction.atomic():
            lease.renew()
            meter = meter or _meter(cluster)
            before = read(meter.failing)
            after = _write(meter, failures.found, seen=seen)
            if failures.found:
                _count_cycle(cluster, number)
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - the failures must not be lost with the database
        failures.add(error)
        _unwritten[cluster.pk] = list(failures.found)
        return
    if before or after:
        _tell_change(cluster, lease, before, after)


def _meter(cluster: Cluster) -> CycleMeter:
    meter, _ = CycleMeter.objects.get_or_create(cluster=cluster)
    return meter


def _count_cycle(cluster: Cluster, number: int) -> None:
    """A cycle that failed before it was counted is one all the same."""
    Cluster.objects.filter(pk=cluster.pk, cycle__lt=number).update(cycle=number, attempted_at=clock.now())


def _write(meter: CycleMeter, found: list[Failure], *, seen: bool) -> dict[str, Streak]:
    after = next_streaks(read(meter.failing), found, clock.now(), seen=seen)
    meter.failing = written(after)
    changes = ["failing"]
    if found:
        meter.failed += 1
        meter.degraded += 1
        changes += ["failed", "degraded"]
    elif seen:
        meter.ended_well_at = clock.now()
        changes += ["ended_well_at"]
    meter.save(update_fields=changes)
    return after


# --- Telling of it, and the pause -----------------------------------------------------------------------------


def _tell_change(
    cluster: Cluster, lease: Lease, before: Mapping[str, Streak], after: Mapping[str, Streak]
) -> None:
    """Audit and pause. What hinders that is logged: the hold is written down already, and the pause is tried again."""
    try:
        with transaction.atomic():
            lease.renew()
            _audit(cluster, before, after)
            _pause_those_due(cluster, after)
            if _shown(before) != _shown(after):
                show_change(cluster)
    except LeaseLostError:
        raise
    except Exception:
        log.exception("the failure of a cycle could not be told", cluster=cluster.name)


def _shown(streaks: Mapping[str, Streak]) -> list[tuple[str, str]]:
    return [(each.partition, each.what) for each in what_holds(streaks.values())]


def _audit(cluster: Cluster, before: Mapping[str, Streak], after: Mapping[str, Streak]) -> None:
    for name in sorted(before.keys() | after.keys()):
        held, holds = (name in streaks and streaks[name].holds for streaks in (before, after))
        if holds and not held:
            tell_cluster(cluster, "cycle.failed", after[name].sentence)
        elif held and not holds:
            tell_cluster(cluster, "cycle.recovered", before[name].sentence)


def _pause_those_due(cluster: Cluster, streaks: Mapping[str, Streak]) -> None:
    """Pause the partitions of streaks that have become too long. Must run inside a transaction."""
    paused = set(Pause.objects.filter(cluster=cluster).values_list("partition", flat=True))
    rows = Partition.objects.filter(cluster=cluster, revision__enforcement__in=STOPS_SOMEBODY)
    counted = dict(streaks)
    for name, streak in streaks.items():
        concerned = rows.filter(name__in=[name]) if name else rows
        if not name and streak.concerned:
            concerned = rows.filter(name__in=streak.concerned)
        due = [row for row in concerned.order_by("name") if not {row.name, EVERYWHERE} & paused]
        if due and streak.toward_pause < MOST_IN_A_ROW:
            continue
        for row in due:
            why = say("paused.failures", what=streak.what)
            pause(actor=SYSTEM, cluster=cluster, partition=row, reason=why)
            log.warning("partition paused", cluster=cluster.name, partition=row.name, reason=why)
        counted[name] = replace(streak, toward_pause=0)
    if counted != dict(streaks):
        CycleMeter.objects.filter(cluster=cluster).update(failing=written(counted))
