"""Contract: a job that its user has made not requeueable is made so again, by itself or right before its stop."""

from scheduler.model.actions import FIRST_ALLOW, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState
from tests.contract.harness import Harness, Work, apply_to, find, start, wait_for, wait_pending

HALF = Work(partitions=("x",), cpus=4)


def test_a_running_job_is_made_requeueable_again_and_then_requeued(harness: Harness) -> None:
    job = start(harness, HALF)
    assert job.requeue
    harness.forbid_requeue("ann", job.id)
    assert not find(harness.cluster.observe(), job.id).requeue
    assert apply_to(harness, ActionKind.REQUEUE_HOLD, job)[0].kind is OutcomeKind.REFUSED

    assert apply_to(harness, ActionKind.ALLOW_REQUEUE, job)[0].kind is OutcomeKind.DONE
    seen = find(harness.cluster.observe(), job.id)
    assert (seen.requeue, seen.run) == (True, job.run)
    assert apply_to(harness, ActionKind.ALLOW_REQUEUE, job)[0].kind is OutcomeKind.ALREADY
    assert apply_to(harness, ActionKind.REQUEUE_HOLD, job)[0].kind is OutcomeKind.DONE
    wait_for(harness, JobState.PENDING, job.id)


def test_a_stop_that_may_does_both(harness: Harness) -> None:
    changed, plain = start(harness, HALF), start(harness, HALF)
    harness.forbid_requeue("ann", changed.id)

    outcomes = apply_to(harness, ActionKind.REQUEUE_HOLD, changed, plain, value=FIRST_ALLOW)

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE] * 2
    seen = wait_for(harness, JobState.PENDING, changed.id, plain.id)
    assert find(seen, changed.id).requeue


def test_a_waiting_job_and_a_task_of_an_array_are_made_requeueable_again(harness: Harness) -> None:
    start(harness, Work(partitions=("x",), cpus=8))
    waiting = wait_pending(harness, HALF)
    array = harness.submit(Work(partitions=("q",), array_tasks=2))
    tasks = [f"{array}_{number}" for number in range(2)]
    seen = wait_for(harness, JobState.RUNNING, *tasks)
    for job_id in (waiting.id, array):
        harness.forbid_requeue("ann", job_id)

    jobs = [waiting, *(find(seen, task) for task in tasks)]
    outcomes = apply_to(harness, ActionKind.ALLOW_REQUEUE, *jobs)

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE] * 3
    seen = harness.cluster.observe()
    assert all(find(seen, job.id).requeue for job in jobs)


def test_a_job_that_has_ended_is_gone(harness: Harness) -> None:
    job = start(harness, HALF)
    harness.cancel(job.id)
    wait_for(harness, None, job.id)
    assert apply_to(harness, ActionKind.ALLOW_REQUEUE, job)[0].kind is OutcomeKind.GONE
