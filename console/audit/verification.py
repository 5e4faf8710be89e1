"""Is the audit log whole: row by row, against its head, against the anchors, and guarded by its triggers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Max

from console.audit import triggers
from console.audit.anchors import Anchor, BrokenAnchorError, anchor_file, read_anchors
from console.audit.canonical import FIELDS, GENESIS, row_hash
from console.audit.models import AuditEntry, AuditHead
from console.audit.witnesses import witnesses
from console.core import clock
from scheduler.model.words import names

CHUNK = 1000
UNANCHORED_AT_MOST = timedelta(minutes=10)
"""Anchors are written every minute: older rows without any anchor mean that nobody writes them."""

_COLUMNS = ("id", "hash", *FIELDS)


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
        return (
            f"Nothing outside the database proves the rows after row {self.anchored}, the last one that was anchored, "
            f"on {self.anchored_at:%F %T} UTC: {count} up to row {self.last}."
        )


class _BrokenRowError(Exception):
    """The first row that is not what it was."""


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
            self.found.faults.append(f"{error} What follows it was not compared.")
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
                raise _BrokenRowError(
                    f"Row {sequence} is not the one that was anchored on {self.next.at:%F %T} UTC: "
                    "the log was rewritten there or before."
                )
            if self.next.sequence < sequence:
                self.found.faults.append(
                    f"The anchors in {self.path} are out of order at row {self.next.sequence}."
                )
            self.next = self._read()

    def finish(self, last: int) -> None:
        """Anchors beyond the last row, and a file that lost lines of its own."""
        if self.next and self.next.sequence > last:
            self.found.faults.append(
                f"Row {last + 1} is missing, the log's end was cut off: row {self.next.sequence} was "
                f"the last one on {self.next.at:%F %T} UTC (anchored in {self.path})."
            )
        elif self.found.anchored < self.expected:
            self.found.faults.append(
                f"{self.path} has lost anchors: row {self.expected} was anchored and is not in it any more."
            )


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
        found.faults.insert(0, str(broken))
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
        raise _BrokenRowError(f"Row {place.sequence} is not the one that was verified before, or is gone.")


def _verify_rows(found: Verification, anchors: _Anchors, until: int) -> None:
    rows = _stream(found.last, until)
    while True:
        expected = found.last + 1
        try:
            row = next(rows, None)
            if row is None and not found.complete and found.last < until:
                raise _BrokenRowError(f"Row {expected} is missing: there are later ones.")
            if row is None:
                return
            _verify_row(row, expected, found.hash)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            # What stands in the database is not even a time, a number or JSON.
            raise _BrokenRowError(f"Row {expected} was changed: it cannot be read ({error}).") from None
        anchors.compare(expected, row["hash"])
        found.hash = row["hash"]
        found.rows, found.last = found.rows + 1, expected


def _stream(after: int, until: int) -> Iterator[dict[str, Any]]:
    rows = AuditEntry.objects.filter(sequence__gt=after, sequence__lte=until).order_by("sequence")
    return iter(rows.values(*_COLUMNS).iterator(chunk_size=CHUNK))


def _verify_row(row: dict[str, Any], expected: int, previous: str) -> None:
    if row["sequence"] != expected:
        raise _BrokenRowError(f"Row {expected} is missing: the next one there is row {row['sequence']}.")
    follows = row["previous_hash"] == previous
    if row["id"] != expected or row_hash(row) != row["hash"]:
        where = "" if follows else ", or another row was put in its place"
        raise _BrokenRowError(f"Row {expected} was changed{where}: its hash does not fit what it says.")
    if not follows:
        raise _BrokenRowError(
            f"Row {expected} does not follow row {expected - 1}: "
            "one of them was replaced or the order was changed."
        )


def _compare_head(found: Verification, head: AuditHead | None) -> None:
    if head is None:
        if found.last:
            found.faults.append("The head of the log is gone from the database.")
    elif head.sequence > found.last:
        found.faults.insert(
            0,
            f"Row {found.last + 1} is missing, the log's end was cut off: its head is row {head.sequence}.",
        )
    elif head.sequence < found.last:
        found.faults.append(
            f"Row {head.sequence + 1} was not added by Giveway: the head is row {head.sequence}."
        )
    elif head.hash != found.hash:
        found.faults.append(f"The head's hash is not that of row {found.last}.")


def _judge_emptiness(found: Verification) -> None:
    there = [] if found.last or found.faults else witnesses()
    if there:
        found.faults.append(
            f"The log is empty, but there are {names(there)}: it was emptied, or another one was put in its place."
        )


def _judge_missing_file(found: Verification, head: AuditHead | None) -> None:
    path = anchor_file()
    if head and head.anchored:
        found.faults.append(f"{path} is gone: row {head.anchored} was anchored in it.")
        return
    oldest = AuditEntry.objects.order_by("sequence").values_list("at", flat=True).first()
    if oldest is None:
        return
    if clock.now() - oldest > UNANCHORED_AT_MOST:
        found.faults.append(
            f"No anchor was ever written to {path}; the periodic task `audit anchor` does not run."
        )
    else:
        found.notes.append(f"There is no anchor in {path} yet; one is written every minute.")
