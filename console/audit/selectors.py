"""Reading the audit log."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import get_language

from console.accounts.rules import is_signed_in, reads_everything
from console.audit.canonical import GENESIS, row_hash
from console.audit.contributions import own_rows
from console.audit.models import AuditEntry
from console.audit.told import with_data, with_said
from console.core.diff import KeyChange, KeyDifference, difference_of, differences
from console.core.old_sentences import read_change
from console.core.templatetags.cut import Cut
from console.core.translate import resay
from console.core.ttl_cache import recall_answer
from scheduler.model.sentence import Sentence

MOST_CUTS = 500
"""So many cuts are kept: thousands of names take long to compare."""


def visible_entries(user: Any) -> QuerySet[AuditEntry]:
    """The rows that an account may read, the newest first: all for those who read everything, else one's own
    partitions and projects."""
    if reads_everything(user):
        return AuditEntry.objects.all()
    rows = own_rows(user) if is_signed_in(user) else None
    return AuditEntry.objects.none() if rows is None else AuditEntry.objects.filter(rows)


def first_differences(entry: AuditEntry, most: int) -> Cut:
    """What a row changed, so many keys of it at most: one may have changed thousands of names."""
    key = (entry.hash, most, get_language())  # imports are told in the reader's language
    return recall_answer("differences", key, lambda: _cut(entry, most), most=MOST_CUTS)


def _cut(entry: AuditEntry, most: int) -> Cut:
    whole = entry_differences(entry)
    return Cut(whole[:most], max(0, len(whole) - most))


def entry_differences(entry: AuditEntry) -> list[KeyDifference]:
    """What a row changed, key by key; empty for a row that carries no state."""
    if entry.before is None and entry.after is None:
        return []
    said = entry.said or {}
    if entry.action == "config.imported":
        return _listed(with_data(entry.after, said.get("after")))
    before = with_said(entry.before, said.get("before"))
    after = with_said(entry.after, said.get("after"))
    if before is None:
        return [KeyDifference(key, KeyChange.ADDED, after=value) for key, value in _items(after)]
    if after is None:
        return [KeyDifference(key, KeyChange.REMOVED, before=value) for key, value in _items(before)]
    return differences(before, after)


def _listed(document: Any) -> list[KeyDifference]:
    """The differences that an import lists, line by line; a line of before that cannot be read back stands as it is,
    and how many more there are is said in the reader's language."""
    lines = document.get("changes", ()) if isinstance(document, dict) else ()
    return [_read(line if isinstance(line, Sentence) else str(line)) for line in lines]


def _read(line: str) -> KeyDifference:
    known = difference_of(line) if isinstance(line, Sentence) else read_change(line)
    told = line if ": " in line else resay(line)
    return known or KeyDifference("changes", KeyChange.ADDED, after=told)


def _items(document: Any) -> list[tuple[str, Any]]:
    return list(document.items()) if isinstance(document, dict) else [("", document)]


def hash_fits(entry: AuditEntry) -> bool:
    """Whether a row is what it was when it was written, and follows the row before it."""
    before = AuditEntry.objects.filter(sequence=entry.sequence - 1).values_list("hash", flat=True).first()
    previous = GENESIS if entry.sequence == 1 else before
    return entry.previous_hash == previous and row_hash(vars(entry)) == entry.hash


def neighbours(user: Any, entry: AuditEntry) -> tuple[int | None, int | None]:
    """The numbers of the rows before and after this one, of those that the account may read."""
    numbers = visible_entries(user).values_list("sequence", flat=True)
    older = numbers.filter(sequence__lt=entry.sequence).order_by("-sequence").first()
    newer = numbers.filter(sequence__gt=entry.sequence).order_by("sequence").first()
    return older, newer
