"""What is raised in a cycle: kept, logged, and told by its place in words.

A defect in one part must not keep the others from taking back what was begun, and nobody may be stopped on its
account. So every part of a cycle is run under `Failures.kept`: what it raises is noted and the cycle goes on, and from
then on `Failures.holds` says for which partitions nothing may be begun. That the lease is lost, or the database away,
is not kept: the cycle ends there.
"""

import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

from console.audit.services import SYSTEM
from console.cluster.models import Cluster
from console.cluster.services import show_change
from console.core import clock
from console.core.redaction import hide
from console.partitions.models import Partition
from console.steering.journal import tell_cluster
from console.steering.lease import Lease, LeaseLostError
from console.steering.models import CycleMeter, Pause
from console.steering.pausing import pause
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import say

# Failures of cycles, one after the other: what is held back on their account, and from when on.
#
# 1. A cycle in which something was raised begins a streak, or goes on with it.
# 2. While a streak holds, cycles observe, verify and take back; they begin no plan and signal and stop nobody.
# 3. A cycle that ends well lifts the hold. The streak is over only after a second one, in which nothing was held back:
#    what raises whenever somebody is stopped is not well because nobody was.
# One streak is about the whole cycle; a partition that could not be decided on has one of its own and holds up no
# other.


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that was raised. `what`: the place and the exception, in words.

    `partitions`: what was being worked on, empty when that cannot be told. `only_there`: it concerns nothing else.
    `is_defect`: not merely the database that was away.
    """

    what: str
    partitions: frozenset[str] = frozenset()
    only_there: bool = False
    is_defect: bool = True


@dataclass(frozen=True, slots=True)
class Streak:
    """Failures that no good cycle has followed yet. `partition`: the one that they are about, empty for the cycle.

    `what`: the latest, by its place. `concerned`: the partitions that were being worked on, empty when that is not
    known of all of them. `toward_pause`: how many there were since a partition was paused for it.
    """

    partition: str
    what: str
    since: datetime
    in_a_row: int = 1
    toward_pause: int = 0
    holds: bool = True
    concerned: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place and the kind of the exception, without its words: for whoever is not signed in."""
        return ": ".join(self.what.split(": ", 2)[:2])

    @property
    def sentence(self) -> str:
        """In words, for pages and programs."""
        if self.partition:
            return say("cycle.undecided", partition=self.partition, what=self.what)
        return say("cycle.failed", what=self.what)


def read(kept: Mapping[str, Any]) -> dict[str, Streak]:
    """What `CycleMeter.failing` keeps, by partition."""
    return {
        name: Streak(
            **{**row, "since": datetime.fromisoformat(row["since"]), "concerned": tuple(row["concerned"])}
        )
        for name, row in kept.items()
    }


def written(streaks: Mapping[str, Streak]) -> dict[str, Any]:
    """The streaks as `CycleMeter.failing` keeps them."""
    return {name: {**asdict(each), "since": each.since.isoformat()} for name, each in streaks.items()}


def what_holds(streaks: Iterable[Streak]) -> list[Streak]:
    """Those on whose account nobody is stopped now, the whole cycle's first."""
    return sorted((each for each in streaks if each.holds), key=lambda each: each.partition)


def next_streaks(
    before: Mapping[str, Streak], found: Iterable[Failure], now: datetime, *, seen: bool
) -> dict[str, Streak]:
    """The streaks after a cycle in which `found` was raised."""
    by_name: dict[str, list[Failure]] = {}
    for failure in found:
        for name in failure.partitions if failure.only_there else (EVERYWHERE,):
            by_name.setdefault(name, []).append(failure)
    after: dict[str, Streak] = {}
    for name in before.keys() | by_name.keys():
        if name in by_name:
            after[name] = _longer(before.get(name), name, by_name[name], now)
        elif not seen or EVERYWHERE in by_name:
            after[name] = before[name]  # nothing is known of it: it was not come to
        elif before[name].holds:
            after[name] = replace(before[name], holds=False)
    return after


def _longer(before: Streak | None, name: str, found: list[Failure], now: datetime) -> Streak:
    concerned = frozenset().union(*(each.partitions for each in found))
    is_known = all(each.partitions for each in found) and (before is None or bool(before.concerned))
    if before is not None:
        concerned |= frozenset(before.concerned)
    return Streak(
        partition=name,
        what=found[0].what,
        since=before.since if before else now,
        in_a_row=(before.in_a_row if before else 0) + 1,
        toward_pause=(before.toward_pause if before else 0) + any(each.is_defect for each in found),
        concerned=tuple(sorted(concerned)) if is_known else (),
    )


EVERYWHERE = ""
"""In place of a partition: the whole cycle."""
STOOD_STILL = "25P03"
"""PostgreSQL's word for having ended a transaction in which nothing was done for too long."""
LONGEST_SAID = 200
OURS = ("console", "scheduler")

log = structlog.get_logger(__name__)


class Failures:
    """What was raised in one cycle. `held`: the partitions that no cycle has ended well for since an earlier one."""

    def __init__(self, held: Iterable[str] = ()) -> None:
        self.found: list[Failure] = []
        self.held = frozenset(held)

    @contextmanager
    def kept(self, *partitions: str, only_there: bool = False) -> Iterator[None]:
        """Keep what is raised inside, and go on behind it."""
        try:
            yield
        except LeaseLostError:
            raise
        except Exception as error:
            if _is_database_away(error):
                raise
            self.add(error, partitions, only_there=only_there)

    def add(self, error: Exception, partitions: Iterable[str] = (), *, only_there: bool = False) -> None:
        """Note an exception, with its traceback in the log."""
        failure = Failure(
            place_and_words(error), frozenset(partitions), only_there, not _is_database_away(error)
        )
        self.found.append(failure)
        log.error("cycle failed", what=failure.what, partitions=sorted(failure.partitions), exc_info=error)

    def holds(self, partition: str) -> bool:
        """Whether nothing may be begun in the partition: no plan, no signal, no stop."""
        if {EVERYWHERE, partition} & self.held:
            return True
        return any(not each.only_there or partition in each.partitions for each in self.found)


def _is_database_away(error: Exception) -> bool:
    """Whether the database has not answered, or has given up waiting for this process: nobody's defect."""
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "sqlstate", None) == STOOD_STILL
    return isinstance(error, (OperationalError, InterfaceError))


def place_and_words(error: Exception) -> str:
    """`console/steering/ledger.py, line 88 (act): ValueError: …`: our own innermost line, and what was said.

    One line, cut, printable and without secrets: every page shows it.
    """
    said = hide("".join(c if c.isprintable() else " " for c in str(error)))
    said = " ".join(said.split()).rstrip(".")
    if len(said) > LONGEST_SAID:
        said = f"{said[: LONGEST_SAID - 1]}…"
    # A sentence within a sentence could not be said again in another language (console/core/translate.py).
    said = said.replace(". ", "; ")
    kind = type(error).__name__
    return f"{_place(error)}: {kind}: {said}" if said else f"{_place(error)}: {kind}"


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [(frame, name) for frame in frames if (name := _own_path(frame.filename))]
    if not ours:
        return "code that is not Giveway's"
    frame, name = ours[-1]
    return f"{name}, line {frame.lineno} ({frame.name})"


def _own_path(filename: str) -> str:
    """The path within the project; empty for somebody else's file."""
    path = PurePath(filename)
    if not path.is_relative_to(settings.PROJECT_DIR):
        return ""
    own = path.relative_to(settings.PROJECT_DIR)
    return own.as_posix() if own.parts[0] in OURS else ""


# How a cycle ended: written down, told, and where three in a row failed, partitions are paused.
#
# 1. The streaks (`streaks`) are written in the cycle's last transaction, so that a worker that is started again knows
# of
#    them. Where even that fails, this process remembers, and writes them down before its next cycle does anything.
# 2. Audit rows and pauses come after it, in a transaction of their own: what hinders them does not undo the hold.
# 3. Three failures of a streak pause the partitions concerned, which only a person resumes; three more do it again.
# That
#    the database was away counts for no pause: it is nobody's defect.

MOST_IN_A_ROW = 3
STOPS_SOMEBODY = (Enforcement.ENFORCE.value, Enforcement.APPROVE.value)
_unwritten: dict[int, list[Failure]] = {}
"""Failures that could not be written down, by cluster."""

log_ = structlog.get_logger(__name__)


def begin_cycle(cluster: Cluster, lease: Lease) -> Failures:
    """What a new cycle has to heed. Writes down first what the last one could not."""
    unwritten = _unwritten.get(cluster.pk)
    if unwritten:
        with transaction.atomic():
            lease.renew()
            _write(_meter(cluster), unwritten, seen=False)
        del _unwritten[cluster.pk]
    kept = CycleMeter.objects.filter(cluster=cluster).values_list("failing", flat=True).first()
    return Failures(each.partition for each in what_holds(read(kept or {}).values()))


def close_cycle(
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
        log_.exception("the failure of a cycle could not be told", cluster=cluster.name)


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
            log_.warning("partition paused", cluster=cluster.name, partition=row.name, reason=why)
        counted[name] = replace(streak, toward_pause=0)
    if counted != dict(streaks):
        CycleMeter.objects.filter(cluster=cluster).update(failing=written(counted))
