"""Is the audit log whole: row by row, against its head, against the anchors, and guarded by its triggers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Max

from console.audit import triggers
from console.audit.anchors import Anchor, BrokenAnchorError, anchor_file, read_anchors
from console.audit.canonical import FIELDS, GENESIS, SAID, row_hash
from console.audit.contributions import witnesses
from console.audit.models import AuditEntry, AuditHead
from console.core import clock
from scheduler.model.sentence import Listed, Sentence, say

CHUNK = 1000
UNANCHORED_AT_MOST = timedelta(minutes=10)
"""Anchors are written every minute: older rows without any anchor mean that nobody writes them."""

_COLUMNS = ("id", "hash", *FIELDS, SAID)


@dataclass(frozen=True, slots=True)
class VerifiedRow:
    """A row that was verified before: its number and hash. The beginning of the log by default."""

    sequence: int = 0
    hash: str = GENESIS


BEGINNING = VerifiedRow()


@dataclass(slots=True)
class Verification:
    """What was found: `rows` are good, up to row `last`; `faults` name the first broken row first.

    Not `complete`: it stopped before the log's end because it was told to, and goes on from `place`.
    """

    rows: int = 0
    last: int = 0
    hash: str = GENESIS
    anchored: int = 0
    anchored_at: datetime | None = None
    complete: bool = True
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def place(self) -> VerifiedRow:
        """The last good row."""
        return VerifiedRow(self.last, self.hash)

    @property
    def unproven(self) -> str:
        """Since when nothing outside the database speaks for the rows, exactly; empty when something does for all."""
        count = self.last - self.anchored
        if count <= 0 or self.anchored_at is None:
            return ""
        moment = f"{self.anchored_at:%F %T}"
        return say("audit.unproven", n=self.anchored, moment=moment, m=count, row=self.last)


class _BrokenRowError(Exception):
    """The first row that is not what it was."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class _Anchors:
    """The anchors beside the rows: both come in the order of the rows' numbers, neither is kept."""

    def __init__(self, found: Verification, head: AuditHead | None, size: int | None) -> None:
        self.found = found
        self.expected = head.anchored if head and size is not None else 0
        self.path = anchor_file()
        self.source = iter(()) if size is None else read_anchors(self.path, size)
        self.next = self._read()
        while self.next and self.next.sequence <= found.last:  # compared when those rows were
            self.next = self._read()

    def _read(self) -> Anchor | None:
        try:
            anchor = next(self.source, None)
        except BrokenAnchorError as error:
            self.found.faults.append(say("audit.anchors.broken", n=error.line, path=str(self.path)))
            self.expected = 0
            return None
        if anchor:
            self.found.anchored = max(self.found.anchored, anchor.sequence)
            self.found.anchored_at = anchor.at
        return anchor

    def compare(self, sequence: int, hash_: str) -> None:
        """Raises when an anchor of this row has another hash."""
        while self.next and self.next.sequence <= sequence:
            if self.next.sequence == sequence and self.next.hash != hash_:
                moment = f"{self.next.at:%F %T}"
                raise _BrokenRowError(say("audit.row.not_anchored", n=sequence, moment=moment))
            if self.next.sequence < sequence:
                out_of_order = say("audit.anchors.order", path=str(self.path), n=self.next.sequence)
                self.found.faults.append(out_of_order)
            self.next = self._read()

    def finish(self, last: int) -> None:
        """Anchors beyond the last row, and a file that lost lines of its own."""
        if self.next and self.next.sequence > last:
            next_, moment, path = self.next.sequence, f"{self.next.at:%F %T}", str(self.path)
            cut_off = say("audit.end.cut_off.anchored", n=last + 1, m=next_, moment=moment, path=path)
            self.found.faults.append(cut_off)
        elif self.found.anchored < self.expected:
            self.found.faults.append(say("audit.anchors.lost", path=str(self.path), n=self.expected))


def verify_chain(after: VerifiedRow = BEGINNING, most: int | None = None) -> Verification:
    """Read the log after row `after`, 1,000 rows at a time, and say what is wrong with it; `most` rows at most.

    The anchor file's length is taken first, then the largest row number, then the head: whatever is
    appended meanwhile only makes the later ones larger, so that a busy log is never called broken.
    """
    found = Verification(last=after.sequence, hash=after.hash)
    path = anchor_file()
    size = path.stat().st_size if path.exists() else None
    largest = AuditEntry.objects.aggregate(largest=Max("sequence"))["largest"] or 0
    head = AuditHead.objects.first()
    anchors = _Anchors(found, head, size)
    until = max(largest, head.sequence if head else 0)
    if most is not None and until > after.sequence + most:
        until, found.complete = after.sequence + most, False
    try:
        _verify_place(after)
        _verify_rows(found, anchors, until)
    except _BrokenRowError as broken:
        found.faults.insert(0, broken.sentence)
        found.complete = True
    else:
        if found.complete:
            anchors.finish(found.last)
            _compare_head(found, head)
    if found.complete:
        if size is None:
            _judge_missing_file(found, head)
        _judge_emptiness(found)
        found.faults += triggers.faults(connection)
        if found.unproven:
            found.notes.append(found.unproven)
    return found


def _verify_place(place: VerifiedRow) -> None:
    if place.sequence == 0:
        return
    there = AuditEntry.objects.filter(sequence=place.sequence).values_list("hash", flat=True).first()
    if there != place.hash:
        raise _BrokenRowError(say("audit.row.not_verified", n=place.sequence))


def _verify_rows(found: Verification, anchors: _Anchors, until: int) -> None:
    rows = _stream(found.last, until)
    while True:
        expected = found.last + 1
        try:
            row = next(rows, None)
            if row is None and not found.complete and found.last < until:
                raise _BrokenRowError(say("audit.row.missing", n=expected))
            if row is None:
                return
            _verify_row(row, expected, found.hash)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            # What stands in the database is not even a time, a number or JSON.
            raise _BrokenRowError(say("audit.row.unreadable", n=expected, said=str(error))) from None
        anchors.compare(expected, row["hash"])
        found.hash = row["hash"]
        found.rows, found.last = found.rows + 1, expected


def _stream(after: int, until: int) -> Iterator[dict[str, Any]]:
    rows = AuditEntry.objects.filter(sequence__gt=after, sequence__lte=until).order_by("sequence")
    return iter(rows.values(*_COLUMNS).iterator(chunk_size=CHUNK))


def _verify_row(row: dict[str, Any], expected: int, previous: str) -> None:
    if row["sequence"] != expected:
        raise _BrokenRowError(say("audit.row.skipped", n=expected, m=row["sequence"]))
    follows = row["previous_hash"] == previous
    if row["id"] != expected or row_hash(row) != row["hash"]:
        raise _BrokenRowError(say("audit.row.changed" if follows else "audit.row.exchanged", n=expected))
    if not follows:
        raise _BrokenRowError(say("audit.row.order", n=expected, m=expected - 1))


def _compare_head(found: Verification, head: AuditHead | None) -> None:
    if head is None:
        if found.last:
            found.faults.append(say("audit.head.gone"))
    elif head.sequence > found.last:
        found.faults.insert(0, say("audit.end.cut_off", n=found.last + 1, m=head.sequence))
    elif head.sequence < found.last:
        found.faults.append(say("audit.end.strange", n=head.sequence + 1, m=head.sequence))
    elif head.hash != found.hash:
        found.faults.append(say("audit.head.other", n=found.last))


def _judge_emptiness(found: Verification) -> None:
    there = [] if found.last or found.faults else witnesses()
    if there:
        found.faults.append(say("audit.emptied", what=Listed(there)))


def _judge_missing_file(found: Verification, head: AuditHead | None) -> None:
    path = str(anchor_file())
    if head and head.anchored:
        found.faults.append(say("audit.anchors.gone", path=path, n=head.anchored))
        return
    oldest = AuditEntry.objects.order_by("sequence").values_list("at", flat=True).first()
    if oldest is None:
        return
    if clock.now() - oldest > UNANCHORED_AT_MOST:
        found.faults.append(say("audit.anchors.never", path=path))
    else:
        found.notes.append(say("audit.anchors.not_yet", path=path))
