"""Queries that pages ask again and again, with other rows and the same words: their SQL is made once in a process.

Making the SQL of a query takes Django longer than a small database takes to answer it.
"""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

MOST_KEPT = 256
Row = tuple[Any, ...]


class _Compiled(NamedTuple):
    """`converters`: by the place of a column, what makes Python's values of the database's."""

    sql: str
    params: tuple[Any, ...]
    converters: list[tuple[int, list[Callable[..., Any]], Any]]


_made: dict[Hashable, _Compiled | None] = {}


def rows_of(key: Hashable, make: Callable[[], QuerySet[Any, Any]]) -> list[Row]:
    """The rows of a `values_list`. `key`: what is asked, and every value that `make` puts into the query.

    Nothing is remembered of the answer.
    """
    known = (connection.vendor, key)
    if known not in _made:
        if len(_made) >= MOST_KEPT:
            _made.clear()
        _made[known] = _compiled(make())
    query = _made[known]
    if query is None:
        return []
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.params)
        rows: list[Row] = cursor.fetchall()
    return [_converted(row, query) for row in rows] if query.converters else rows


def _compiled(rows: QuerySet[Any, Any]) -> _Compiled | None:
    """None where the conditions leave nothing to be found."""
    compiler = rows.query.get_compiler(connection=connection)
    try:
        sql, params = compiler.as_sql()
    except EmptyResultSet:
        return None
    columns = [expression for expression, _sql, _alias in compiler.select[: compiler.col_count]]
    found = compiler.get_converters(columns).items()
    return _Compiled(sql, tuple(params), [(place, list(by), column) for place, (by, column) in found])


def _converted(row: Row, query: _Compiled) -> Row:
    values = list(row)
    for place, converters, column in query.converters:
        for convert in converters:
            values[place] = convert(values[place], column, connection)
    return tuple(values)
