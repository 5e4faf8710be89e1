"""The chain is verified all the time: new rows at once, everything once a day in portions; what was found is kept."""

from datetime import timedelta
from pathlib import Path

import pytest
import time_machine

from console.audit import checks
from console.audit.anchors import write_anchor
from console.audit.checks import chain_state, check_all, check_some
from console.audit.models import AuditEntry, ChainCheck
from console.audit.tasks import verify
from console.celery import app
from tests.audit.conftest import Tampering
from tests.audit.rows import append, append_many
from tests.factories import NOW

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PORTION", 10)


def tamper(tampering: Tampering, row: int) -> None:
    with tampering() as cursor:
        cursor.execute("UPDATE audit_auditentry SET reason = 'other' WHERE sequence = %s", [row])


def whole(rows: int) -> None:
    """A log that has just been verified as a whole."""
    append_many(rows)
    write_anchor()
    for _ in range(rows // 10 + 1):
        check_some()
    state = chain_state()
    assert state.latest and (state.latest.last, state.latest.faults, state.under_way) == (rows, [], None)


def test_everything_is_verified_in_portions() -> None:
    append_many(25)
    write_anchor()
    check_some()
    state = chain_state()
    assert state.latest is None
    assert state.under_way and (state.under_way.last, state.under_way.by) == (10, "giveway")
    check_some()
    check_some()
    state = chain_state()
    assert state.latest and state.full == state.latest
    assert (state.latest.last, state.latest.kind, state.broken, state.under_way) == (25, "full", False, None)


def test_new_rows_are_verified_from_the_last_good_one() -> None:
    whole(20)
    append(3)
    check_some()
    latest = chain_state().latest
    assert latest and (latest.kind, latest.last) == ("new", 23)
    append(2)
    check_some()
    assert ChainCheck.objects.filter(kind="new").count() == 1, "one row a day, carried on"
    assert ChainCheck.objects.get(kind="new").last == 25


def test_a_new_row_that_is_wrong_raises_the_alarm_at_once(tampering: Tampering) -> None:
    whole(20)
    append(3)
    tamper(tampering, 22)
    check_some()
    state = chain_state()
    assert state.broken and state.latest
    assert state.latest.faults[0].startswith("Row 22 was changed")
    row = AuditEntry.objects.get(action="chain.broken")
    assert (row.actor, row.reason) == ("giveway", state.latest.faults[0])


def test_the_row_to_go_on_from_must_be_what_it_was(tampering: Tampering) -> None:
    whole(20)
    append()
    with tampering() as cursor:
        cursor.execute("UPDATE audit_auditentry SET hash = %s WHERE sequence = 20", ["f" * 64])
    check_some()
    latest = chain_state().latest
    assert latest and latest.faults[0].startswith("Row 20 is not the one that was verified before")


def test_an_old_row_is_found_within_a_day_and_the_alarm_stays(tampering: Tampering) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        whole(20)
        tamper(tampering, 5)
        time.shift(HOUR)
        check_some()
        assert not chain_state().broken, "new rows only"
        time.shift(timedelta(days=1))
        check_some()
        assert chain_state().broken
        time.shift(timedelta(minutes=5))
        check_some()
        assert chain_state().broken, "new rows alone do not end the alarm"
        assert AuditEntry.objects.filter(action="chain.broken").count() == 1


def test_the_alarm_ends_when_everything_is_found_whole(tampering: Tampering) -> None:
    with time_machine.travel(NOW, tick=False) as time:
        whole(20)
        original = AuditEntry.objects.get(sequence=5).reason
        tamper(tampering, 5)
        assert check_all("otto").faults
        with tampering() as cursor:
            cursor.execute("UPDATE audit_auditentry SET reason = %s WHERE sequence = 5", [original])
        time.shift(HOUR)
        for _ in range(5):
            check_some()
        assert not chain_state().broken
    assert [
        row.action for row in AuditEntry.objects.filter(action__startswith="chain.").order_by("sequence")
    ] == [
        "chain.broken",
        "chain.whole",
    ]
    assert AuditEntry.objects.get(action="chain.broken").actor == "otto"


def test_rows_cut_out_between_two_portions_are_missed(tampering: Tampering) -> None:
    append_many(45)
    check_some()
    with tampering() as cursor:
        cursor.execute("DELETE FROM audit_auditentry WHERE sequence BETWEEN 11 AND 30")
    check_some()
    latest = chain_state().latest
    assert latest and latest.faults[0].startswith("Row 11 is missing")


def test_a_cut_off_end_is_found_by_the_next_check(tampering: Tampering) -> None:
    whole(20)
    append(3)
    check_some()
    with tampering() as cursor:
        cursor.execute("DELETE FROM audit_auditentry WHERE sequence > 21")
    check_some()
    assert chain_state().broken


def test_guards_that_are_gone_are_found_by_the_next_check(tampering: Tampering) -> None:
    whole(20)
    with tampering():
        check_some()
    latest = chain_state().latest
    assert latest and "The trigger" in latest.faults[0]


def test_an_empty_log_is_no_fault() -> None:
    check_some()
    state = chain_state()
    assert state.latest and (state.latest.last, state.broken, state.late) == (0, False, False)


def test_silence_is_noticed() -> None:
    with time_machine.travel(NOW, tick=False) as time:
        assert chain_state().late
        check_all("otto")
        assert not chain_state().late
        time.shift(HOUR)
        assert chain_state().late


def test_beat_asks_for_it_every_minute() -> None:
    entries = [each for each in app.conf.beat_schedule.values() if each["task"] == verify.name]
    assert [entry["schedule"] for entry in entries] == [60.0]
    verify()
    assert ChainCheck.objects.count() == 1


def test_a_log_that_was_never_anchored_gets_an_anchor_and_no_alarm(anchor_file: Path) -> None:
    append_many(5)
    verify()
    latest = chain_state().latest
    assert latest and (latest.faults, latest.anchored) == ([], 5)
    anchor_file.unlink()
    verify()
    latest = chain_state().latest
    assert latest and "is gone" in latest.faults[0], "what was anchored once and is lost is a fault"
