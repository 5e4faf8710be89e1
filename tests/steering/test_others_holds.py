"""What a person wants of a job that Giveway has stopped is kept: his own hold, his own begin time."""

from collections.abc import Sequence
from typing import Any

import pytest

from console.steering.models import Fate, Plan, PlannedAction, Victim
from scheduler.model.actions import HELD_BY_ADMIN, HELD_BY_USER, Action, ActionKind, ActionOutcome
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def _stopped(sim: Sim) -> str:
    """ann's job, stopped for one that runs twenty seconds."""
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=20)
    sim.cycle()
    sim.port.advance(3)
    assert sim.port.job(low).reason == "job requeued in held state"
    return low


def _release(sim: Sim) -> PlannedAction:
    (release,) = sim.actions(ActionKind.RELEASE)
    return release


def test_a_job_that_its_user_holds_is_not_let_go(sim: Sim) -> None:
    low = _stopped(sim)
    sim.port.release_by_user(low)  # Slurm's own delay keeps it from starting meanwhile.
    sim.port.hold_by_user(low)

    sim.cycles(12, every_s=3)

    assert (sim.port.job(low).reason, _release(sim).state) == ("JobHeldUser", "expired")
    assert _release(sim).detail == HELD_BY_USER
    assert (sim.plan().state, sim.plan().outcome) == ("verified", "2 started. 1 went back to the queue.")
    victim = Victim.objects.get()
    assert (victim.fate, victim.words) == (Fate.WAITING, "It waits, held by its user.")
    sim.port.release_by_user(low)
    sim.cycles(6, every_s=50)
    assert sim.state(low) is JobState.RUNNING


def test_a_job_that_an_administrator_holds_is_not_let_go(sim: Sim) -> None:
    low = _stopped(sim)
    sim.port.release_by_user(low)
    sim.port.hold_by_admin(low)

    sim.cycles(12, every_s=3)

    assert sim.port.job(low).reason == "JobHeldAdmin"
    assert (_release(sim).state, _release(sim).detail) == ("expired", HELD_BY_ADMIN)
    assert sim.plan().state == "verified"


def test_a_hold_that_comes_in_the_instant_before_the_release_is_left(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look said that the hold is ours; the adapter looks again, and nothing is tried a second time."""
    low = _stopped(sim)
    apply = sim.port.apply

    def held_just_before(actions: Sequence[Action], *rest: Any) -> Sequence[ActionOutcome]:
        if any(action.kind is ActionKind.RELEASE for action in actions):
            sim.port.release_by_user(low)
            sim.port.hold_by_user(low)
        return apply(actions, *rest)

    monkeypatch.setattr(sim.port, "apply", held_just_before)
    sim.cycles(12, every_s=3)

    assert sim.port.job(low).reason == "JobHeldUser"
    release = _release(sim)
    assert (release.state, release.attempts, release.detail) == ("expired", 1, HELD_BY_USER)
    assert sim.plan().state == "verified"


def test_a_job_that_was_let_go_and_that_its_user_then_holds_is_not_let_go_again(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = _stopped(sim)
    apply = sim.port.apply

    def held_right_after(actions: Sequence[Action], *rest: Any) -> Sequence[ActionOutcome]:
        outcomes = apply(actions, *rest)
        if any(action.kind is ActionKind.RELEASE for action in actions):
            sim.port.hold_by_user(low)
        return outcomes

    monkeypatch.setattr(sim.port, "apply", held_right_after)
    sim.cycles(20, every_s=3)

    assert sim.port.job(low).reason == "JobHeldUser"
    assert (_release(sim).state, _release(sim).attempts) == ("verified", 1)


def test_a_job_that_its_user_had_put_back_held_himself_stays_held(sim: Sim) -> None:
    """Our stop found it done already: the same reason, but not our hold."""
    low = _stopped(sim)
    PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).update(outcome="already", attempts=1)

    sim.cycles(12, every_s=3)

    assert sim.port.job(low).held
    assert (_release(sim).state, _release(sim).detail) == ("expired", HELD_BY_USER)


def test_a_second_try_that_finds_it_done_was_our_first(sim: Sim) -> None:
    low = _stopped(sim)
    PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).update(outcome="already", attempts=2)

    sim.cycles(12, every_s=3)

    assert sim.state(low) is JobState.RUNNING
    assert _release(sim).state == "verified"


def test_a_begin_time_that_its_user_sets_meanwhile_is_kept(sim: Sim) -> None:
    low = _stopped(sim)
    begin = sim.port.now + 7200
    sim.port.begin_by_user(low, begin)

    sim.cycles(12, every_s=3)

    assert (sim.port.job(low).reason, sim.port.job(low).begin) == ("BeginTime", begin)
    assert Plan.objects.get().state == "verified"
    sim.port.advance(7200)
    assert sim.state(low) is JobState.RUNNING
