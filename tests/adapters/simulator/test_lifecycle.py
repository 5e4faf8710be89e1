"""The lives of simulated jobs: ends, limits, requeues, checkpoints, dependencies, broken nodes."""

from dataclasses import replace

import pytest

from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, RunKey
from tests.adapters.simulator.builders import NOW, act, cluster, cpus, job, state

RUNNING, PENDING, COMPLETING = JobState.RUNNING, JobState.PENDING, JobState.COMPLETING


@pytest.mark.parametrize(("run_s", "limit_s"), [(60, None), (60, 100), (None, 60), (100, 60)])
def test_a_job_ends_when_its_work_or_its_time_is_up_and_is_forgotten(
    run_s: int | None, limit_s: int | None
) -> None:
    sim = cluster(completing_s=3)
    one = sim.submit(job(run_s=run_s, limit_s=limit_s))

    sim.advance(59)
    assert state(sim, one) is RUNNING
    sim.advance(1)
    assert state(sim, one) is COMPLETING
    sim.advance(2)
    assert sim.job(one).alloc == {"n1": {"cpu": 8}}
    sim.advance(1)
    assert sim.state.jobs == {}


def test_the_room_of_a_completing_job_is_not_free_yet() -> None:
    sim = cluster(completing_s=5)
    one = sim.submit(job())
    sim.advance(1)
    other = sim.submit(job())
    sim.cancel(one)

    sim.advance(4)
    assert state(sim, other) is PENDING
    sim.advance(1)
    assert state(sim, other) is RUNNING
    assert sim.job(other).start == NOW + 6


def test_a_requeued_job_is_a_new_run_submitted_anew_and_held() -> None:
    sim = cluster(completing_s=2)
    one = sim.submit(job())
    sim.advance(10)

    assert act(sim, ActionKind.REQUEUE_HOLD, one).kind is OutcomeKind.DONE
    sim.advance(1)
    assert state(sim, one) is COMPLETING
    sim.advance(1)

    back = sim.observe().jobs[0]
    assert (back.state, back.held, back.priority, back.restarts) == (PENDING, True, 0, 1)
    assert back.slurm_reason == "job requeued in held state"
    assert (back.submit, back.start, back.alloc) == (NOW + 12, None, {})
    assert back.run == RunKey(one, 0, 1)


def test_a_user_who_releases_a_requeued_job_still_waits_two_minutes() -> None:
    sim = cluster(completing_s=1)
    one = sim.submit(job())
    sim.advance(10)
    act(sim, ActionKind.REQUEUE_HOLD, one)
    sim.advance(1)

    sim.release_by_user(one)
    sim.advance(0)
    assert sim.job(one).reason == "BeginTime"
    sim.advance(120)
    assert state(sim, one) is PENDING
    sim.advance(1)
    assert state(sim, one) is RUNNING
    assert sim.job(one).start == NOW + 11 + 121


def test_our_release_lets_a_requeued_job_start_at_once_even_after_the_users() -> None:
    sim = cluster()
    one = sim.submit(job())
    sim.advance(10)
    act(sim, ActionKind.REQUEUE_HOLD, one)
    sim.advance(1)
    sim.release_by_user(one)

    assert act(sim, ActionKind.RELEASE, one).kind is OutcomeKind.DONE
    sim.advance(0)

    assert state(sim, one) is RUNNING
    assert act(sim, ActionKind.RELEASE, one).kind is OutcomeKind.ALREADY


def test_a_user_cannot_release_what_an_administrator_holds() -> None:
    sim = cluster()
    one = sim.submit(job())
    act(sim, ActionKind.HOLD, one)

    sim.release_by_user(one)
    sim.advance(1)
    assert sim.job(one).reason == "JobHeldAdmin"

    sim.hold_by_user(one)  # Of a job that is held already it leaves no trace.
    sim.release_by_user(one)
    sim.advance(1)
    assert sim.job(one).reason == "JobHeldAdmin"


def test_a_restarted_job_begins_anew_without_a_checkpoint_and_goes_on_with_one() -> None:
    sim = cluster({"n1": {"cpu": 16}})
    plain = sim.submit(job(run_s=100))
    saving = sim.submit(replace(job(run_s=100), on_signal=OnSignal.CHECKPOINT, checkpoint_s=2))
    sim.advance(58)
    for one in (plain, saving):
        assert act(sim, ActionKind.SIGNAL, one, "USR1").kind is OutcomeKind.DONE
    assert sim.job(saving).comment == ""
    sim.advance(2)
    assert (sim.job(plain).comment, sim.job(saving).comment) == ("", "ckpt:seconds=60")
    sim.apply([Action(ActionKind.REQUEUE_HOLD, sim.job(one).run) for one in (plain, saving)])
    sim.advance(1)
    for one in (plain, saving):
        act(sim, ActionKind.RELEASE, one)
    sim.advance(40)

    assert (state(sim, plain), state(sim, saving)) == (RUNNING, COMPLETING)
    sim.advance(60)
    assert state(sim, plain) is COMPLETING


def test_checkpoints_of_a_second_run_count_on_from_the_first() -> None:
    sim = cluster()
    one = sim.submit(replace(job(run_s=1000), on_signal=OnSignal.CHECKPOINT))
    for _ in range(2):
        sim.advance(99)
        act(sim, ActionKind.SIGNAL, one, "USR1")
        sim.advance(1)
        act(sim, ActionKind.REQUEUE_HOLD, one)
        sim.advance(1)
        act(sim, ActionKind.RELEASE, one)
        sim.advance(0)

    assert sim.job(one).comment == "ckpt:seconds=200"
    assert sim.job(one).ends_at == sim.now + 800


def test_a_stop_before_the_checkpoint_is_finished_saves_nothing() -> None:
    sim = cluster()
    one = sim.submit(replace(job(run_s=100), on_signal=OnSignal.CHECKPOINT, checkpoint_s=5))
    sim.advance(50)
    act(sim, ActionKind.SIGNAL, one, "USR1")
    sim.advance(4)
    act(sim, ActionKind.REQUEUE_HOLD, one)
    sim.advance(20)

    assert (sim.job(one).saved_s, sim.job(one).comment) == (0, "")


def test_a_job_without_a_trap_dies_of_the_signal() -> None:
    sim = cluster()
    one = sim.submit(replace(job(), on_signal=OnSignal.DIE))
    sim.advance(5)

    assert act(sim, ActionKind.SIGNAL, one, "USR1").kind is OutcomeKind.DONE
    sim.advance(5)

    assert state(sim, one) is None


@pytest.mark.parametrize(
    ("kind", "fails", "starts"),
    [
        ("afterok", False, True),
        ("afterok", True, False),
        ("afternotok", False, False),
        ("afternotok", True, True),
        ("afterany", False, True),
        ("afterany", True, True),
    ],
)
def test_dependencies_follow_how_the_other_job_ends(kind: str, fails: bool, starts: bool) -> None:
    sim = cluster({"n1": {"cpu": 16}})
    first = sim.submit(replace(job(run_s=10), fails=fails))
    second = sim.submit(replace(job(), dependency=f"{kind}:{first}"))
    sim.advance(5)
    assert sim.job(second).reason == "Dependency"

    sim.advance(10)

    assert (state(sim, second) is RUNNING) is starts
    if not starts:
        assert sim.job(second).reason == "DependencyNeverSatisfied"


def test_a_job_that_depends_on_an_array_waits_for_all_of_it_and_a_requeue_is_no_end() -> None:
    sim = cluster({"n1": {"cpu": 16}})
    array = sim.submit(replace(job(4, run_s=10), array_tasks=2))
    last = sim.submit(replace(job(4), dependency=f"afterany:{array}"))
    sim.advance(5)
    act(sim, ActionKind.REQUEUE_HOLD, f"{array}_1")
    sim.advance(20)
    assert state(sim, f"{array}_0") is None
    assert state(sim, last) is PENDING

    sim.cancel(array)
    sim.advance(5)
    assert state(sim, last) is RUNNING


def test_a_job_may_not_start_before_its_begin_time() -> None:
    sim = cluster()
    one = sim.submit(replace(job(), begin=NOW + 100))

    sim.advance(99)
    assert (state(sim, one), sim.job(one).reason) == (PENDING, "BeginTime")
    sim.advance(1)
    assert sim.job(one).start == NOW + 100


def test_a_node_that_breaks_down_requeues_what_it_can_and_loses_the_rest() -> None:
    sim = cluster({"n1": {"cpu": 8}, "n2": {"cpu": 8}})
    again = sim.submit(JobSpec("again", "ann", cpus(2, nodes=2)))
    lost = sim.submit(replace(job(2), requeue=False))
    sim.advance(5)
    after = sim.submit(replace(job(2), dependency=f"afterok:{lost}"))

    sim.set_node_state("n1", SimNodeState.DOWN, "no ping")
    sim.advance(0)

    assert state(sim, lost) is None
    assert sim.job(after).reason == "DependencyNeverSatisfied"
    requeued = sim.job(again)
    assert (requeued.state, requeued.restarts, requeued.reason, requeued.alloc) == (
        PENDING,
        1,
        "BeginTime",
        {},
    )
    assert not sim.observe().nodes[0].up

    sim.set_node_state("n1", SimNodeState.UP)
    sim.advance(121)
    assert state(sim, again) is RUNNING


def test_cancelling_a_job_that_is_being_requeued_ends_it() -> None:
    sim = cluster(completing_s=5)
    one = sim.submit(job())
    sim.advance(1)
    act(sim, ActionKind.REQUEUE_HOLD, one)
    sim.advance(1)

    assert sim.cancel(one)
    sim.advance(10)

    assert state(sim, one) is None
    assert not sim.cancel(one)


def test_time_that_is_slept_through_only_shifts_what_was_to_come() -> None:
    sim = cluster()
    one = sim.submit(job(run_s=100, limit_s=200))
    later = sim.submit(replace(job(), begin=NOW + 50))
    sim.advance(40)

    sim.sleep(10_000)
    assert sim.job(one).start == NOW
    assert sim.job(later).begin == NOW + 10_050
    sim.advance(59)
    assert state(sim, one) is RUNNING
    sim.advance(1)

    assert state(sim, one) is COMPLETING


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        cluster().advance(-1)
