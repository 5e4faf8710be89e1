"""Ctrl-C, once and twice, and readers that go: what was begun is tidied up, and nobody reads a traceback."""

import io
import os
import signal
import sys
from collections.abc import Iterator

import pytest

import manage
from console.launch import supervisor


@pytest.fixture
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_the_second_one_does_not_break_off_the_tidying_up() -> None:
    """It left the daemons of a private Slurm running, and their folder."""
    supervisor.listen_for_the_end()
    with pytest.raises(supervisor.StopRequested):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)


def test_a_command_that_is_interrupted_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_argv: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("django.core.management.execute_from_command_line", interrupted)
    with pytest.raises(SystemExit) as ended:
        manage.main()
    assert ended.value.code == manage.INTERRUPTED == 130
    assert capsys.readouterr().err == ""


def test_a_terminal_without_unicode_gets_what_it_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor's arrow ended the doctor."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(
        "django.core.management.execute_from_command_line", lambda _argv: sys.stdout.write("x \u2192 \u4e2d")
    )
    manage.main()
    terminal.flush()
    assert terminal.buffer.getvalue() == b"x ? ?"


def test_whoever_reads_only_the_beginning_gets_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(
        "django.core.management.execute_from_command_line", lambda _argv: sys.stdout.write("x" * 100_000)
    )
    with open(writing, "w", encoding="utf-8") as pipe:  # noqa: PTH123 - a descriptor
        monkeypatch.setattr(sys, "stdout", pipe)
        manage.main()


def test_a_pipe_that_breaks_elsewhere_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_argv: list[str]) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("django.core.management.execute_from_command_line", broken)
    with pytest.raises(BrokenPipeError):
        manage.main()
