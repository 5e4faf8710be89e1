"""The log as a file: one row after the other, never the whole in memory, and every export is a row itself.

JSON Lines is exact: every field as it was hashed, so that the chain can be verified without Giveway. CSV is for
spreadsheets: what they would take for a formula is made text, and control characters are replaced.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.http import StreamingHttpResponse

from console.audit.canonical import FIELDS, SAID
from console.audit.models import AuditEntry
from console.audit.search import file_stem
from console.audit.services import Context, Subject, record
from console.core import clock
from scheduler.model.sentence import say

CHUNK = 500
COLUMNS = (*FIELDS, "hash")
BOM = "\ufeff"
"""Without it, spreadsheets take UTF-8 for something older."""
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠|%]|[\t\r\n]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet calculates: text that begins like a formula gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if isinstance(value, datetime):
        return moment(value)
    if not isinstance(value, str):
        return value
    value = _CONTROL.sub("\ufffd", value)
    return f"'{value}" if _FORMULA.match(value) else value


def moment(at: datetime) -> str:
    """A time exactly as it was hashed."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


class _Line:
    """What the CSV writer writes to: it hands back the line."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A head and a line per row, every text quoted."""
    writer = csv.writer(_Line(), quoting=csv.QUOTE_NONNUMERIC)
    yield BOM + writer.writerow(COLUMNS)
    for row in rows:
        yield writer.writerow([safe_cell(row[column]) for column in COLUMNS])


def json_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A JSON object per line, in ASCII: nothing in it can end a line or steer a terminal."""
    for row in rows:
        hashed = {name: fact for name, fact in row.items() if name != SAID or fact is not None}
        yield json.dumps({**hashed, "at": moment(row["at"])}) + "\n"


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    suffix: str
    content_type: str
    lines: Callable[[Iterable[dict[str, Any]]], Iterator[str]]


FORMATS = {
    "csv": Format("csv", "text/csv; charset=utf-8", csv_lines),
    "jsonl": Format("jsonl", "application/x-ndjson", json_lines),
}


def read_all(rows: QuerySet[AuditEntry], last: int) -> Iterator[dict[str, Any]]:
    """The rows up to number `last`, the oldest first, in many short queries.

    One long query would keep a reader's place in the database open for as long as the slowest download lasts.
    """
    place = 0
    while True:
        wanted = (
            rows.filter(sequence__gt=place, sequence__lte=last).order_by("sequence").values(*COLUMNS, SAID)
        )
        found = list(wanted[:CHUNK])
        yield from found
        if len(found) < CHUNK:
            return
        place = found[-1]["sequence"]


def export(
    rows: QuerySet[AuditEntry], wanted: dict[str, Any], kind: str, *, actor: str, request_id: str
) -> StreamingHttpResponse:
    """The answer that carries `rows`, asked for by `wanted`, as a file; recorded before its first byte leaves.

    It ends with the row that is the last one now: the log may grow while the file is read.
    """
    now, form = clock.now(), FORMATS[kind]
    name = f"{file_stem(wanted, now)}.{form.suffix}"
    last = AuditEntry.objects.aggregate(last=Max("sequence"))["last"] or 0
    count = rows.filter(sequence__lte=last).count()
    with transaction.atomic():
        record(
            actor=actor,
            action="log.exported",
            subject=Subject("log", "export", say("audit.rows.one" if count == 1 else "audit.rows", n=count)),
            after={"filter": wanted, "rows": count, "up to row": last, "file": name},
            context=Context(request_id=request_id),
        )
    lines = form.lines(read_all(rows, last))
    response = StreamingHttpResponse(_portions(lines), content_type=form.content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _portions(lines: Iterator[str]) -> Iterator[bytes]:
    """Some hundred lines at a time: a write per line would be most of the work."""
    held: list[str] = []
    for line in lines:
        held.append(line)
        if len(held) == CHUNK:
            yield "".join(held).encode()
            held = []
    yield "".join(held).encode()
