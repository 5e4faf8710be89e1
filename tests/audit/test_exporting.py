"""The log as a file: every row that fits and no other, exact as JSON Lines, harmless as CSV, in constant memory."""

import csv
import hashlib
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from django.http import StreamingHttpResponse

from console.audit.canonical import FIELDS, FORMAT, GENESIS
from console.audit.exporting import BOM, COLUMNS, export, safe_cell
from console.audit.models import AuditEntry
from console.audit.services import Subject
from tests.audit.rows import append, append_many

pytestmark = pytest.mark.django_db


def exported(kind: str, wanted: dict[str, Any] | None = None, **filters: Any) -> StreamingHttpResponse:
    rows = AuditEntry.objects.filter(**filters)
    return export(rows, wanted or {}, kind, actor="otto", request_id="r1")


def body(response: StreamingHttpResponse) -> str:
    return response.getvalue().decode()


def read_csv(text: str) -> list[dict[str, str]]:
    assert text.startswith(BOM)
    return list(csv.DictReader(io.StringIO(text.removeprefix(BOM))))


def test_json_lines_are_the_rows_as_they_were_hashed() -> None:
    """Whoever has the file can verify the chain with a dozen lines and without Giveway."""
    append(3, reason="Ünïcode \u202e \x1b[31m\u2028 = 1")
    previous = GENESIS
    text = body(exported("jsonl"))
    assert text.isascii() and "\x1b" not in text
    for line in text.splitlines():
        row = json.loads(line)
        facts = {"format": FORMAT, **{name: row[name] for name in FIELDS}}
        said = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(said.encode()).hexdigest() == row["hash"]
        assert row["previous_hash"] == previous
        previous = row["hash"]
    assert previous == AuditEntry.objects.get(sequence=3).hash


HOSTILE = (
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "＝1+1", "|x", "%0A=1",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_csv_is_calculated(text: str) -> None:
    append(
        subject=Subject("project", text[:50], f"{text} label", cluster="dev", project="p"), reason=f"{text}!"
    )
    (row,) = read_csv(body(exported("csv")))
    for name, cell in row.items():
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "|", "%")), name
        assert not cell.startswith(("\t", "\r", "\n")), name
    assert row["object_label"].startswith("'")


def test_what_is_harmless_stays_as_it_is() -> None:
    assert [safe_cell(each) for each in ("alpha", 7, "3 - 2", "a=b", None, {"b": [1]})] == [
        "alpha", 7, "3 - 2", "a=b", "", '{"b": [1]}',
    ]  # fmt: skip
    assert safe_cell("a\x1b[31m\u202e\x00b") == "a\ufffd[31m\ufffd\ufffdb"
    assert safe_cell("two\nlines") == "two\nlines"


def test_a_csv_survives_quotes_commas_and_lines() -> None:
    append(reason='He said "no", then\n"yes"; done')
    (row,) = read_csv(body(exported("csv")))
    assert row["reason"] == 'He said "no", then\n"yes"; done'
    assert tuple(row) == COLUMNS
    assert json.loads(row["after"]) == {"urgency": 5.5}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_every_row_is_in_it_once_in_order(kind: str) -> None:
    append_many(1203)
    text = body(exported(kind, plan__lte=1150))
    if kind == "csv":
        numbers = [int(row["sequence"]) for row in read_csv(text)]
    else:
        numbers = [json.loads(line)["sequence"] for line in text.splitlines()]
    assert numbers == list(range(1, 1151))


def test_an_export_is_a_row_of_the_log_before_its_first_byte() -> None:
    append(2)
    response = exported("csv", {"project": "alpha"}, project="alpha")
    row = AuditEntry.objects.get(action="log.exported")
    assert row.after is not None
    name = row.after["file"]
    assert row.after == {"filter": {"project": "alpha"}, "rows": 2, "up to row": 2, "file": name}
    assert (row.actor, row.request_id) == ("otto", "r1")
    assert row.sentence == "otto exported 2 rows of the log."
    assert name.startswith("audit-project-alpha-") and name.endswith(".csv")
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    append()
    assert len(read_csv(body(response))) == 2, "what is added meanwhile is not in it"


def test_more_rows_take_no_more_memory() -> None:
    append_many(6000)
    peaks, sizes = [], []
    for last in (1500, 6000):
        response = exported("jsonl", sequence__lte=last)
        tracemalloc.start()
        sizes.append(sum(len(part) for part in response))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sizes[1] > 3.9 * sizes[0]
    assert peaks[1] < 1.2 * peaks[0]


def test_the_recipe_in_the_documentation_verifies_an_export_and_finds_a_change() -> None:
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    recipe = page.read_text().split("```python\n")[1].split("```")[0]
    append(4)
    text = body(exported("jsonl"))

    def run(given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", recipe], input=given, capture_output=True, text=True)

    assert run(text).returncode == 0
    changed = run(text.replace("The date moved.", "The date stayed.", 1))
    assert changed.returncode == 1 and "row 1 was changed" in changed.stderr
    lines = text.splitlines(keepends=True)
    assert "row 3 does not follow" in run(lines[0] + lines[2]).stderr
