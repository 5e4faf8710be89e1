"""What the apps above tell the log: which rows belong to a person, and what would not be there without rows in it (an
empty log beside that was emptied, or is another one)."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q

from console.accounts.models import User

Scope = Callable[[Any], Q | None]
"""From an account to its rows; None when it has none of this kind."""

_scopes: dict[str, Scope] = {}


def add_scope(name: str, scope: Scope) -> None:
    """What `scope` names is visible to the account that it was asked for. Called by an app's `rules.py`."""
    _scopes[name] = scope


def own_rows(user: Any) -> Q | None:
    """The rows about what is the account's own; None when nothing is."""
    result: Q | None = None
    for scope in _scopes.values():
        rows = scope(user)
        if rows is not None:
            result = rows if result is None else result | rows
    return result


Asked = Callable[[], bool]

_witnesses: dict[str, Asked] = {}


def add_witness(what: str, there: Asked) -> None:
    """`what`, in the plural, is only made with a row in the log; `there`: whether there is any. Called by an app's
    `rules.py`."""
    _witnesses[what] = there


def witnesses() -> list[str]:
    """What there is."""
    return [what for what, there in _witnesses.items() if there()]


add_witness("accounts", User.objects.exists)
