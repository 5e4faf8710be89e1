"""A start is carried out, and its room is not kept against who ranks higher."""

from typing import Any

import pytest

from console.steering.models import Plan, PlanState
from console.steering.replaying import replay
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


@pytest.fixture(autouse=True)
def slurm_leaves_who_could_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.steering.deciding._is_left", lambda job: True)


def put_first(sim: Sim, cpus: int) -> str:
    """A job for which two of eight CPUs are free, and that Slurm leaves waiting: it is put first in line."""
    # Nobody but P0 may have others stopped.
    sim.policy(bands=[[0], [1, 2, 3, None]], cool_down_s=0)
    for _ in range(3):
        sim.running("ann", 2)
    job = sim.submit("bob", cpus)
    for _ in range(3):
        sim.cycle()  # the cluster's clock stands still: nothing starts
    assert (plan_of(job).state, plan_of(job).victims) == (PlanState.EXECUTING, [])
    return job


def plan_of(job: str) -> Plan:
    return Plan.objects.get(job_id=job)


def victims(plan: Plan) -> list[dict[str, Any]]:
    assert replay(plan).differences == (), "planned again from its own input it comes out the same"
    return list(plan.victims)


@pytest.mark.parametrize(("cpus", "stopped"), [(2, 0), (4, 1), (6, 2), (8, 3)])
def test_nobody_more_is_stopped_because_a_lower_job_is_about_to_start(
    sim: Sim, cpus: int, stopped: int
) -> None:
    left = put_first(sim, 2)
    urgent = sim.submit("cy", cpus)

    sim.cycle()

    assert "ranks above" in plan_of(left).undo_reason
    assert stopped == sum(len(victims(plan)) for plan in Plan.objects.filter(job_id=urgent))
    sim.cycles(8)
    assert (sim.state(urgent), sim.state(left)) == (JobState.RUNNING, JobState.PENDING)
    assert plan_of(left).state == PlanState.UNDONE


def test_a_start_goes_on_where_giving_it_up_would_spare_nobody(sim: Sim) -> None:
    left = put_first(sim, 1)
    urgent = sim.submit("cy", 3)

    sim.cycle()

    assert len(victims(plan_of(urgent))) == 1
    assert not plan_of(left).undo_reason
    sim.cycles(8)
    assert (sim.state(urgent), sim.state(left)) == (JobState.RUNNING, JobState.RUNNING)


def test_a_start_goes_on_beside_a_lower_job_that_waits_for_more(sim: Sim) -> None:
    left = put_first(sim, 2)
    sim.submit("ann", 4)

    sim.cycles(4)

    assert sim.state(left) is JobState.RUNNING
    assert not plan_of(left).undo_reason
