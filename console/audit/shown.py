"""Rows of the log as pages show them: with what they changed, and equal neighbours as one."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Any, Self

from console.audit.models import AuditEntry
from console.audit.selectors import first_differences
from console.core.diff import KeyDifference

LEAST_FOLDED = 3
"""So many rows that say the same are told as one, with their number."""
LISTED, LISTED_ALONE = 50, 1000
"""Differences shown of a row in the log, and on its own page; an export has all of it."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row as it is shown."""

    entry: AuditEntry
    differences: Sequence[KeyDifference]
    more: int = 0
    """How many differences are left out."""

    @classmethod
    def of(cls, entry: AuditEntry, most: int) -> Self:
        """With so many differences at most: a row may have changed thousands of names."""
        found = first_differences(entry, most)
        return cls(entry, found.shown, found.more)


@dataclass(frozen=True, slots=True)
class FoldedRows:
    """Rows that stand one after the other and say the same of different objects; one alone is no fold."""

    lines: Sequence[ShownRow]

    @property
    def first(self) -> ShownRow:
        """The newest."""
        return self.lines[0]

    @property
    def last(self) -> ShownRow:
        """The oldest."""
        return self.lines[-1]

    @property
    def is_folded(self) -> bool:
        """Whether they are many enough to be told as one."""
        return len(self.lines) >= LEAST_FOLDED


def folded(lines: Sequence[ShownRow]) -> list[FoldedRows]:
    """Neighbours by the same actor with the same action and reason, together."""

    def said(line: ShownRow) -> tuple[str, str, str]:
        return line.entry.actor, line.entry.action, line.entry.told_reason

    return [FoldedRows(list(same)) for _key, same in groupby(lines, said)]


CONTEXT = 3
"""Lines that are shown around a change."""
MOST_LINES = 3_000
"""Longer documents are not compared on a page."""


@dataclass(frozen=True, slots=True)
class SideLine:
    """One line of both documents; `skipped` lines that are the same are left out instead of it."""

    before: str | None
    after: str | None
    changed: bool = False
    skipped: int = 0


def side_by_side(before: Any, after: Any) -> list[SideLine] | None:
    """Both documents; empty when there are none, None when they are too long."""
    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) > MOST_LINES:
        return None
    lines: list[SideLine] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            first, last = old_from == 0, old_to == len(old)
            lines += _same(old[old_from:old_to], first=first, last=last)
        else:
            pairs = zip_longest(old[old_from:old_to], new[new_from:new_to])
            lines += [SideLine(left, right, changed=True) for left, right in pairs]
    return lines


def _lines(document: Any) -> list[str]:
    if document is None:
        return []
    # No commas at the ends: a key that comes after a line is no change of that line.
    text = json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True, separators=("", ": "))
    return text.splitlines()


def _same(lines: list[str], *, first: bool, last: bool) -> Iterator[SideLine]:
    """Unchanged lines: the ones near a change, and how many there are between them."""
    head = 0 if first else CONTEXT
    tail = 0 if last else CONTEXT
    hidden = len(lines) - head - tail
    if hidden <= 1:
        yield from (SideLine(line, line) for line in lines)
        return
    yield from (SideLine(line, line) for line in lines[:head])
    yield SideLine(None, None, skipped=hidden)
    yield from (SideLine(line, line) for line in lines[len(lines) - tail :])
