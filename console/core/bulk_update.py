"""Many rows: written in one statement, where Django's own way takes a text of megabytes; deleted in portions."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import connection, models, transaction

from console.core.duty_cycle import take_portions
from console.core.sentence_field import SentenceField

PORTION = 1000
"""Rows that are deleted in one transaction."""
PAUSE_S = 0.1
"""Between two portions: whoever waits for SQLite's lock looks as often for it (its longest wait between two tries)."""
DELETING_S = 5.0


def update_rows(model: type[models.Model], fields: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Write these fields of many rows; each of `rows` has their values, and its key last.

    The fields hold numbers, texts, sentences and JSON. One prepared statement for all: `bulk_update` makes a text of
    megabytes of a thousand rows. All rows or none.
    """
    if not rows:
        return
    table, name = model._meta, connection.ops.quote_name  # noqa: SLF001 - Django's documented name
    columns: list[Any] = [table.get_field(field) for field in fields]
    kinds = (SentenceField, models.JSONField)
    encoded = {place: field for place, field in enumerate(columns) if isinstance(field, kinds)}
    values = [_stored(row, encoded) for row in rows]
    changes = ", ".join(f"{name(column.column)} = %s" for column in columns)
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {name(table.db_table)} SET {changes} WHERE id = %s", values)  # noqa: S608 - names of our own columns


def _stored(row: tuple[Any, ...], encoded: Mapping[int, Any]) -> Sequence[Any]:
    """A row's values as the database takes them: those of `encoded` fields, by their place; plain ones as they are."""
    if not encoded:
        return row
    values = list(row)
    for place, field in encoded.items():
        values[place] = field.get_db_prep_save(values[place], connection)
    return values


def delete_rows(rows: models.QuerySet[Any]) -> int:
    """Delete them in portions, each in a transaction of its own, so that a cycle that writes meanwhile does not wait
    for all of them; how many rows went. Not within a transaction: nothing would be gained.

    After `DELETING_S` of a processor the rest is left for the next time.
    """
    return sum(take_portions(DELETING_S, _deleted(rows)))


def _deleted(rows: models.QuerySet[Any]) -> Iterator[int]:
    gone = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:PORTION]):
        if gone:
            time.sleep(PAUSE_S)
        gone = rows.filter(pk__in=keys).delete()[0]
        yield gone
