"""Queries that every page or every cycle asks: Django takes five times longer to build one than the database to answer.

The SQL is kept, in the memory of one process; the answer never is. Neither are moments, which are others each time:
the SQL has a place for each.
"""

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import DateTimeField, Expression, QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
MOST = 256
"""So many queries are kept: those of many accounts differ where what they may see does."""


class AskedMoment(Expression):
    """The place in a query of a moment that is told whenever it is asked."""

    def __init__(self, name: str) -> None:
        super().__init__(output_field=DateTimeField())
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """Itself stands where its moment will."""
        return "%s", [self]


class _KeptQuery(Query):
    """A query whose SQL stands still; `built` is the compiler that has made it. `moments`: by the names of places."""

    built: SQLCompiler
    moments: Mapping[str, datetime]

    def get_compiler(self, using: str | None = None, connection: Any = None, elide_empty: bool = True) -> Any:
        """The same one, on the connection of whoever asks."""
        found = copy.copy(self.built)
        found.connection = connections[using] if using else connection
        if self.moments:
            sql, parameters = self.built.as_sql()
            answer = sql, _put_in(parameters, self.moments, found.connection)
            found.as_sql = lambda *_, **__: answer  # type: ignore[method-assign]
        return found


def _put_in(parameters: Sequence[Any], moments: Mapping[str, datetime], connection: Any) -> tuple[Any, ...]:
    return tuple(
        each.output_field.get_db_prep_value(moments[each.name], connection)
        if isinstance(each, AskedMoment)
        else each
        for each in parameters
    )


@lru_cache(maxsize=MOST)
def _kept(
    build: Callable[..., QuerySet[Any, Any]], key: tuple[Hashable, ...], names: tuple[str, ...]
) -> QuerySet[Any, Any]:
    queryset = build(*key, **{name: AskedMoment(name) for name in names}).all()
    compiler = queryset.query.get_compiler(using=queryset.db)
    try:
        answer = compiler.as_sql()
    except EmptyResultSet:
        return queryset.none()
    compiler.as_sql = lambda *_, **__: answer
    # In place: a queryset that is given another query forgets in which form it hands out its rows.
    queryset.query.__class__ = _KeptQuery
    kept = cast(_KeptQuery, queryset.query)
    kept.built, kept.moments = compiler, {}
    return queryset


def rows(build: Callable[..., QuerySet[Any, Row]], *key: Hashable, **moments: datetime) -> list[Row]:
    """What the database has now for `build(*key, **moments)`.

    `build` is a function of a module, and its query hangs on nothing but `key` and these moments, with which it
    compares fields: not on the time otherwise, the language or what else the database has.
    """
    asked = _kept(build, key, tuple(moments)).all()
    cast(_KeptQuery, asked.query).moments = moments
    return list(asked)
