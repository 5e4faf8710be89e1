"""`verify_chain`: a whole log is called whole, and the first broken row is named whatever was done to it."""

import tracemalloc
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.audit import triggers
from console.audit.anchors import write_anchor
from console.audit.canonical import row_hash
from console.audit.models import AuditEntry, AuditHead
from console.audit.services import Context, verify_chain
from tests.audit.conftest import Tampering
from tests.audit.rows import append, append_many
from tests.factories import NOW, make_viewer

pytestmark = pytest.mark.django_db

CHANGES: dict[str, str] = {
    "id": "id + 100",
    "at": "'2020-01-01 00:00:00+00:00'",
    "actor": "'eve'",
    "action": "'project.deleted'",
    "object_type": "'plan'",
    "object_id": "'beta'",
    "object_label": "'beta'",
    "cluster": "'prod'",
    "partition": "'x'",
    "project": "'beta'",
    "job_id": "'101'",
    "before": """'{"urgency": 1}'""",
    "after": "NULL",
    "reason": "'None.'",
    "cycle": "1",
    "plan": "1",
    "policy_revision": "1",
    "request_id": "''",
    "said": "'{}'",
    "previous_hash": "hash",
    "hash": "previous_hash || ''",
}


def faults() -> list[str]:
    return verify_chain().faults


def test_a_whole_log_is_called_whole() -> None:
    append(5)
    found = verify_chain()
    assert (found.rows, found.last, found.faults) == (5, 5, [])


def test_an_empty_log_is_whole() -> None:
    found = verify_chain()
    assert (found.rows, found.last, found.faults, found.notes) == (0, 0, [], [])


def test_every_column_is_covered() -> None:
    assert {field.name for field in AuditEntry._meta.concrete_fields} == {*CHANGES, "sequence"}


@pytest.mark.parametrize("column", CHANGES)
def test_one_changed_column_is_found(column: str, tampering: Tampering) -> None:
    append(4)
    with tampering() as cursor:
        if column == "hash":  # unique: the genesis is nobody's
            cursor.execute("UPDATE audit_auditentry SET hash = %s WHERE sequence = 3", ["0" * 64])
        else:
            cursor.execute(f'UPDATE audit_auditentry SET "{column}" = {CHANGES[column]} WHERE sequence = 3')
    assert len(faults()) == 1
    assert faults()[0].startswith("Row 3 was changed")


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
SAID = TEXT.filter(lambda text: bool(text.strip()))
NUMBER = st.none() | st.integers(0, 2**31 - 1)
DOCUMENT = st.dictionaries(TEXT, TEXT | NUMBER | st.floats(-1e9, 1e9), min_size=1, max_size=3)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "actor": SAID,
            "reason": SAID,
            "before": DOCUMENT,
            "after": DOCUMENT,
            "context": st.builds(Context, cycle=NUMBER, plan=NUMBER, policy_revision=NUMBER),
        }
    ),
    min_size=1,
    max_size=4,
)
OTHER_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(1, 2**31 - 1),
    "sequence": st.integers(1, 2**31 - 1),
    "at": st.datetimes(timezones=st.just(UTC)),
    "hash": st.text("0123456789abcdef", min_size=64, max_size=64),
    "previous_hash": st.text("0123456789abcdef", min_size=64, max_size=64),
    **dict.fromkeys(("before", "after", "said"), st.none() | DOCUMENT),
    **dict.fromkeys(("cycle", "plan", "policy_revision"), NUMBER),
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, data=st.data())
def test_any_change_of_any_field_of_any_row_is_found(
    rows: list[dict[str, Any]], data: st.DataObject, tampering: Tampering
) -> None:
    with transaction.atomic():
        for facts in rows:
            append(**facts)
        assert faults() == []
        victim = data.draw(st.integers(1, len(rows)), label="row")
        field = data.draw(st.sampled_from(sorted({*CHANGES, "sequence"})), label="field")
        row = dict(AuditEntry.objects.values().get(sequence=victim))
        taken = range(1, len(rows) + 1) if field in ("id", "sequence") else (row[field],)
        other = data.draw(
            OTHER_VALUES.get(field, TEXT).filter(lambda value: value not in taken), label="new value"
        )
        with tampering():
            AuditEntry.objects.filter(sequence=victim).update(**{field: other})
        assert faults()[0].startswith(f"Row {victim} ")
        transaction.set_rollback(True)


def test_a_row_with_its_own_hash_made_anew_breaks_the_next(tampering: Tampering) -> None:
    append(4)
    with tampering():
        AuditEntry.objects.filter(sequence=2).update(reason="Another one.")
        AuditEntry.objects.filter(sequence=2).update(
            hash=row_hash(AuditEntry.objects.values().get(sequence=2))
        )
    assert faults() == ["Row 3 does not follow row 2: one of them was replaced or the order was changed."]


def test_a_missing_row_is_named(tampering: Tampering) -> None:
    append(5)
    with tampering() as cursor:
        cursor.execute("DELETE FROM audit_auditentry WHERE sequence IN (2, 3)")
    assert faults() == ["Row 2 is missing: the next one there is row 4."]


def test_rows_that_changed_places_are_found(tampering: Tampering) -> None:
    append(5)
    with tampering() as cursor:
        for old, new in ((2, 99), (4, 2), (99, 4)):
            cursor.execute(
                "UPDATE audit_auditentry SET sequence = %s, id = %s WHERE sequence = %s", [new, new, old]
            )
    assert faults()[0].startswith("Row 2 was changed, or another row was put in its place")


def test_a_cut_off_end_is_found_by_the_head(tampering: Tampering) -> None:
    append(5)
    with tampering() as cursor:
        cursor.execute("DELETE FROM audit_auditentry WHERE sequence > 3")
    assert faults()[0] == "Row 4 is missing, the log's end was cut off: its head is row 5."


def test_a_cut_off_end_with_its_head_set_back_is_found_by_the_anchor(tampering: Tampering) -> None:
    append(5)
    write_anchor()
    with tampering() as cursor:
        cursor.execute("DELETE FROM audit_auditentry WHERE sequence > 3")
    AuditHead.objects.update(sequence=3, hash=AuditEntry.objects.get(sequence=3).hash, anchored=0)
    assert len(faults()) == 1
    assert faults()[0].startswith("Row 4 is missing, the log's end was cut off: row 5 was the last one on ")


def test_a_log_rewritten_from_some_row_on_is_found_by_the_anchor(tampering: Tampering) -> None:
    append(5)
    write_anchor()
    with tampering() as cursor:
        cursor.execute("DELETE FROM audit_auditentry WHERE sequence > 3")
    AuditHead.objects.update(sequence=3, hash=AuditEntry.objects.get(sequence=3).hash, anchored=0)
    append(4, actor="eve")
    assert len(faults()) == 1
    assert faults()[0].startswith("Row 5 is not the one that was anchored on ")


def test_a_forged_row_at_the_end_is_found() -> None:
    append(2)
    row = AuditEntry.objects.values().get(sequence=2)
    row |= {"sequence": 3, "id": 3, "previous_hash": row["hash"], "reason": "Forged."}
    AuditEntry.objects.create(**{**row, "hash": row_hash(row)})
    assert faults() == ["Row 3 was not added by Giveway: the head is row 2."]


def test_a_forged_head_is_found() -> None:
    append(2)
    AuditHead.objects.update(hash="f" * 64)
    assert faults() == ["The head's hash is not that of row 2."]
    AuditHead.objects.all().delete()
    assert faults() == ["The head of the log is gone from the database."]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's columns hold their own types only")
@pytest.mark.parametrize(("column", "value"), [("at", "yesterday"), ("after", "{"), ("cycle", "many")])
def test_a_row_that_cannot_even_be_read_is_named(column: str, value: str, tampering: Tampering) -> None:
    append(3)
    with tampering() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = 1")
        cursor.execute(f'UPDATE audit_auditentry SET "{column}" = %s WHERE sequence = 2', [value])
        cursor.execute("PRAGMA ignore_check_constraints = 0")
    assert faults()[0].startswith("Row 2 was changed")


def test_a_missing_trigger_is_reported() -> None:
    append()
    triggers.remove(connection)
    assert len(faults()) == len(triggers.names(connection.vendor))
    assert "that guards the log is not there" in faults()[0]
    triggers.install(connection)


# --- Anchors ----------------------------------------------------------------------------------------------


def test_a_young_log_without_anchors_is_whole_but_says_so(anchor_file: Path) -> None:
    append()
    found = verify_chain()
    assert found.faults == []
    assert found.notes == [f"There is no anchor in {anchor_file} yet; one is written every minute."]


def test_an_old_log_without_any_anchor_is_a_fault(anchor_file: Path) -> None:
    with time_machine.travel(NOW, tick=False):
        append()
    with time_machine.travel(NOW + timedelta(hours=3), tick=False):
        assert faults() == [
            f"No anchor was ever written to {anchor_file}; the periodic task `audit anchor` does not run."
        ]


def test_rows_after_the_last_anchor_are_fine() -> None:
    append(3)
    write_anchor()
    append(3)
    write_anchor()
    write_anchor()
    append(2)
    found = verify_chain()
    assert (found.rows, found.anchored, found.faults) == (8, 6, [])
    assert found.anchored_at is not None
    assert found.notes == [found.unproven]
    assert found.unproven == (
        "Not proved outside the database: rows after row 6, up to row 8 (2 in all). "
        f"Last anchor: {found.anchored_at:%F %T} UTC."
    )


def test_an_empty_log_beside_accounts_was_emptied() -> None:
    make_viewer("vera")
    assert faults() == [
        "The log is empty, but there are accounts: it was emptied, or another one was put in its place."
    ]


def test_a_removed_anchor_file_is_a_fault(anchor_file: Path) -> None:
    append(3)
    write_anchor()
    anchor_file.unlink()
    assert faults() == [f"{anchor_file} is gone: row 3 was anchored in it."]


def test_an_anchor_file_that_lost_its_last_line_is_a_fault(anchor_file: Path) -> None:
    append(3)
    write_anchor()
    append(3)
    write_anchor()
    anchor_file.write_text(anchor_file.read_text().splitlines(keepends=True)[0])
    assert faults() == [f"{anchor_file} has lost anchors: row 6 was anchored and is not in it any more."]


@pytest.mark.parametrize(
    "line", ["nonsense\n", "\n", "2026-03-02T12:00:00Z 3 abc\n", "x" * 500 + "\n", "\xff\n"]
)
def test_a_broken_line_is_a_fault(line: str, anchor_file: Path) -> None:
    append(3)
    write_anchor()
    with anchor_file.open("a", encoding="latin-1") as file:
        file.write(line)
    assert faults() == [f"Line 2 of {anchor_file} is not an anchor. What follows it was not compared."]


def test_anchors_out_of_order_are_a_fault(anchor_file: Path) -> None:
    append(3)
    write_anchor()
    append(1)
    write_anchor()
    anchor_file.write_text("".join(reversed(anchor_file.read_text().splitlines(keepends=True))))
    assert faults() == [f"The anchors in {anchor_file} are out of order at row 3."]


# --- Size -------------------------------------------------------------------------------------------------


def test_a_long_log_takes_no_more_memory_than_a_short_one(tampering: Tampering) -> None:
    peaks = []
    for rows in (2_000, 8_000):
        with tampering() as cursor:
            cursor.execute("DELETE FROM audit_auditentry")
            cursor.execute("DELETE FROM audit_audithead")
        append_many(rows)
        tracemalloc.start()
        assert verify_chain().rows == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Six thousand rows more would be some 9 MB if they were kept.
    assert peaks[1] < peaks[0] + 2_000_000
