"""Why a job is where it is, and the nearest change that would alter that (contract A, `explain`)."""

from dataclasses import replace

import pytest

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import How
from scheduler.model.policy import Mode
from scheduler.preemption.explain import explain
from tests.builders import HOUR, ending, nodes, one_node, pending, running, snapshot

NEEDS = "J (bob, P1) needs 4 cpu on one node; n1 has nothing free. "


def text(job_id: str, *jobs: SnapshotJob, **rules: object) -> str:
    return explain(snapshot(jobs, **rules), job_id)  # type: ignore[arg-type]


class TestAPendingJob:
    def test_it_tells_the_verdict_the_numbers_and_who_was_left_alone(self) -> None:
        told = text(
            "J",
            running("low", cpu=4, user=3, of="ann"),
            running("high", cpu=4, user=0, of="eve"),
            pending("J", one_node(4), user=1, waited=90, of="bob"),
        )
        assert told.splitlines() == [
            "J (bob, P1) has been waiting for 1 min.",
            "Verdict: preempt (lower_user). Jobs of lower users make room.",
            NEEDS + "Stopping low (ann, P3, ran 1 h) makes room on n1.",
            "Running jobs left alone:",
            "  high (eve, P0): Equal or higher rank.",
        ]

    def test_it_names_who_was_decided_before_it(self) -> None:
        told = text(
            "J",
            pending("first", user=0, of="eve"),
            pending("held", user=0, blocked="x"),
            pending("J", user=1),
        )
        assert "Decided before it: first (eve, P0)." in told

    def test_the_nearest_user_level_that_would_give_it_room(self) -> None:
        jobs = [running("v", cpu=8, user=2), pending("J", one_node(4), user=3)]
        assert "At user level P1 it would start now by stopping v." in text("J", *jobs)

    def test_the_nearest_task_level_when_no_user_level_does(self) -> None:
        jobs = [running("v", cpu=8, user=0, task=3), pending("J", one_node(4), user=0, task=4)]
        told = text("J", *jobs, mode=Mode.USER_THEN_TASK)
        assert "At task level L2 it would start now by stopping v." in told

    def test_unconfigured_jobs_begin_at_the_lowest_level(self) -> None:
        jobs = [running("v", cpu=8, user=None), pending("J", one_node(4))]
        told = text("J", *jobs, level_names=("urgent", "normal", "spare"))
        assert "At user level spare it would start now by stopping v." in told

    def test_a_better_place_in_the_queue_may_be_enough(self) -> None:
        jobs = [pending("first", one_node(8), user=1, waited=99), pending("J", one_node(8), user=2)]
        assert "At user level P0 it would start now on n1." in text("J", *jobs)

    def test_when_no_level_helps_it_says_so(self) -> None:
        jobs = [running("v", cpu=8, user=0), pending("J", one_node(4), user=0)]
        assert "No higher level would give it room now" in text("J", *jobs)

    @pytest.mark.parametrize(
        ("job", "why"),
        [
            (pending("J", one_node(99), user=2), "No nodes of the partition can ever give what it asks for."),
            (pending("J", user=2, blocked="it is held"), "It may not start yet, whatever room there is."),
        ],
    )
    def test_what_rank_cannot_change_is_told_as_such(self, job: SnapshotJob, why: str) -> None:
        assert f"No level would change that. {why}" in text("J", job)

    def test_long_lists_are_cut(self) -> None:
        jobs = [running(str(i), f"n{i % 4 + 1}", 1, user=0) for i in range(32)]
        told = explain(snapshot([*jobs, pending("J", one_node(4), user=0)], nodes(4)), "J")
        assert "  and 20 more." in told
        assert len(told.splitlines()) < 25


class TestARunningJob:
    def test_who_stops_it_and_what_would_spare_it(self) -> None:
        jobs = [running("v", cpu=8, user=3, of="ann"), pending("J", one_node(4), user=1, of="bob")]
        assert text("v", *jobs).splitlines() == [
            "v (ann, P3) has been running for 1 h and holds 8 cpu on n1.",
            "It is to be stopped (requeued) for J (bob, P1).",
            NEEDS + "Stopping v (ann, P3, ran 1 h) makes room on n1.",
            "At user level P1 it would go on running.",
        ]

    def test_a_job_that_cannot_be_requeued_is_cancelled(self) -> None:
        jobs = [running("v", cpu=8, user=3, how=How.CANCEL), pending("J", one_node(4), user=1)]
        assert "It is to be stopped (cancelled, since it cannot be requeued)" in text("v", *jobs)

    def test_nobody_may_stop_a_protected_job(self) -> None:
        told = text("v", running("v", user=3, preemptable=False, protected="it is suspended"))
        assert told.splitlines()[-1] == "Nobody may stop it: it is suspended."
        told = text("v", running("v", user=3, preemptable=False))
        assert told.splitlines()[-1] == "Nobody may stop it: it is marked as not preemptable."

    def test_nobody_may_stop_a_young_job_for_a_while(self) -> None:
        told = text("v", running("v", user=3, ran=60), exempt_s=600)
        assert "Nobody may stop it for another 9 min" in told

    def test_waiting_jobs_that_outrank_it_but_do_not_need_it(self) -> None:
        jobs = [running("v", cpu=2, user=3), pending("J", one_node(2), user=1, of="bob")]
        told = text("v", *jobs)
        assert "Waiting jobs that outrank it: J (bob, P1)." in told
        assert "None of them needs its room now." in told

    def test_nobody_outranks_it(self) -> None:
        told = text("v", running("v", user=1), pending("J", user=1))
        assert "No waiting job outranks it" in told
        assert told.splitlines()[-1] == "A job of user level P0 or higher could stop it."

    def test_the_top_level_cannot_be_stopped(self) -> None:
        told = text("v", running("v", user=0))
        assert told.splitlines()[-1] == "It has the highest user level: nobody can stop it."

    def test_at_the_top_of_the_first_axis_the_second_one_is_told(self) -> None:
        told = text("v", running("v", user=0, task=2), mode=Mode.USER_THEN_TASK)
        assert (
            told.splitlines()[-1]
            == "A job of the same user level with task level L1 or higher could stop it."
        )
        told = text("v", running("v", user=2, task=0), mode=Mode.TASK_THEN_USER)
        assert (
            told.splitlines()[-1]
            == "A job of the same task level with user level P1 or higher could stop it."
        )


def test_an_ending_job() -> None:
    assert text("e", ending("e", cpu=3, user=2, of="ann")) == (
        "e (ann, P2) is ending; what it holds comes free: 3 cpu on n1."
    )


def test_an_unknown_job_is_an_error() -> None:
    with pytest.raises(KeyError):
        text("nobody", running("v"))


def test_the_promise_is_checked_by_carrying_it_out() -> None:
    """What explain says of a change is what planning with that change gives."""
    v, j = running("v", cpu=8, user=2), pending("J", one_node(4), user=3)
    promoted = replace(j, user_level=1)
    assert "Verdict: preempt" in text("J", v, promoted)
    assert "Verdict: queue" in text("J", v, j)
    assert "Verdict: queue" in text("J", v, replace(j, user_level=2))


def test_running_times_are_told_in_words() -> None:
    assert "has been running for 9 h and" in text("v", running("v", ran=9 * HOUR))
