"""Contract: stopping running jobs: requeue, cancel, signal; and never hitting a later run."""

import pytest

from scheduler.model.actions import Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from tests.contract.harness import (
    HIGHEST,
    PATIENCE_S,
    Harness,
    Work,
    apply_to,
    find,
    start,
    start_interactive,
    state_of,
    wait_for,
    wait_pending,
)

HALF = Work("cy", "half", ("q",), cpus=4)


def _requeue(harness: Harness, *jobs: ObservedJob) -> list[ObservedJob]:
    """Stop jobs and see them back in the queue."""
    assert all(
        outcome.kind is OutcomeKind.DONE for outcome in apply_to(harness, ActionKind.REQUEUE_HOLD, *jobs)
    )
    seen = wait_for(harness, JobState.PENDING, *(job.id for job in jobs))
    return [find(seen, job.id) for job in jobs]


def _requeue_and_run_again(harness: Harness, job: ObservedJob) -> ObservedJob:
    [held] = _requeue(harness, job)
    assert apply_to(harness, ActionKind.RELEASE, held)[0].kind is OutcomeKind.DONE
    return find(wait_for(harness, JobState.RUNNING, job.id), job.id)


def test_many_jobs_are_requeued_by_one_call_and_wait_held(harness: Harness) -> None:
    jobs = [start(harness, HALF) for _ in range(4)]

    for job, requeued in zip(jobs, _requeue(harness, *jobs), strict=True):
        assert requeued.held
        assert requeued.restarts == 1
        assert requeued.start is None
        assert requeued.alloc == {}
        assert requeued.request is not None
        assert requeued.run != job.run


def test_the_beneficiary_takes_the_room_that_the_stopped_jobs_leave(harness: Harness) -> None:
    jobs = [start(harness, HALF) for _ in range(4)]
    other = wait_pending(harness, Work("bob", "earlier", ("q",), cpus=8))
    urgent = wait_pending(harness, Work("ann", "urgent", ("q",), nodes=2, cpus=8))
    assert apply_to(harness, ActionKind.PRIORITISE, urgent, value=HIGHEST)[0].ok

    apply_to(harness, ActionKind.REQUEUE_HOLD, *jobs)

    seen = wait_for(harness, JobState.RUNNING, urgent.id)
    assert set(find(seen, urgent.id).alloc) == {"n3", "n4"}
    assert {state_of(seen, job.id) for job in [*jobs, other]} == {JobState.PENDING}


def test_requeueing_the_same_run_twice_stops_it_once(harness: Harness) -> None:
    job = start(harness, HALF)
    _requeue(harness, job)

    [again] = apply_to(harness, ActionKind.REQUEUE_HOLD, job)

    assert again.kind in {OutcomeKind.ALREADY, OutcomeKind.GONE}
    harness.pass_time(2)
    after = find(harness.cluster.observe(), job.id)
    assert (after.state, after.held, after.restarts) == (JobState.PENDING, True, 1)


def test_a_released_job_runs_again_within_seconds_not_after_slurms_two_minutes(harness: Harness) -> None:
    job = start(harness, HALF)
    before = harness.cluster.observe().taken_at

    again = _requeue_and_run_again(harness, job)

    assert again.start is not None
    assert again.start - before <= PATIENCE_S
    assert again.restarts == 1
    assert again.run != job.run


def test_no_job_is_lost_when_it_is_let_go_on_as_soon_as_it_is_stopped(harness: Harness) -> None:
    """A real slurmd refuses to launch a job in the very second in which it was told to kill it, and the job is lost.

    One job after the other, so that they hit different fractions of a second.
    """
    jobs = [start(harness, Work(user, "short", ("q",))) for user in ("ann", "bob", "cy") * 2]
    ids = [job.id for job in jobs]

    for job in jobs:
        assert apply_to(harness, ActionKind.RELEASE, *_requeue(harness, job))[0].ok

    running = wait_for(harness, JobState.RUNNING, *ids)
    assert {find(running, job_id).restarts for job_id in ids} == {1}
    harness.pass_time(2)
    assert {state_of(harness.cluster.observe(), job_id) for job_id in ids} == {JobState.RUNNING}


@pytest.mark.parametrize("kind", [ActionKind.REQUEUE_HOLD, ActionKind.CANCEL, ActionKind.SIGNAL])
def test_a_late_stop_never_hits_the_next_run(harness: Harness, kind: ActionKind) -> None:
    first = start(harness, Work(partitions=("q",), checkpoints=True))
    second = _requeue_and_run_again(harness, first)

    [late] = apply_to(harness, kind, first, value="USR1" if kind is ActionKind.SIGNAL else "")

    assert late.kind is OutcomeKind.GONE
    harness.pass_time(3)
    after = find(harness.cluster.observe(), first.id)
    assert (after.state, after.run, after.comment) == (JobState.RUNNING, second.run, first.comment)


@pytest.mark.parametrize("kind", [ActionKind.CANCEL, ActionKind.SIGNAL])
def test_a_late_stop_leaves_a_requeued_job_in_the_queue(harness: Harness, kind: ActionKind) -> None:
    job = start(harness, HALF)
    [held] = _requeue(harness, job)

    [late] = apply_to(harness, kind, job, value="USR1" if kind is ActionKind.SIGNAL else "")

    assert late.kind is OutcomeKind.GONE
    harness.pass_time(2)
    after = find(harness.cluster.observe(), job.id)
    assert (after.state, after.run) == (JobState.PENDING, held.run)


def test_a_cancelled_job_is_gone_and_cancelling_it_again_is_harmless(harness: Harness) -> None:
    job = start(harness, HALF)

    assert apply_to(harness, ActionKind.CANCEL, job)[0].kind is OutcomeKind.DONE
    wait_for(harness, None, job.id)

    again = apply_to(harness, ActionKind.CANCEL, job)[0]
    assert again.kind in {OutcomeKind.ALREADY, OutcomeKind.GONE}


def test_a_signal_reaches_the_batch_script_and_its_answer_outlives_the_requeue(harness: Harness) -> None:
    job = start(harness, Work("ann", "training", checkpoints=True))

    assert apply_to(harness, ActionKind.SIGNAL, job, value="USR1")[0].kind is OutcomeKind.DONE
    seen = harness.wait_until(
        lambda seen: find(seen, job.id).comment.startswith("ckpt:"), "the script's answer in the comment"
    )
    saved = find(seen, job.id)
    assert (saved.state, saved.run) == (JobState.RUNNING, job.run)

    [requeued] = _requeue(harness, saved)
    assert requeued.comment == saved.comment


def test_who_stopped_a_job_and_why_stands_with_it_in_the_queue(harness: Harness) -> None:
    job = start(harness, Work("ann", "training", comment="mine"))
    words = "giveway: plan 12 stopped this job to make room for 1234 (bob)"

    harness.cluster.apply([Action(ActionKind.REQUEUE_HOLD, job.run, comment=words)])

    held = find(wait_for(harness, JobState.PENDING, job.id), job.id)
    assert (harness.admin_comment(job.id), held.comment) == (words, "mine")
    harness.cluster.apply([Action(ActionKind.RELEASE, held.run, comment="giveway: plan 12 is over")])
    wait_for(harness, JobState.RUNNING, job.id)
    assert harness.admin_comment(job.id) == "giveway: plan 12 is over"


def test_an_interactive_job_refuses_to_be_requeued_and_goes_on(harness: Harness) -> None:
    job = start_interactive(harness, Work("ann", "notebook"))
    assert not job.batch

    [outcome] = apply_to(harness, ActionKind.REQUEUE_HOLD, job)

    assert outcome.kind is OutcomeKind.REFUSED
    assert "batch" in outcome.detail
    harness.pass_time(2)
    assert find(harness.cluster.observe(), job.id).run == job.run


def test_an_interactive_job_can_be_cancelled(harness: Harness) -> None:
    job = start_interactive(harness, Work("ann", "notebook"))

    assert apply_to(harness, ActionKind.CANCEL, job)[0].kind is OutcomeKind.DONE
    wait_for(harness, None, job.id)


def test_a_job_without_requeue_refuses_and_the_others_of_the_call_are_stopped(harness: Harness) -> None:
    stubborn = start(harness, Work("ann", "once", requeue=False))
    willing = start(harness, HALF)
    assert not stubborn.requeue

    outcomes = apply_to(harness, ActionKind.REQUEUE_HOLD, stubborn, willing)

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.REFUSED, OutcomeKind.DONE]
    assert outcomes[0].detail
    seen = wait_for(harness, JobState.PENDING, willing.id)
    assert find(seen, stubborn.id).run == stubborn.run


def test_one_task_of_an_array_is_requeued_alone(harness: Harness) -> None:
    array = harness.submit(Work("bob", "sweep", ("q",), cpus=4, array_tasks=3))
    ids = [f"{array}_{task}" for task in range(3)]
    tasks = [find(wait_for(harness, JobState.RUNNING, *ids), job_id) for job_id in ids]

    [requeued] = _requeue(harness, tasks[1])

    assert requeued.held
    seen = harness.cluster.observe()
    assert [find(seen, task.id).run for task in (tasks[0], tasks[2])] == [tasks[0].run, tasks[2].run]
    assert apply_to(harness, ActionKind.RELEASE, requeued)[0].ok
    assert find(wait_for(harness, JobState.RUNNING, ids[1]), ids[1]).restarts == 1
