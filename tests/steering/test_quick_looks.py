"""A cycle looks quickly where no nodes change hands, and nobody is stopped on what such a look has kept."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from console.steering import cycle_report, lease
from console.steering.context import CycleContext
from console.steering.cycle_report import Report
from console.steering.failures import Failures
from console.steering.ledger import _Look
from console.steering.models import Plan, PlanKind
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from tests.steering.conftest import Sim


class Looks:
    """What was asked of the cluster; a quick look shows its nodes as they were at the first one."""

    def __init__(self, sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
        self.quick: list[bool] = []
        self._whole = sim.port.observe
        self._nodes = self._whole().nodes
        monkeypatch.setattr(sim.port, "observe", self.observe)

    def observe(self, *, quick: bool = False) -> Observation:
        self.quick.append(quick)
        seen = self._whole()
        return replace(seen, nodes=self._nodes, is_quick=True) if quick else seen


def test_nobody_is_stopped_for_a_node_that_went_away_meanwhile(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    looks = Looks(sim, monkeypatch)
    sim.port.set_node_state("n1", SimNodeState.DRAIN)
    sim.submit("cy", 6)
    sim.cycle()
    assert looks.quick[0] is True and False in looks.quick
    assert sim.state(low) is JobState.RUNNING and sim.port.job(low).restarts == 0


def test_what_becomes_of_a_stop_is_seen_quickly_and_a_stop_that_is_due_looks_whole(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy(grace_s=3)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    looks = Looks(sim, monkeypatch)

    sim.cycles(3)  # the grace time
    assert looks.quick == [True] * 3
    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert looks.quick.count(False) == 1


@pytest.mark.parametrize(
    "change", [{"kind": PlanKind.GROW}, {"kind": PlanKind.WHOLE}, {"victims": [{"how": "swap"}]}]
)
def test_while_nodes_change_hands_every_look_is_whole(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    sim.policy(grace_s=30)
    sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycle()
    Plan.objects.update(**change)
    looks = Looks(sim, monkeypatch)

    cycle_report.observe(sim.cluster, sim.port, Mock(), Report(number=1))

    assert looks.quick == [False]


def test_what_stops_are_checked_by_is_never_a_quick_look(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(sim, monkeypatch)
    held: Any = lease.take(sim.cluster)
    context = CycleContext(sim.port, sim.port.observe(quick=True), held, Failures())
    seen = _Look(context).latest()
    assert seen is not None and not seen.is_quick
    assert looks.quick == [True, False]
    held.release()
