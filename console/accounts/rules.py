"""Who may do what by role alone, and the predicates that other apps build theirs from.

Every permission is registered with the `rules` library, here or in the `rules.py` of the app that owns the
object: partitions, projects, audit. Asked without an object, a permission over objects means "is there any
such object".
"""

from collections.abc import Callable
from typing import Any, TypeVar

import rules

from console.accounts.models import Role
from console.accounts.permissions import Permission

Person = Any
"""An account, or Django's anonymous user."""
T = TypeVar("T")


@rules.predicate
def is_signed_in(user: Person) -> bool:
    """Any account that is not switched off."""
    return bool(user.is_authenticated and user.is_active)


def _has_role(role: Role) -> rules.Predicate:
    def test(user: Person) -> bool:
        return bool(is_signed_in(user) and user.role == role)

    return rules.predicate(test, name=f"is_{role}")


is_administrator = _has_role(Role.ADMINISTRATOR)
is_auditor = _has_role(Role.AUDITOR)
reads_everything = is_administrator | is_auditor


def once(user: Person, name: str, ask: Callable[[], T]) -> T:
    """What `ask` answers, asked once per user object, which lives as long as its request.

    A list that checks a permission per row would otherwise query per row. Like Django's own cache of
    permissions: somebody who changes what a user may do sees it on the user's next request.
    """
    # `request.user` is a lazy wrapper; the rules get the account itself.
    account = getattr(user, "_wrapped", user)
    kept: dict[str, Any] = account.__dict__.setdefault("_asked_once", {})
    if name not in kept:
        kept[name] = ask()
    answer: T = kept[name]
    return answer


rules.add_perm(Permission.JOB_VIEW, is_signed_in)
rules.add_perm(Permission.PLAN_VIEW, is_signed_in)
