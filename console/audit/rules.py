"""Who may read the audit log."""

from typing import Any

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_signed_in, reads_everything
from console.audit.contributions import own_rows
from console.audit.models import AuditEntry
from console.audit.selectors import visible_entries


@rules.predicate
def reads_own_rows(user: Any, entry: AuditEntry | None) -> bool:
    """Without a row: has anything of one's own to read about."""
    if not is_signed_in(user):
        return False
    if entry is None:
        return own_rows(user) is not None
    return visible_entries(user).filter(pk=entry.pk).exists()


rules.add_perm(Permission.AUDIT_VIEW, reads_everything | reads_own_rows)
rules.add_perm(Permission.AUDIT_VIEW_ALL, reads_everything)
