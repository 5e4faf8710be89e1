"""Between a decision and the stops the world goes on: what is looked at again before anybody is stopped."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from console.core import failpoints
from console.steering.models import Plan, PlannedAction
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from tests.steering.conftest import Sim


@pytest.fixture
def once_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Have something happen once, when the process reaches a named point."""

    def set_up(name: str, happens: Callable[[], object]) -> None:
        def at(point: str) -> None:
            if point == name:
                monkeypatch.setattr(failpoints, "at_point", None)
                happens()

        monkeypatch.setattr(failpoints, "at_point", at)

    return set_up


def _stopped(sim: Sim) -> set[str]:
    return {job.id for job in sim.port.observe().jobs if job.restarts}


def test_nobody_is_stopped_when_another_job_has_taken_the_room_that_was_free(
    sim: Sim, once_at: Callable[[str, Callable[[], object]], None]
) -> None:
    """Two CPUs were free, so one victim would have done; before it is stopped an equal job takes them."""
    sim.policy(user_overrides={"ann": "P3", "eve": "P0", "cy": "P0"})
    low = [sim.running("ann", 3), sim.running("ann", 3)]
    other = sim.submit("eve", 2, begin=sim.port.now + 1)
    urgent = sim.submit("cy", 5)

    def hole_is_taken() -> None:
        sim.port.advance(2)
        assert sim.state(other) is JobState.RUNNING

    once_at("act.begun", hole_is_taken)

    sim.cycle()

    assert _stopped(sim) == set()
    # Nobody was hurt, so nothing is to be waited out: the next plan reckons with what is there now.
    sim.cycles(6)
    assert _stopped(sim) == set(low)
    assert sim.state(urgent) is JobState.RUNNING
    assert Plan.objects.filter(state="undone", undo_reason__contains="taken the room").count() == 1


def test_nobody_is_stopped_for_a_job_that_has_started_meanwhile(
    sim: Sim, once_at: Callable[[str, Callable[[], object]], None]
) -> None:
    sim.policy()
    low = sim.running("ann", 6)
    other = sim.running("cy", 2)
    urgent = sim.submit("cy", 2)

    def room_comes() -> None:
        sim.port.cancel(other)
        sim.port.advance(5)

    once_at("act.begun", room_comes)
    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.state(low) is JobState.RUNNING
    assert _stopped(sim) == set()
    assert sim.plan().state == "verified"


def test_nobody_is_stopped_when_the_second_look_fails(
    sim: Sim, once_at: Callable[[str, Callable[[], object]], None]
) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 4)
    once_at("act.prioritise.settled", sim.port.faults.break_down)

    sim.cycle()

    sim.port.faults.mend()
    assert _stopped(sim) == set()
    assert PlannedAction.objects.get(kind="requeue_hold").state == "planned"
    sim.cycle()
    assert len(_stopped(sim)) == 1


def test_nobody_is_stopped_for_a_job_that_its_user_holds_in_the_grace_time(sim: Sim) -> None:
    sim.policy(grace_s=5)
    sim.running("ann", 8)
    urgent = sim.submit("cy", 4)
    sim.cycle()
    sim.port.hold_by_user(urgent)

    sim.cycles(5)  # the plan is over as soon as the victim is known to have survived the signal

    assert _stopped(sim) == set()
    assert sim.plan().state == "undone"
    assert "it is held" in sim.plan().undo_reason


def test_victims_come_back_as_soon_as_the_beneficiary_is_held(sim: Sim) -> None:
    """It cannot use the room: nobody has to wait for the deadline."""
    sim.policy(start_deadline_s=600)
    low = sim.running("ann", 8, completing_s=8)
    urgent = sim.submit("cy", 4)
    sim.cycles(2)
    assert sim.state(low) is JobState.COMPLETING
    sim.port.hold_by_user(urgent)

    sim.cycles(20)

    assert sim.state(low) is JobState.RUNNING
    assert sim.plan().state == "undone"
    # Somebody was stopped in vain: not at once again.
    sim.port.release_by_user(urgent)
    sim.cycles(3)
    assert Plan.objects.count() == 1


def _limited(sim: Sim, monkeypatch: pytest.MonkeyPatch, job: str) -> Callable[[], None]:
    """From the call on Slurm says of a waiting job that a limit of its QOS is reached, and does not start it."""
    observe = sim.port.observe
    on: list[bool] = []

    def seen(*, quick: bool = False) -> Observation:
        told = observe(quick=quick)
        if not on:
            return told
        jobs = [
            replace(each, slurm_reason="QOSGrpCpuLimit")
            if each.id == job and each.state is JobState.PENDING
            else each
            for each in told.jobs
        ]
        return replace(told, jobs=tuple(jobs))

    monkeypatch.setattr(sim.port, "observe", seen)
    return lambda: on.append(True)


def test_nobody_is_stopped_for_a_job_that_has_come_to_a_limit_meanwhile(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy(grace_s=6)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 8)
    reached = _limited(sim, monkeypatch, urgent)
    sim.cycles(3)
    assert Plan.objects.get().state == "executing"

    reached()
    sim.cycles(12)

    assert sim.state(low) is JobState.RUNNING
    assert _stopped(sim) == set()
    plan = Plan.objects.get()
    assert plan.undo_reason == f"{urgent} does not start now: a limit of its QOS is reached (QOSGrpCpuLimit)."
