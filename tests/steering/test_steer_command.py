"""`manage.py steer --once`: one whole cycle in the foreground, a line per decision."""

import pytest
from django.core.management import CommandError, call_command

from console.steering import lease
from console.steering.models import Plan
from tests.steering.conftest import Sim


def test_one_cycle_prints_a_line_per_decision_and_acts(sim: Sim, capsys: pytest.CaptureFixture[str]) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    later = sim.submit("ann", 4)

    call_command("steer", "--once")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert f"x {urgent} preempt: {urgent} (cy, P0) needs 6 cpu" in lines[0]
    assert lines[1].startswith(f"x {later} queue: ")
    assert Plan.objects.get().state == "executing"
    assert sim.port.job(low).state.value == "completing"


def test_with_nothing_waiting_it_says_so(sim: Sim, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("steer", "--once")
    assert capsys.readouterr().out == "nothing is waiting\n"


def test_a_cluster_that_cannot_be_observed_is_an_error(sim: Sim) -> None:
    sim.port.faults.break_down("Unable to contact slurm controller")
    with pytest.raises(
        CommandError, match="cannot be observed, so nothing was done: Unable to contact"
    ) as error:
        call_command("steer", "--once")
    assert error.value.returncode == 1


def test_a_cycle_that_is_under_way_is_an_error(sim: Sim) -> None:
    assert lease.take(sim.cluster)
    with pytest.raises(CommandError, match="under way"):
        call_command("steer", "--once")
