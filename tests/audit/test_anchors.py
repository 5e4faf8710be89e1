"""The anchor file: a line for each anchor, never touched again; and the periodic task that writes it."""

import errno
import os
import re
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from console.audit.anchors import anchor_if_due, write_anchor
from console.audit.models import AuditEntry, AuditHead
from console.audit.tasks import anchor
from console.audit.verification import verify_chain
from console.celery import app
from console.settings.env import syslog_address
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


def test_a_disk_that_becomes_full_leaves_no_piece_of_a_line(
    anchor_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system takes what there is room for and says nothing; the piece was an alarm of tampering ever after."""
    append()
    write_anchor()
    before, really = anchor_file.read_bytes(), os.write
    room = [20]

    def write(descriptor: int, line: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return really(descriptor, line[: room.pop()])

    append()
    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space left"):
            write_anchor()
    assert anchor_file.read_bytes() == before
    assert AuditHead.objects.get().anchored == 1, "what is not on the disk is not taken for written"
    write_anchor()
    assert verify_chain().faults == []


def test_beat_asks_for_the_task_every_minute(anchor_file: Path) -> None:
    entries = [entry for entry in settings.CELERY_BEAT_SCHEDULE.values() if entry["task"] == anchor.name]
    assert [entry["schedule"] for entry in entries] == [60.0]
    assert anchor.name in app.tasks
    append()
    anchor()
    assert anchor_file.exists()


def test_every_hundredth_row_is_anchored_when_it_is_committed(
    anchor_file: Path, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        append(99)
    assert not anchor_file.exists()
    with django_capture_on_commit_callbacks(execute=True):
        append(1)
    assert [line.split()[1] for line in anchor_file.read_text().splitlines()] == ["100"]


def test_a_quiet_log_is_anchored_once_an_hour(anchor_file: Path) -> None:
    append()
    assert anchor_if_due() is not None
    assert anchor_if_due() is None
    append()
    assert anchor_if_due() is not None
    os.utime(anchor_file, (0, 0))
    assert anchor_if_due() is not None


def test_the_system_log_gets_every_anchor(anchor_file: Path, settings: Any) -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        settings.GIVEWAY_ANCHOR_SYSLOG = f"127.0.0.1:{receiver.getsockname()[1]}"
        append()
        anchor = write_anchor()
        assert f"giveway: audit anchor {anchor}" in receiver.recv(1000).decode()


def test_a_system_log_that_takes_nothing_stops_nobody_and_is_told(
    anchor_file: Path, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.GIVEWAY_ANCHOR_SYSLOG = str(tmp_path / "nobody-listens")
    append()
    assert write_anchor() is not None
    assert anchor_file.exists()
    assert "was not taken by" in caplog.text


@pytest.mark.parametrize("value", ["loghost", "loghost:x", ":514", "tcp://:1", "loghost:99999"])
def test_a_second_place_that_is_none_stops_the_start(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEWAY_ANCHOR_SYSLOG", value)
    with pytest.raises(ImproperlyConfigured, match="GIVEWAY_ANCHOR_SYSLOG"):
        syslog_address("GIVEWAY_ANCHOR_SYSLOG")


@pytest.mark.parametrize("rest", [None, "", "first line"])
def test_a_file_that_has_lost_anchors_is_not_gone_on_with(anchor_file: Path, rest: str | None) -> None:
    """A new line in it would hide the loss: only a person begins anew."""
    append()
    write_anchor()
    append()
    write_anchor()
    if rest is None:
        anchor_file.unlink()
    else:
        lines = anchor_file.read_text().splitlines(keepends=True)
        anchor_file.write_text(lines[0] if rest else "")
    append()
    assert anchor_if_due() is None
    assert verify_chain().faults != []
    assert write_anchor() is not None
    append()
    assert anchor_if_due() is not None
