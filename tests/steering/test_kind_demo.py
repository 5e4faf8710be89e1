"""The demonstration, steered for a quarter of an hour of its own clock: it stops somebody, and nobody in vain."""

import pytest

from console.core import clock
from console.partitions.priority_file import import_config
from console.steering import cycle
from scheduler.adapters.simulator.demo_data import DEMO_CONFIG
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.adapters.simulator.state import Happening, What
from tests.steering.conftest import START, Sim

MIN = 60
STEP = 5
"""Seconds between two cycles."""


@pytest.fixture
def demo(db: None, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """As `make run` sets it up."""
    port = SCENARIOS["demo"].build(START)
    monkeypatch.setattr(cycle, "connect", lambda row: port)
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(port.now))
    sim = Sim(port)
    document = {**DEMO_CONFIG, "cluster": sim.cluster.name}
    import_config(actor="ada", cluster=sim.cluster, document=document, reason="Demonstration.", dry_run=False)
    return sim


@pytest.mark.timeout(600)
def test_in_a_quarter_of_an_hour_nobody_is_stopped_twice_or_in_its_first_minute(demo: Sim) -> None:
    demo.cycles(15 * MIN // STEP, every_s=STEP)
    stops = [each for each in demo.port.state.record if each.what is What.STOPPED and each.at >= START]
    assert len(stops) >= 3, "there is something to see"
    assert [each for each in stops if each.at - each.start < MIN] == []
    assert [each for each in stops if _again_within(stops, each, 10 * MIN)] == []


def _again_within(stops: list[Happening], one: Happening, seconds: int) -> bool:
    """Whether a job was stopped once more so soon before."""
    return any(other.job == one.job and 0 < one.at - other.at < seconds for other in stops)
