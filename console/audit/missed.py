"""Who has changed a thing after somebody had read it, and what: from the rows that stand in the log since then."""

from typing import Any

from console.audit.models import AuditEntry
from console.core.concurrent_changes import MissedChanges
from console.core.diff import differences


def missed_changes(since: int, current: int, **of: Any) -> MissedChanges | None:
    """What became of a thing from version `since` to `current`, each of which has a row; `of`: which rows. None where
    the log has not so many of them, and for a version that there never was."""
    if not 0 < since < current:
        return None
    versions = current - since
    rows = list(AuditEntry.objects.filter(**of).order_by("-sequence")[:versions])
    if len(rows) < versions:
        return None
    who = tuple(dict.fromkeys(row.actor for row in reversed(rows)))
    return MissedChanges(who, differences(rows[-1].before, rows[0].after))


def deleted_by(**of: Any) -> MissedChanges | None:
    """Who has deleted a thing; `of`: the row that says so."""
    row = AuditEntry.objects.filter(**of).order_by("-sequence").first()
    return MissedChanges((row.actor,)) if row else None
