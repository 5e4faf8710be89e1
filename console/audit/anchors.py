"""The head of the log, written down outside the database: cutting off the log's end is noticed by it.

`<GIVEWAY_HOME>/audit-anchors.log` has one line per anchor: time (UTC), number of the last row, its hash.
Lines are only appended. The same goes to the process's log, for whoever collects logs on another machine.
"""

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import F

from console.audit.models import AuditHead
from console.audit.syslog import tell_syslog
from console.core import clock

logger = logging.getLogger(__name__)

FILE = "audit-anchors.log"
ROWS = 100
"""As many rows are added at most before an anchor is written, within the minute."""
QUIET_S = 3600.0
_TAIL = 400
_LINE = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (\d{1,18}) ([0-9a-f]{64})\n?")


class BrokenAnchorError(Exception):
    """A line of the anchor file that is none; `line` is its number."""

    def __init__(self, path: Path, line: int) -> None:
        super().__init__(f"Line {line} of {path} is not an anchor.")
        self.line = line


@dataclass(frozen=True, slots=True)
class Anchor:
    """At `at`, row `sequence` was the last one and had this hash."""

    at: datetime
    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%dT%H:%M:%SZ} {self.sequence} {self.hash}"


def anchor_file() -> Path:
    """Where the anchors are."""
    home: Path = settings.HOME
    return home / FILE


def write_anchor(*, anew: bool = True) -> Anchor | None:
    """Append the present head to the file; None when there is no row yet.

    `anew`: also to a file that has lost what was written to it. Nobody but a person may do that: the loss would not be
    seen any more.

    The file is on disk before the database knows of it: after a crash between the two the file has one line
    more, which is as true as the others.
    """
    with transaction.atomic():
        head = AuditHead.objects.select_for_update().filter(sequence__gt=0).first()
        if head is None:
            return None
        if not (anew or _goes_on(head)):
            logger.error("no anchor was written: %s has lost row %d", anchor_file(), head.anchored)
            return None
        anchor = Anchor(clock.now(), head.sequence, head.hash)
        _append(anchor_file(), f"{anchor}\n".encode())
        head.anchored = head.sequence
        head.save(update_fields=["anchored"])
    logger.info("audit anchor %s", anchor)
    tell_syslog(f"audit anchor {anchor}")
    return anchor


def anchor_if_due() -> Anchor | None:
    """An anchor when rows were added since the last one, or when that is an hour old: it says that there were none."""
    path, now = anchor_file(), clock.now().timestamp()
    added = AuditHead.objects.filter(sequence__gt=F("anchored")).exists()
    quiet = not path.exists() or now - path.stat().st_mtime >= QUIET_S
    return write_anchor(anew=False) if added or quiet else None


def anchor_soon(head: AuditHead, had: int) -> None:
    """Called where rows are added, after the head was moved from row `had`: every hundred rows are anchored, when they
    are committed.

    A row is no worse for an anchor that could not be written: the log says so, and the next minute tries again.
    """
    if (head.sequence - head.anchored) // ROWS > (had - head.anchored) // ROWS:
        transaction.on_commit(partial(write_anchor, anew=False), robust=True)


def _goes_on(head: AuditHead) -> bool:
    """Whether the file still ends with the anchor that was written last, or a later one."""
    if head.anchored == 0:
        return True
    path = anchor_file()
    if not path.exists():
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        found = _LINE.findall(file.read())
    return bool(found) and int(found[-1][1]) >= head.anchored


def read_anchors(path: Path, size: int) -> Iterator[Anchor]:
    """The anchors in the first `size` bytes of the file; `BrokenAnchorError` at a line that is none."""
    with path.open("rb") as file:
        number = 0
        while file.tell() < size:
            number += 1
            line = file.readline(200)
            match = _LINE.fullmatch(line)
            if match is None:
                raise BrokenAnchorError(path, number)
            at, sequence, row_hash = (part.decode() for part in match.groups())
            yield Anchor(datetime.fromisoformat(at), int(sequence), row_hash)


def _append(path: Path, line: bytes) -> None:
    """The whole line, on the disk when this returns. One that a crash left unfinished is not glued to ours."""
    new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        length = os.fstat(descriptor).st_size
        torn = length > 0 and os.pread(descriptor, 1, length - 1) != b"\n"
        _write_whole(descriptor, b"\n" + line if torn else line, length)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if new:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_whole(descriptor: int, line: bytes, length: int) -> None:
    """All of it or nothing: a disk that becomes full takes the beginning of a line without a word, and such a piece
    would be taken for tampering ever after. `length`: the file's, before."""
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    except OSError:
        os.ftruncate(descriptor, length)
        raise
