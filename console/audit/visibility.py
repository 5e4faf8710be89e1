"""Whose rows are whose. The apps above say which belong to a person: own partitions, own projects."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q

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
