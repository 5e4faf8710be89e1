"""The anchor file: a line for each anchor, never touched again; and the periodic task that writes it."""

import re
from pathlib import Path

import pytest
import time_machine
from django.conf import settings

from console.audit.anchors import write_anchor
from console.audit.models import AuditEntry, AuditHead
from console.audit.tasks import anchor
from console.celery import app
from tests.audit.rows import append
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_an_anchor_is_time_number_and_hash(anchor_file: Path) -> None:
    append(3)
    with time_machine.travel(NOW, tick=False):
        written = write_anchor()
    last = AuditEntry.objects.get(sequence=3)
    assert anchor_file.read_text() == f"2026-03-02T12:00:00Z 3 {last.hash}\n" == f"{written}\n"
    assert AuditHead.objects.get().anchored == 3


def test_lines_are_appended(anchor_file: Path) -> None:
    append()
    write_anchor()
    first = anchor_file.read_bytes()
    append()
    write_anchor()
    assert anchor_file.read_bytes().startswith(first)
    assert len(anchor_file.read_text().splitlines()) == 2


def test_an_empty_log_has_no_anchor(anchor_file: Path) -> None:
    assert write_anchor() is None
    assert not anchor_file.exists()


def test_a_line_torn_by_a_crash_is_not_glued_to_the_next(anchor_file: Path) -> None:
    anchor_file.write_text("2026-03-02T11:00")
    append()
    write_anchor()
    lines = anchor_file.read_text().splitlines()
    assert lines[0] == "2026-03-02T11:00"
    assert re.fullmatch(r"\S+Z 1 [0-9a-f]{64}", lines[1])


def test_an_anchor_is_in_the_log_of_the_process_too(
    anchor_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    append()
    with caplog.at_level("INFO", logger="console.audit.anchors"):
        write_anchor()
    assert anchor_file.read_text().strip() in caplog.text


def test_a_file_that_cannot_be_written_fails_loudly(anchor_file: Path) -> None:
    anchor_file.mkdir()
    append()
    with pytest.raises(IsADirectoryError):
        write_anchor()


def test_beat_asks_for_the_task_every_minute(anchor_file: Path) -> None:
    entries = [entry for entry in settings.CELERY_BEAT_SCHEDULE.values() if entry["task"] == anchor.name]
    assert [entry["schedule"] for entry in entries] == [60.0]
    assert anchor.name in app.tasks
    append()
    anchor()
    assert anchor_file.exists()
