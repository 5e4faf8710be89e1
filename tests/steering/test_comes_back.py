"""Whoever is stopped comes back to the place it had, in whatever way it left."""

import pytest

from console.steering.models import ActionState
from scheduler.adapters.simulator.jobs import HeldBy, OnSignal
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


@pytest.mark.parametrize("way", [OnSignal.DIE, OnSignal.IGNORE, OnSignal.CHECKPOINT, OnSignal.REQUEUE])
@pytest.mark.parametrize("grace_s", [0, 3])
def test_a_victim_stands_before_those_who_came_after_it(sim: Sim, way: OnSignal, grace_s: int) -> None:
    """Six jobs of its own level were submitted after it; when the beneficiary ends, none of them takes its room."""
    sim.policy(grace_s=grace_s)
    low = sim.running("ann", 8, on_signal=way)
    later = [sim.submit("ann", 8) for _ in range(6)]
    urgent = sim.submit("cy", 8, run_time_s=20)

    sim.cycles(15)
    assert sim.state(urgent) is JobState.RUNNING
    sim.cycles(25)

    assert sim.state(urgent) is None
    assert sim.state(low) is JobState.RUNNING
    assert {sim.state(job) for job in later} == {JobState.PENDING}


def test_who_answers_by_requeueing_itself_waits_for_no_delay_of_slurms(sim: Sim) -> None:
    """Slurm lets a requeued job wait for two minutes; that is taken off when the beneficiary has ended."""
    sim.policy(grace_s=5)
    low = sim.running("ann", 8, on_signal=OnSignal.REQUEUE)
    urgent = sim.submit("cy", 8, run_time_s=20)
    sim.cycles(12)
    assert sim.state(urgent) is JobState.RUNNING
    assert (sim.port.job(low).held, sim.port.job(low).restarts) == (HeldBy.NO, 1)

    sim.cycles(18)

    assert sim.state(low) is JobState.RUNNING
    assert [a.state for a in sim.actions(ActionKind.RELEASE)] == [ActionState.VERIFIED]


LISTENS = {"on_signal": OnSignal.CHECKPOINT}
DIES = {"on_signal": OnSignal.DIE}


def signalled(sim: Sim) -> set[str]:
    """The jobs that were sent the checkpoint signal."""
    return {action.job_id for action in sim.actions(ActionKind.SIGNAL) if action.issued_at}


def serve(sim: Sim) -> None:
    """An urgent job that gets the whole node, and ends."""
    urgent = sim.submit("cy", 8, run_time_s=10)
    sim.cycles(25)
    assert sim.state(urgent) is None


def test_who_does_not_say_that_it_saves_is_requeued_at_once_without_an_end(sim: Sim) -> None:
    sim.policy(grace_s=60, asked_to_save="who_saves")
    low = sim.running("ann", 8, **DIES)
    urgent = sim.submit("cy", 8, run_time_s=10)
    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING
    assert not signalled(sim) and not sim.actions(ActionKind.RECOVER)
    sim.cycles(15)
    assert sim.state(low) is JobState.RUNNING


@pytest.mark.parametrize(
    ("comment", "value"),
    [
        ("ckpt", "USR1"),
        ("project=a ckpt:batch", "USR1"),
        ("ckpt:steps", "USR1:steps"),
        ("ckpt:all", "USR1:all"),
        ("ckpt:epoch=4", "USR1"),
    ],
)
def test_who_says_that_it_saves_is_asked(sim: Sim, comment: str, value: str) -> None:
    sim.policy(grace_s=60, asked_to_save="who_saves")
    sim.running("ann", 8, comment=comment, **LISTENS)
    sim.cycle()
    serve(sim)

    assert {action.value for action in sim.actions(ActionKind.SIGNAL)} == {value}


@pytest.mark.parametrize("comment", ["", "checkpoint", "ckpts:1", "xckpt"])
def test_other_words_say_nothing(sim: Sim, comment: str) -> None:
    sim.policy(grace_s=60, asked_to_save="who_saves")
    sim.running("ann", 8, comment=comment, **LISTENS)
    sim.cycle()
    serve(sim)

    assert not signalled(sim)


def test_who_has_acknowledged_under_this_name_is_asked_again_until_the_signal_ends_it(sim: Sim) -> None:
    sim.policy(grace_s=5)
    first = sim.running("ann", 8, name="train", **LISTENS)
    serve(sim)
    sim.port.cancel(first)
    sim.policy(grace_s=5, asked_to_save="who_saves")
    second = sim.running("ann", 8, name="train", **DIES)
    other = sim.submit("ann", 8, name="other", **DIES)
    sim.cycle()
    serve(sim)
    assert signalled(sim) == {first, second}

    sim.port.cancel(second)
    sim.port.advance(2)
    assert sim.state(other) is JobState.RUNNING
    sim.port.cancel(other)
    third = sim.running("ann", 8, name="train", **DIES)
    sim.cycle()
    serve(sim)

    assert signalled(sim) == {first, second}
    assert sim.state(third) is JobState.RUNNING


def test_a_plan_waits_for_those_who_save_and_stops_all_together(sim: Sim) -> None:
    sim.policy(grace_s=60, asked_to_save="who_saves")
    saves = sim.running("ann", 4, comment="ckpt", on_signal=OnSignal.CHECKPOINT, checkpoint_s=6)
    silent = sim.running("ann", 4, **DIES)
    sim.cycle()
    urgent = sim.submit("cy", 8)
    sim.cycles(4)
    assert {sim.state(job) for job in (saves, silent)} == {JobState.RUNNING}
    sim.cycles(8)

    assert signalled(sim) == {saves}
    assert sim.state(urgent) is JobState.RUNNING
