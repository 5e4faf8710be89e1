"""Nobody stays held for ever: not by a stop that came late, not by half a table that did not say so."""

from datetime import timedelta

import pytest

from console.audit.models import AuditEntry
from console.core import clock
from console.steering.models import Incident, PlannedAction
from scheduler.model.actions import Action, ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def hide(sim: Sim, *jobs: str) -> None:
    """Observations lack these jobs, and say nothing of it."""
    sim.port.faults.hidden_jobs = frozenset(jobs)


def test_a_victim_that_half_a_table_lacked_is_let_go_when_it_is_seen_again(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=20)
    sim.cycle()
    hide(sim, low)
    sim.cycles(8)
    assert sim.plan().state == "executing", "nobody knows what became of it"
    sim.cycles(6)
    assert (sim.plan().state, sim.plan().outcome) == ("verified", "2 started. 1 was lost.")
    assert sim.port.job(low).held
    hide(sim)

    sim.cycles(6)

    assert not sim.port.job(low).held
    assert sim.plan().state == "verified"
    assert sim.plan().outcome in {"2 started. 1 went back to the queue.", "2 started. 1 came back."}
    incident = Incident.objects.get()
    assert (incident.kind, incident.closed_by, incident.counts) == ("gone", "giveway", False)
    assert AuditEntry.objects.filter(action="plan.executing", reason__contains="still held").count() == 1


def test_a_stop_that_comes_when_it_was_given_up_is_taken_back(sim: Sim) -> None:
    """The sender died with the request on its way; the beneficiary left; then slurmctld got to it."""
    sim.policy()
    low = sim.running("ann", 8)
    run = sim.port.job(low).run
    urgent = sim.submit("cy", 6)
    from console.core import failpoints

    def dies(name: str) -> None:
        if name == "act.requeue_hold.claimed":
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failpoints, "at_point", dies)
        with pytest.raises(KeyboardInterrupt):
            sim.cycle()
    sim.port.cancel(urgent)
    sim.cycles(3)
    assert (sim.plan().state, sim.state(low)) == ("undone", JobState.RUNNING)

    sim.port.apply([Action(ActionKind.REQUEUE_HOLD, run)])
    sim.cycles(8)

    assert sim.state(low) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].detail == "It took effect after all."
    assert sim.plan().state == "undone"


def stopped_and_over(sim: Sim) -> str:
    """A victim that is held by a plan that is over: every action of it is taken for done."""
    sim.policy()
    low = sim.running("ann", 8)
    run = sim.port.job(low).run
    sim.submit("cy", 6, run_time_s=10)
    sim.cycles(6)
    assert sim.plan().state == "verified"
    sim.port.apply([Action(ActionKind.RELEASE, sim.port.job(low).run)])
    sim.cycles(12)
    assert sim.state(low) is JobState.RUNNING
    again = sim.port.job(low).run
    PlannedAction.objects.filter(job_id=low).update(run_start=again.start, run_restarts=again.restarts)
    sim.port.apply([Action(ActionKind.REQUEUE_HOLD, again)])
    assert run != again
    return low


def test_a_release_that_was_seen_to_work_by_mistake_is_done_again(sim: Sim) -> None:
    """Slurm's answer was garbled: a job that was held was taken for running, and stayed held for ever."""
    low = stopped_and_over(sim)

    sim.cycles(8)

    assert sim.state(low) is JobState.RUNNING
    assert sim.plan().state == "verified"


@pytest.mark.parametrize("outcome", ["gone", "refused"])
def test_a_stop_whose_second_try_was_answered_may_have_worked_at_the_first(sim: Sim, outcome: str) -> None:
    low = stopped_and_over(sim)
    stops = PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD, job_id=low)
    stops.update(outcome=outcome, attempts=2)

    sim.cycles(8)

    assert sim.state(low) is JobState.RUNNING


def test_a_stop_that_was_answered_at_the_first_try_was_never_ours(sim: Sim) -> None:
    low = stopped_and_over(sim)
    PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD, job_id=low).update(outcome="gone", attempts=1)

    sim.cycles(8)

    assert sim.port.job(low).held


def test_a_hold_that_somebody_else_set_afterwards_is_respected(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=10)
    sim.cycles(6)
    assert sim.plan().state == "verified"
    sim.port.hold_by_user(low)

    sim.cycles(10)

    assert sim.port.job(low).held
    assert PlannedAction.objects.filter(kind=ActionKind.RELEASE).count() == 1


def test_an_old_plan_does_not_free_a_job_that_a_later_one_holds(
    sim: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=4)
    sim.cycles(12)
    assert sim.state(low) is JobState.RUNNING
    honest = clock.now
    monkeypatch.setattr(clock, "now", lambda: honest() + timedelta(hours=2))
    sim.submit("cy", 6)
    sim.cycle()
    sim.port.advance(1)
    sim.cycle()

    assert sim.plan().state == "executing"
    assert PlannedAction.objects.filter(kind=ActionKind.RELEASE).count() == 2
