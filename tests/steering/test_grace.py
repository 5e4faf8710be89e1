"""The grace time is the victim's: it begins with the signal, whatever happened to the worker before."""

from collections.abc import Iterator

import pytest

from console.core import failpoints
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


@pytest.fixture
def dies_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the points at which a cycle ends as by a death; each once."""
    due: list[str] = []

    def at(name: str) -> None:
        if name in due:
            due.remove(name)
            raise KeyboardInterrupt

    monkeypatch.setattr(failpoints, "at_point", at)
    yield due
    assert not due


@pytest.mark.parametrize("point", ["act.prioritise.due", "act.signal.due", "act.signal.claimed"])
def test_the_grace_time_begins_when_the_signal_is_sent(sim: Sim, dies_at: list[str], point: str) -> None:
    sim.policy(grace_s=10, start_deadline_s=30)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    dies_at.append(point)
    with pytest.raises(KeyboardInterrupt):
        sim.cycle()
    sim.port.advance(25)  # nobody steers

    sim.cycles(8)
    assert sim.state(low) is JobState.RUNNING
    sim.cycles(8)

    signal, stop = sim.actions(ActionKind.SIGNAL)[0], sim.actions(ActionKind.REQUEUE_HOLD)[0]
    assert signal.issued_at
    assert stop.issued_at
    assert (stop.issued_at - signal.issued_at).total_seconds() >= 10
    assert sim.state(urgent) is JobState.RUNNING


def test_a_signal_whose_sender_died_is_sent_again_and_only_then_believed(
    sim: Sim, dies_at: list[str]
) -> None:
    sim.policy(grace_s=10)
    low = sim.running("ann", 8, on_signal=OnSignal.CHECKPOINT)
    sim.submit("cy", 6)
    dies_at.append("act.signal.claimed")
    with pytest.raises(KeyboardInterrupt):
        sim.cycle()
    sim.port.advance(5)

    sim.cycles(3)

    assert sim.port.job(low).comment.startswith("ckpt:")
    assert sim.actions(ActionKind.SIGNAL)[0].attempts == 2


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_jumps_by_an_hour_keeps_no_victim_waiting_for_it(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """The worker's clock is put right while the victim's release is being waited for."""
    from datetime import timedelta

    from console.core import clock

    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6, run_time_s=5)
    sim.cycles(2)
    honest = clock.now
    monkeypatch.setattr(clock, "now", lambda: honest() + timedelta(hours=hours))

    sim.cycles(30)

    assert sim.state(urgent) is None
    assert sim.state(low) is JobState.RUNNING
    assert sim.plan().state in {"verified", "undone"}
