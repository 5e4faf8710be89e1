"""The timer when the machine's clock jumps: what was due every second is due every second."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery

from console.launch import timer
from console.launch.timer import Timer

NOW = datetime(2026, 10, 25, 0, 59, tzinfo=UTC)


class Clocks:
    """The one on the wall, and the one that only goes forward."""

    def __init__(self) -> None:
        self.wall, self.run = NOW, 1000.0

    def go(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.run += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(timer, "monotonic", lambda: made.run)
    monkeypatch.setattr(Celery, "now", lambda _app: made.wall)
    return made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(
        "celery.beat.Scheduler.apply_async", lambda _self, entry, **_: found.append(entry.name)
    )
    return found


@pytest.fixture
def scheduler(clocks: Clocks) -> Timer:
    app = Celery("of-the-test", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {
        "steer": {"task": "steer", "schedule": 1.0},
        "housekeep": {"task": "housekeep", "schedule": 3600.0},
    }
    return Timer(app=app, lazy=False)


def ticked(scheduler: Timer, clocks: Clocks, sent: list[str], seconds: int) -> list[str]:
    """What is sent within so many seconds."""
    sent.clear()
    for _second in range(seconds):
        clocks.go(1)
        while not scheduler.tick():
            pass
    return sent


@pytest.mark.parametrize(
    "jump", [timedelta(hours=-1), timedelta(seconds=-5), timedelta(hours=1), timedelta(0)]
)
def test_a_clock_that_jumps_stops_nothing(
    scheduler: Timer, clocks: Clocks, sent: list[str], jump: timedelta, caplog: Any
) -> None:
    """Put back by an hour, Celery's own sent nothing for an hour."""
    assert ticked(scheduler, clocks, sent, 5).count("steer") >= 4
    clocks.wall += jump
    assert ticked(scheduler, clocks, sent, 10).count("steer") >= 9


def test_what_is_due_once_an_hour_is_not_due_at_once(
    scheduler: Timer, clocks: Clocks, sent: list[str]
) -> None:
    ticked(scheduler, clocks, sent, 5)
    clocks.wall -= timedelta(hours=1)
    assert "housekeep" not in ticked(scheduler, clocks, sent, 10)
    assert "housekeep" in ticked(scheduler, clocks, sent, 3600)
