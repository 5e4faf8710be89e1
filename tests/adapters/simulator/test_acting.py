"""Answers of the simulated cluster that the contract leaves open, and scripted faults."""

from dataclasses import replace

import pytest

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState
from tests.adapters.simulator.builders import act, cluster, job, state


@pytest.fixture
def sim() -> SimulatedCluster:
    """Two jobs of half a node run: 1, which makes checkpoints, and 2; job 3 waits for a whole one."""
    sim = cluster(completing_s=3)
    sim.submit(replace(job(4), on_signal=OnSignal.CHECKPOINT, checkpoint_s=3))
    sim.submit(job(4))
    sim.submit(job(8))
    sim.advance(5)
    return sim


def test_while_a_requeued_job_completes_its_old_run_is_over(sim: SimulatedCluster) -> None:
    run = sim.job("2").run
    again = Action(ActionKind.REQUEUE_HOLD, run)
    sim.apply([again])

    assert sim.observe().jobs[1].run != run
    assert sim.apply([again])[0].kind is OutcomeKind.ALREADY
    assert sim.apply([Action(ActionKind.CANCEL, run)])[0].kind is OutcomeKind.GONE
    assert sim.apply([Action(ActionKind.SIGNAL, run, value="USR1")])[0].kind is OutcomeKind.GONE
    sim.advance(3)
    assert sim.apply([again])[0].kind is OutcomeKind.ALREADY
    act(sim, ActionKind.RELEASE, "2")
    assert sim.apply([again])[0].kind is OutcomeKind.GONE


@pytest.mark.parametrize("kind", [ActionKind.RELEASE, ActionKind.PRIORITISE, ActionKind.RESTORE_PRIORITY])
def test_a_change_that_comes_while_a_requeued_job_completes_may_be_lost(
    sim: SimulatedCluster, kind: ActionKind
) -> None:
    act(sim, ActionKind.REQUEUE_HOLD, "2")

    outcome = act(sim, kind, "2", "4000000000")

    assert outcome.kind is OutcomeKind.UNKNOWN
    assert "completing" in outcome.detail
    assert act(sim, ActionKind.HOLD, "2").kind is OutcomeKind.ALREADY


@pytest.mark.parametrize("kind", list(ActionKind))
def test_a_job_that_is_ending_by_itself_cannot_be_changed(sim: SimulatedCluster, kind: ActionKind) -> None:
    sim.cancel("1")
    before = sim.observe()

    outcome = act(sim, kind, "1", "1 n1" if kind is ActionKind.KEEP else "1")

    # Only when it has ended will it be known whether there is anything to recover.
    other = {"cancel": OutcomeKind.ALREADY, "recover": OutcomeKind.UNKNOWN, "let_go": OutcomeKind.ALREADY}
    assert outcome.kind is other.get(kind.value, OutcomeKind.GONE)
    assert sim.observe() == before


def test_a_second_signal_during_a_checkpoint_is_not_needed(sim: SimulatedCluster) -> None:
    answers = [act(sim, ActionKind.SIGNAL, "1", "USR1").kind for _ in range(2)]

    assert answers == [OutcomeKind.DONE, OutcomeKind.ALREADY]
    sim.advance(3)
    assert act(sim, ActionKind.SIGNAL, "1", "USR1").kind is OutcomeKind.DONE


@pytest.mark.parametrize("value", ["", "0", "-1", "4294967294", "many", "1.5", "٣"])
def test_a_priority_that_is_no_priority_is_refused(sim: SimulatedCluster, value: str) -> None:
    outcome = act(sim, ActionKind.PRIORITISE, "3", value)

    assert outcome.kind is OutcomeKind.REFUSED
    assert "priority" in outcome.detail
    assert sim.job("3").priority == 1000


def test_a_held_job_takes_no_priority(sim: SimulatedCluster) -> None:
    act(sim, ActionKind.HOLD, "3")

    assert act(sim, ActionKind.PRIORITISE, "3", "5").kind is OutcomeKind.REFUSED
    assert sim.job("3").priority == 0


def test_pending_jobs_can_be_cancelled_but_not_stopped(sim: SimulatedCluster) -> None:
    assert act(sim, ActionKind.SIGNAL, "3", "USR1").kind is OutcomeKind.GONE
    assert act(sim, ActionKind.REQUEUE_HOLD, "3").kind is OutcomeKind.GONE
    assert not sim.observe().jobs[2].held

    assert act(sim, ActionKind.CANCEL, "3").kind is OutcomeKind.DONE
    assert state(sim, "3") is None


def test_a_scripted_refusal_strikes_its_kind_and_job_so_many_times(sim: SimulatedCluster) -> None:
    sim.faults.add(ActionFault(FaultEffect.REFUSE, "not today", ActionKind.REQUEUE_HOLD, "2", times=1))

    assert act(sim, ActionKind.REQUEUE_HOLD, "1").kind is OutcomeKind.DONE
    assert act(sim, ActionKind.HOLD, "3").kind is OutcomeKind.DONE
    assert act(sim, ActionKind.REQUEUE_HOLD, "2") == ActionOutcome(OutcomeKind.REFUSED, "not today")
    assert state(sim, "2") is JobState.RUNNING
    assert act(sim, ActionKind.REQUEUE_HOLD, "2").kind is OutcomeKind.DONE


def test_a_lost_answer_hides_that_the_action_was_carried_out(sim: SimulatedCluster) -> None:
    sim.faults.add(ActionFault(FaultEffect.LOSE_ANSWER, job="2"))

    assert act(sim, ActionKind.REQUEUE_HOLD, "2").kind is OutcomeKind.UNKNOWN
    assert state(sim, "2") is JobState.COMPLETING


def test_a_lost_request_changes_nothing(sim: SimulatedCluster) -> None:
    sim.faults.add(ActionFault(FaultEffect.LOSE_REQUEST))

    assert act(sim, ActionKind.REQUEUE_HOLD, "2").kind is OutcomeKind.UNKNOWN
    assert state(sim, "2") is JobState.RUNNING
    sim.faults.mend()
    assert act(sim, ActionKind.REQUEUE_HOLD, "2").kind is OutcomeKind.DONE


def test_a_partial_answer_lacks_what_could_not_be_read_and_says_so(sim: SimulatedCluster) -> None:
    sim.faults.answer_partially("job 2 could not be decoded", nodes=("n1",), jobs=("2",))

    seen = sim.observe()

    assert seen.degraded
    assert seen.faults == ("job 2 could not be decoded",)
    assert seen.nodes == ()
    assert [job.id for job in seen.jobs] == ["1", "3"]
    sim.faults.mend()
    assert not sim.observe().degraded
