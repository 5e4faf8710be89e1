"""Ctrl-C, once and twice: what was begun is tidied up, and nobody reads a traceback."""

import signal
from collections.abc import Iterator

import pytest

import manage
from console.launch.management.commands import run


@pytest.fixture
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_the_second_one_does_not_break_off_the_tidying_up() -> None:
    """It left the daemons of a private Slurm running, and their folder."""
    run._listen_for_the_end()
    with pytest.raises(run.StopRequested):
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
