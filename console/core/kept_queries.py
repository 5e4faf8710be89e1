"""Queries that every page asks: Django takes five times longer to build one than the database takes to answer it.

The SQL is kept, in the memory of one process; the answer never is.
"""

import copy
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
MOST = 256
"""So many queries are kept: those of many accounts differ where what they may see does."""


class _KeptQuery(Query):
    """A query whose SQL stands still; `built` is the compiler that has made it."""

    built: SQLCompiler

    def get_compiler(self, using: str | None = None, connection: Any = None, elide_empty: bool = True) -> Any:
        """The same one, on the connection of whoever asks."""
        found = copy.copy(self.built)
        found.connection = connections[using] if using else connection
        return found


@lru_cache(maxsize=MOST)
def _kept(build: Callable[..., QuerySet[Any, Any]], key: tuple[Hashable, ...]) -> QuerySet[Any, Any]:
    queryset = build(*key).all()
    compiler = queryset.query.get_compiler(using=queryset.db)
    try:
        answer = compiler.as_sql()
    except EmptyResultSet:
        return queryset.none()
    compiler.as_sql = lambda *_, **__: answer
    # In place: a queryset that is given another query forgets in which form it hands out its rows.
    queryset.query.__class__ = _KeptQuery
    cast(_KeptQuery, queryset.query).built = compiler
    return queryset


def rows(build: Callable[..., QuerySet[Any, Row]], *key: Hashable) -> list[Row]:
    """What the database has now for `build(*key)`.

    `build` is a function of a module, and its query hangs on nothing but `key`: not on the time, the language or
    what else the database has.
    """
    return list(_kept(build, key).all())
