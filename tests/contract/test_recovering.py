"""Contract: a job whose script the checkpoint signal has ended goes back into the queue; no other ended job does."""

from scheduler.model.actions import Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, RunKey
from tests.contract.harness import Harness, Work, apply_to, find, start, wait_for


def test_a_job_that_the_signal_has_ended_waits_again_held(harness: Harness) -> None:
    job = start(harness, Work("ann", "untrapped", ("q",), cpus=2))
    assert [outcome.kind for outcome in apply_to(harness, ActionKind.SIGNAL, job, value="USR1")] == [
        OutcomeKind.DONE
    ]
    wait_for(harness, None, job.id)

    assert apply_to(harness, ActionKind.RECOVER, job, value="USR1")[0].kind is OutcomeKind.DONE

    back = find(wait_for(harness, JobState.PENDING, job.id), job.id)
    assert back.held
    assert back.restarts == job.restarts + 1
    assert apply_to(harness, ActionKind.RECOVER, job, value="USR1")[0].kind is OutcomeKind.ALREADY
    assert apply_to(harness, ActionKind.RELEASE, back)[0].ok
    wait_for(harness, JobState.RUNNING, job.id)


def test_a_job_that_ended_by_itself_or_was_cancelled_is_left_in_peace(harness: Harness) -> None:
    short = harness.submit(Work("ann", "short", ("q",), cpus=2, seconds=2))  # too short to be seen running
    cancelled = start(harness, Work("bob", "cancelled", ("q",), cpus=2))
    harness.cancel(cancelled.id)
    wait_for(harness, None, short, cancelled.id)

    runs = [RunKey(short, harness.cluster.ended([short])[short].start or 0), cancelled.run]
    outcomes = harness.cluster.apply([Action(ActionKind.RECOVER, run, value="USR1") for run in runs])

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.GONE, OutcomeKind.GONE]


def test_a_job_that_still_runs_is_left_in_peace(harness: Harness) -> None:
    job = start(harness, Work("ann", "running", ("q",), cpus=2))

    assert apply_to(harness, ActionKind.RECOVER, job, value="USR1")[0].kind is OutcomeKind.GONE

    assert find(harness.cluster.observe(), job.id).run == job.run
