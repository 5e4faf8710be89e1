"""Contract: what became of jobs that are seen no more."""

from scheduler.model.actions import ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.endings import EndKind
from scheduler.model.jobs import JobState
from tests.contract.harness import Harness, Work, apply_to, start, wait_for


def test_the_ending_of_a_job_says_whose_doing_it_was(harness: Harness) -> None:
    short = harness.submit(Work("ann", "short", ("q",), cpus=2, seconds=2))  # too short to be seen running
    cancelled = start(harness, Work("bob", "cancelled", ("q",), cpus=2))
    signalled = start(harness, Work("cy", "untrapped", ("q",), cpus=2))
    harness.cancel(cancelled.id)
    assert apply_to(harness, ActionKind.SIGNAL, signalled, value="USR1")[0].ok
    wait_for(harness, None, short, cancelled.id, signalled.id)

    told = harness.cluster.ended([short, cancelled.id, signalled.id])

    assert told[short].kind is EndKind.COMPLETED
    assert told[cancelled.id].kind is EndKind.CANCELLED
    assert (told[signalled.id].kind, told[signalled.id].signal) == (EndKind.FAILED, 10)
    assert told[signalled.id].start == signalled.start
    assert all(ending.end and ending.end >= (ending.start or 0) for ending in told.values())


def test_a_waiting_job_that_was_cancelled_has_an_ending(harness: Harness) -> None:
    held = harness.submit(Work("ann", "held", ("q",), held=True))
    wait_for(harness, JobState.PENDING, held)
    harness.cancel(held)
    wait_for(harness, None, held)

    assert harness.cluster.ended([held])[held].kind is EndKind.CANCELLED


def test_a_job_that_has_not_ended_is_alive_and_an_unknown_one_is_left_out(harness: Harness) -> None:
    job = start(harness, Work("ann", "running", ("q",), cpus=2))

    told = harness.cluster.ended([job.id, "999999", "no job"])

    assert {job_id: ending.kind for job_id, ending in told.items()} == {job.id: EndKind.ALIVE}


def test_a_job_that_was_put_back_is_alive(harness: Harness) -> None:
    job = start(harness, Work("ann", "untrapped", ("q",), cpus=2))
    assert [outcome.kind for outcome in apply_to(harness, ActionKind.SIGNAL, job, value="USR1")] == [
        OutcomeKind.DONE
    ]
    wait_for(harness, None, job.id)
    assert apply_to(harness, ActionKind.RECOVER, job, value="USR1")[0] == ActionOutcome(OutcomeKind.DONE)

    assert harness.cluster.ended([job.id])[job.id].kind is EndKind.ALIVE
