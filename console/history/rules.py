"""Who may see a study of the last days, and cancel it. Asking for one is asking what a change would do."""

from typing import Any

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator, is_signed_in, reads_everything
from console.history.models import Study


@rules.predicate
def has_asked(user: Any, study: Study | None) -> bool:
    """Has asked for it; without one: may have asked for any."""
    return study is None or study.asked_by == user.username


rules.add_perm(Permission.STUDY_VIEW, is_signed_in & (reads_everything | has_asked))
rules.add_perm(Permission.STUDY_CANCEL, is_signed_in & (is_administrator | has_asked))
