"""One statement for many rows, where Django's own way takes a text of megabytes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models

from console.core.sentence_field import SentenceField


def update_rows(model: type[models.Model], fields: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Write these fields of many rows; each of `rows` has their values, and its key last.

    The fields hold numbers, texts and sentences. One prepared statement for all: `bulk_update` makes a text of
    megabytes of a thousand rows.
    """
    if not rows:
        return
    table, name = model._meta, connection.ops.quote_name  # noqa: SLF001 - Django's documented name
    columns: list[Any] = [table.get_field(field) for field in fields]
    worded = {place: field for place, field in enumerate(columns) if isinstance(field, SentenceField)}
    values = [_stored(row, worded) for row in rows]
    changes = ", ".join(f"{name(column.column)} = %s" for column in columns)
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {name(table.db_table)} SET {changes} WHERE id = %s", values)  # noqa: S608 - names of our own columns


def _stored(row: tuple[Any, ...], worded: Mapping[int, Any]) -> Sequence[Any]:
    """A row's values as the database takes them: those of `worded` fields, by their place; plain ones as they are."""
    if not worded:
        return row
    values = list(row)
    for place, field in worded.items():
        values[place] = field.get_db_prep_save(values[place], connection)
    return values
