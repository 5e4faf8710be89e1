"""The chain is verified all the time, and what was found is kept: up to which row, when, by whom.

New rows every minute from the last good row on; once a day everything from the first row, a portion a minute, because
other short work waits behind it. A broken log is looked at as a whole again after an hour: it is
called whole only by a check of all of it.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F

from console.audit.canonical import GENESIS
from console.audit.models import ChainCheck, CheckKind
from console.audit.services import SYSTEM, AuditError, Subject, record
from console.audit.verification import VerifiedRow, verify_chain
from console.core import clock
from scheduler.model.sentence import say

logger = logging.getLogger(__name__)

FULL_EVERY = timedelta(days=1)
BROKEN_AGAIN = timedelta(hours=1)
PORTION = 5_000
"""Rows of one portion: less than a second."""
LOOKED_AT = 20
"""Checks among which the latest full one is: there are two or three a day."""
LATE = timedelta(minutes=15)
"""Without a check for so long, the periodic task does not run."""


@dataclass(frozen=True, slots=True)
class ChainState:
    """What is known of the chain: the latest check, the latest one of everything, and how far one under way is."""

    latest: ChainCheck | None
    full: ChainCheck | None
    under_way: ChainCheck | None

    @property
    def broken(self) -> bool:
        """Whether the latest check found a fault."""
        return self.latest is not None and bool(self.latest.faults)

    @property
    def late(self) -> bool:
        """Whether nobody has looked for too long."""
        done = self.latest.finished_at if self.latest else None
        return done is None or clock.now() - done > LATE


def latest_check() -> ChainCheck | None:
    """The latest finished check."""
    return ChainCheck.objects.filter(finished_at__isnull=False).order_by("-finished_at", "-id").first()


def chain_state() -> ChainState:
    """What the page shows of the chain, in one query."""
    latest_first = ChainCheck.objects.order_by(F("finished_at").desc(nulls_first=True), "-id")[:LOOKED_AT]
    under_way = [check for check in latest_first if check.finished_at is None]
    done = [check for check in latest_first if check.finished_at is not None]
    full = [check for check in done if check.kind == CheckKind.FULL]
    return ChainState(next(iter(done), None), next(iter(full), None), next(iter(under_way), None))


def check_all(by: str) -> ChainCheck:
    """Verify the whole log at once, for somebody who asks."""
    check = ChainCheck(kind=CheckKind.FULL, by=by, begun_at=clock.now(), last_hash=GENESIS)
    _go_on(check, None)
    return check


def check_some() -> None:
    """The periodic task's share: what was added, and a portion of the check of everything when that is due."""
    state = chain_state()
    if state.latest and not state.broken:
        _go_on(_carried_on(state.latest), PORTION)
        state = chain_state()
    if state.under_way:
        _go_on(state.under_way, PORTION)
    elif _full_is_due(state):
        begun = ChainCheck(kind=CheckKind.FULL, by=SYSTEM, begun_at=clock.now(), last_hash=GENESIS)
        _go_on(begun, PORTION)


def _full_is_due(state: ChainState) -> bool:
    if state.full is None or state.full.finished_at is None:
        return True
    age = clock.now() - state.full.finished_at
    return age >= (BROKEN_AGAIN if state.broken else FULL_EVERY)


def _carried_on(latest: ChainCheck) -> ChainCheck:
    """The check of new rows that `latest` is, or a new one from its last row on."""
    now = clock.now()
    if latest.kind == CheckKind.NEW and now - latest.begun_at < FULL_EVERY:
        return latest
    place = {"last": latest.last, "last_hash": latest.last_hash}
    return ChainCheck(kind=CheckKind.NEW, by=SYSTEM, begun_at=now, **place)


def _go_on(check: ChainCheck, most: int | None) -> None:
    """Verify from where the check stands, keep what was found, and raise or end the alarm."""
    before = latest_check()
    found = verify_chain(VerifiedRow(check.last, check.last_hash), most)
    check.last, check.last_hash, check.anchored = found.last, found.hash, found.anchored
    check.faults += [fault for fault in found.faults if fault not in check.faults]
    check.notes = found.notes
    done = found.complete or check.kind == CheckKind.NEW
    check.finished_at = clock.now() if done else None
    check.save()
    if not done:
        return
    if check.faults:
        # What is under way has passed rows that may have been changed since: it begins anew.
        ChainCheck.objects.filter(finished_at=None).delete()
    _tell(check, before.faults if before else [])


def _tell(check: ChainCheck, known: list[str]) -> None:
    """A row of the log when it breaks or is whole again; the process's own log says so every time."""
    if check.faults:
        logger.error("audit log broken: %s", check.faults[0])
    if check.faults[:1] == known[:1]:
        return
    facts = {"rows": check.last, "faults": check.faults, "checked": check.kind}
    try:
        with transaction.atomic():
            record(
                actor=check.by,
                action="chain.broken" if check.faults else "chain.whole",
                subject=Subject("log", "chain", say("audit.log")),
                after=facts,
                reason=check.faults[0] if check.faults else "",
            )
    except AuditError:
        logger.exception("the audit log takes no rows; the check is kept beside it")
