"""Making a job requeueable again: by itself, and right before its stop."""

import pytest

from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.write import TRIES, Writer
from scheduler.model.actions import FIRST_ALLOW, NOT_REQUEUEABLE, ActionKind, OutcomeKind
from tests.adapters.slurm.test_writing import changes, cluster, kinds, pending, queue, running, stop

ALLOWED = ("scontrol", "update", "JobId=1,2", "Requeue=1")
REFUSED = CommandAnswer("", "Access/permission denied for job 1\n", 1)


def test_jobs_are_made_requeueable_in_one_call() -> None:
    runner = cluster(*running("1", "2"), requeue=False)
    assert kinds(Writer(runner).apply(stop(ActionKind.ALLOW_REQUEUE, "1", "2"))) == [OutcomeKind.DONE] * 2
    assert changes(runner) == [ALLOWED]


def test_a_waiting_job_too() -> None:
    runner = cluster(*pending("1", "2"), requeue=False)
    assert kinds(Writer(runner).apply(queue(ActionKind.ALLOW_REQUEUE, "1", "2"))) == [OutcomeKind.DONE] * 2
    assert changes(runner) == [ALLOWED]


def test_what_is_requeueable_already_is_left_as_it_is() -> None:
    runner = cluster(*running("1"))
    assert kinds(Writer(runner).apply(stop(ActionKind.ALLOW_REQUEUE, "1"))) == [OutcomeKind.ALREADY]
    assert changes(runner) == []


def test_another_run_is_not_touched() -> None:
    runner = cluster(("1", "RUNNING", 1, 1), ("2", "COMPLETING", 0, 1), requeue=False)
    assert (
        kinds(Writer(runner).apply(stop(ActionKind.ALLOW_REQUEUE, "1", "2", "3"))) == [OutcomeKind.GONE] * 3
    )
    assert changes(runner) == []


def test_a_stop_that_may_makes_its_jobs_requeueable_first() -> None:
    runner = cluster(*running("1", "2"), requeue=False)
    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", "2", value=FIRST_ALLOW))
    assert kinds(outcomes) == [OutcomeKind.DONE] * 2
    assert changes(runner) == [ALLOWED, ("scontrol", "requeuehold", "1,2")]


@pytest.mark.parametrize(("value", "requeue"), [("", False), (FIRST_ALLOW, True)])
def test_otherwise_a_stop_is_only_a_stop(value: str, requeue: bool) -> None:
    runner = cluster(*running("1"), requeue=requeue)
    Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", value=value))
    assert changes(runner) == [("scontrol", "requeuehold", "1")]


def test_whoever_cannot_be_made_so_is_not_stopped_and_the_others_are() -> None:
    runner = cluster(
        *running("1", "2"),
        requeue=False,
        says=lambda call: REFUSED if "Requeue=1" in call else CommandAnswer("", "", 0),
    )
    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", "2", value=FIRST_ALLOW))
    assert kinds(outcomes) == [OutcomeKind.REFUSED, OutcomeKind.DONE]
    assert changes(runner) == [ALLOWED, ("scontrol", "requeuehold", "2")]


def test_who_takes_it_back_again_and_again_is_made_requeueable_again_and_again() -> None:
    refusals = ["1", "1", "1"]

    def says(call: tuple[str, ...]) -> CommandAnswer:
        if "requeuehold" in call and refusals:
            return CommandAnswer(
                "", f"Requested operation is presently disabled for job {refusals.pop()}\n", 1
            )
        return CommandAnswer("", "", 0)

    runner = cluster(*running("1", "2"), says=says)
    outcomes = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", "2", value=FIRST_ALLOW))
    assert kinds(outcomes) == [OutcomeKind.DONE] * 2
    once = [("scontrol", "update", "JobId=1", "Requeue=1"), ("scontrol", "requeuehold", "1")]
    assert changes(runner) == [("scontrol", "requeuehold", "1,2"), *once * 3]


def test_not_for_ever_and_not_without_leave() -> None:
    disabled = CommandAnswer("", "Requested operation is presently disabled for job 1\n", 1)
    for value, tries in ((FIRST_ALLOW, TRIES), ("", 1)):
        runner = cluster(
            *running("1"), says=lambda call: disabled if "requeuehold" in call else CommandAnswer("", "", 0)
        )
        [outcome] = Writer(runner).apply(stop(ActionKind.REQUEUE_HOLD, "1", value=value))
        assert outcome.kind is OutcomeKind.REFUSED and NOT_REQUEUEABLE in outcome.detail
        assert len([call for call in changes(runner) if "requeuehold" in call]) == tries
