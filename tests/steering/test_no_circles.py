"""Nobody is stopped in circles: earlier runs count, who has come back rests, stops of one job are bounded, and for whom
it is in vain again and again nobody is stopped."""

from typing import Any, ClassVar

import pytest

from console.steering.deciding import decide_all, open_plans
from console.steering.facts import gather, partition_policies
from console.steering.models import FailedStart, Plan
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.adapters.simulator.state import SimNodeState, What
from scheduler.model.jobs import JobState, SnapshotJob
from tests.steering.conftest import Sim

SAVES = {"on_signal": OnSignal.CHECKPOINT}


def planned(sim: Sim, job: str) -> SnapshotJob:
    """The job as the next plan sees it."""
    facts = gather(sim.cluster, open_plans(sim.cluster), partition_policies(sim.cluster))
    (verdict,) = (each for each in decide_all(sim.port.observe(), facts) if each.facts.row.name == "x")
    return verdict.jobs[job]


def stop_and_let_return(sim: Sim, low: str) -> None:
    """It is stopped for a job of cy's, which is over soon, and runs again."""
    urgent = sim.submit("cy", 8, run_time_s=20)
    sim.cycles(6)
    assert sim.state(urgent) is JobState.RUNNING
    sim.cycles(15, every_s=2)
    assert sim.state(low) is JobState.RUNNING


def runs(sim: Sim, low: str) -> list[int]:
    """How long the runs took that were stopped, by the cluster's own record."""
    return [
        each.at - each.start
        for each in sim.port.state.record
        if each.what is What.STOPPED and each.job == low
    ]


class TestRunningTime:
    def test_all_runs_of_a_job_count_that_has_acknowledged_its_checkpoints(self, sim: Sim) -> None:
        sim.policy(grace_s=10)
        low = sim.running("ann", 8, **SAVES)
        for seconds in (1000, 400):
            sim.port.advance(seconds)
            stop_and_let_return(sim, low)
        first, second = runs(sim, low)
        assert first > 1000 > second > 400
        # Measured at the last look before the stop.
        assert planned(sim, low).ran_s == pytest.approx(first + second, abs=4)

    def test_of_another_job_only_the_last_one(self, sim: Sim) -> None:
        sim.policy()
        low = sim.running("ann", 8)
        for seconds in (1000, 400):
            sim.port.advance(seconds)
            stop_and_let_return(sim, low)
        assert planned(sim, low).ran_s == pytest.approx(runs(sim, low)[-1], abs=4)

    def test_a_job_that_was_never_stopped_has_no_earlier_run(self, sim: Sim) -> None:
        sim.policy()
        low = sim.running("ann", 8)
        sim.cycle()
        assert (planned(sim, low).ran_s, planned(sim, low).stopped) == (0, 0)


class TestRest:
    def test_who_has_come_back_is_left_alone_for_a_while(self, sim: Sim) -> None:
        sim.policy(rest_s=600)
        low = sim.running("ann", 8)
        stop_and_let_return(sim, low)
        urgent = sim.submit("cy", 8)
        sim.cycles(5, every_s=100)
        assert (sim.state(urgent), sim.row(urgent).reason) == (JobState.PENDING, "not_enough_even_so")
        sim.cycles(6, every_s=50)
        assert sim.state(urgent) is JobState.RUNNING

    def test_until_it_has_saved_its_state_again(self, sim: Sim) -> None:
        sim.policy(rest_s=600, grace_s=10)
        low = sim.running("ann", 8, **SAVES)
        stop_and_let_return(sim, low)
        assert not planned(sim, low).rested
        sim.port.job(low).comment += " ckpt:epoch=11"
        assert planned(sim, low).rested
        urgent = sim.submit("cy", 8)
        sim.cycles(8)
        assert sim.state(urgent) is JobState.RUNNING

    def test_a_job_that_somebody_else_has_put_back_does_not_rest(self, sim: Sim) -> None:
        sim.policy(rest_s=600)
        low = sim.running("ann", 8)
        fail(sim)
        sim.cycles(4, every_s=60)
        job = planned(sim, low)
        assert (job.state, job.restarts, job.rested) == (JobState.RUNNING, 1, True)


def test_one_job_is_stopped_no_more_than_so_often_within_an_hour(sim: Sim) -> None:
    sim.policy(max_stops_per_job_hour=1)
    low = sim.running("ann", 8)
    stop_and_let_return(sim, low)
    assert planned(sim, low).stopped == 1
    urgent = sim.submit("cy", 8)
    sim.cycles(10, every_s=300)
    assert sim.state(urgent) is JobState.PENDING
    sim.cycles(6, every_s=150)
    assert sim.state(urgent) is JobState.RUNNING


# --- Crash loops ------------------------------------------------------------------------------------------


def fail(sim: Sim) -> None:
    """The node of partition x breaks down for a moment: what runs there is put back."""
    sim.port.set_node_state("n1", SimNodeState.DOWN)
    sim.port.set_node_state("n1", SimNodeState.UP)


def crash(sim: Sim, urgent: str, after_s: int) -> None:
    """Room is made for the job, and so soon after its start it fails."""
    for _ in range(100):
        if sim.state(urgent) is JobState.RUNNING:
            break
        sim.cycles(1, every_s=3)
    assert sim.state(urgent) is JobState.RUNNING
    if after_s:
        sim.cycles(1, every_s=after_s)
    fail(sim)
    assert sim.state(urgent) is JobState.PENDING
    sim.cycles(3)


def let_return(sim: Sim, low: str) -> None:
    """The other job runs again; the delay of the requeued one is not over yet."""
    sim.cycles(18, every_s=5)
    assert sim.state(low) is JobState.RUNNING


class TestCrashLoops:
    LIMITS: ClassVar[dict[str, Any]] = {
        "max_crashes_per_hour": 3,
        "max_preemptions_per_job": 100,
        "cool_down_s": 0,
    }

    @pytest.mark.parametrize("after_s", [0, 1, 40])
    def test_after_three_in_an_hour_nobody_is_stopped_for_it(self, sim: Sim, after_s: int) -> None:
        sim.policy(**self.LIMITS)
        low, urgent = sim.running("ann", 8), sim.submit("cy", 8)
        for _ in range(3):
            crash(sim, urgent, after_s)
            let_return(sim, low)
        assert FailedStart.objects.count() == 3
        sim.cycles(10, every_s=5)
        assert (sim.row(urgent).verdict, sim.row(urgent).reason) == ("queue", "crashes")
        assert "it failed within a minute of its start 3 times in an hour" in sim.row(urgent).explain
        sim.cycles(20, every_s=600)
        assert sim.state(low) is JobState.RUNNING, "time alone does not give the right back"
        self.runs_well_in_free_room(sim, low, urgent)

    def runs_well_in_free_room(self, sim: Sim, low: str, urgent: str) -> None:
        """Then others are stopped for it again."""
        sim.port.cancel(low)
        sim.cycles(3, every_s=30)
        assert sim.state(urgent) is JobState.RUNNING
        assert FailedStart.objects.filter(ran_well_at=None).count() == 3
        sim.cycles(2, every_s=30)
        assert not FailedStart.objects.filter(ran_well_at=None).exists()
        fail(sim)
        other = sim.running("ann", 8)
        sim.cycles(30, every_s=5)
        assert (sim.state(urgent), sim.state(other)) == (JobState.RUNNING, JobState.PENDING)

    def test_a_job_that_is_submitted_anew_has_nothing_behind_it(self, sim: Sim) -> None:
        sim.policy(**self.LIMITS)
        low, urgent = sim.running("ann", 8), sim.submit("cy", 8)
        for _ in range(3):
            crash(sim, urgent, 1)
            let_return(sim, low)
        sim.port.cancel(urgent)
        again = sim.submit("cy", 8)
        sim.cycles(6)
        assert sim.state(again) is JobState.RUNNING

    def test_a_run_of_a_minute_is_no_failed_start(self, sim: Sim) -> None:
        sim.policy(**self.LIMITS)
        sim.running("ann", 8)
        crash(sim, sim.submit("cy", 8), 60)
        assert not FailedStart.objects.exists()

    def test_three_in_more_than_an_hour_are_none_too_many(self, sim: Sim) -> None:
        sim.policy(**self.LIMITS)
        low, urgent = sim.running("ann", 8), sim.submit("cy", 8)
        for _ in range(3):
            crash(sim, urgent, 1)
            sim.port.hold_by_user(urgent)
            sim.cycles(35, every_s=60)
            sim.port.release_by_user(urgent)
            assert sim.state(low) is JobState.RUNNING
        assert FailedStart.objects.count() == 3
        sim.cycles(8)
        assert sim.state(urgent) is JobState.RUNNING

    def test_whom_giveway_stops_itself_has_not_failed(self, sim: Sim) -> None:
        """bob's job has ann's stopped for it and is stopped at once for cy's."""
        sim.policy(**self.LIMITS)
        sim.running("ann", 8)
        middle = sim.submit("bob", 8)
        sim.cycles(4)
        assert sim.state(middle) is JobState.RUNNING
        sim.submit("cy", 8)
        sim.cycles(6)
        assert sim.state(middle) is JobState.PENDING
        assert Plan.objects.filter(job_id=middle).exists()
        assert not FailedStart.objects.exists()
