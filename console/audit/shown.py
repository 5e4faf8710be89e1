"""Rows of the log as pages show them: with what they changed, and equal neighbours as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

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
