"""Limits and protection, from the policy to the job's row: what was stopped counts, and what is held back says so."""

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from console.core import clock
from console.steering.facts import recent_stops
from console.steering.models import ActionState, Plan, PlannedAction
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from scheduler.model.plan import DecisionKind
from scheduler.preemption.planner import plan as decide_again
from tests.steering.conftest import Sim

HOUR = 3600


def stop_one(sim: Sim, user: str = "ann", partition: str = "x") -> tuple[str, str]:
    """A job of the user's is stopped for one of cy's, which runs then; both ids."""
    low = sim.running(user, 8, partition)
    urgent = sim.submit("cy", 8, partition)
    sim.cycles(4)
    assert sim.state(urgent) is JobState.RUNNING
    assert sim.state(low) is JobState.PENDING
    return low, urgent


def verdict(sim: Sim, job: str, partition: str = "x") -> tuple[str, str]:
    row = sim.row(job, partition)
    return row.verdict, row.reason


def test_a_job_waits_before_others_are_stopped_for_it(sim: Sim) -> None:
    sim.policy(min_wait_s=60)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    assert verdict(sim, urgent) == ("queue", "too_soon")
    assert f"Stopping {low} (ann, P3" in sim.row(urgent).explain
    assert "of 1 min before others are stopped for it" in sim.row(urgent).explain
    assert not Plan.objects.exists()
    sim.port.advance(60)
    sim.cycles(3)
    assert sim.state(urgent) is JobState.RUNNING


@pytest.mark.parametrize("ahead_s", [0, HOUR, -HOUR])
def test_who_was_stopped_stops_nobody_until_it_has_cooled_down(
    sim: Sim, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    """bob's job gives way; ann's, lower still, is in its room when it comes back. The worker's clock may be ahead."""
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(sim.port.now + ahead_s))
    sim.policy(cool_down_s=600)
    victim, urgent = stop_one(sim, "bob")
    sim.port.hold_by_user(victim)
    sim.port.cancel(urgent)
    low = sim.running("ann", 8)
    sim.port.release_by_user(victim)

    sim.cycles(10, every_s=50)
    assert verdict(sim, victim) == ("queue", "cool_down")
    assert f"Stopping {low} (ann, P3" in sim.row(victim).explain
    assert sim.state(low) is JobState.RUNNING

    sim.cycles(5, every_s=50)
    assert sim.state(victim) is JobState.RUNNING
    assert sim.state(low) is JobState.PENDING


def test_the_stops_of_a_users_jobs_count_for_an_hour(sim: Sim) -> None:
    sim.policy(max_stops_per_user_hour=1)
    low, first = stop_one(sim)
    sim.port.cancel(first)
    sim.cycles(2)
    assert sim.state(low) is JobState.RUNNING
    urgent = sim.submit("cy", 8)
    sim.cycles(3)
    assert verdict(sim, urgent) == ("queue", "hourly_limit")
    assert "jobs of ann were stopped 1 of 1 times in this hour" in sim.row(urgent).explain

    sim.port.advance(HOUR)
    sim.cycles(3)
    assert sim.state(urgent) is JobState.RUNNING


def test_the_stops_of_a_partition_count_in_it_alone(sim: Sim) -> None:
    for partition in ("x", "q"):
        sim.policy(partition, max_stops_per_hour=1)
    stop_one(sim)
    low, other = (sim.running("bob", 8, "q") for _ in range(2))
    urgents = [sim.submit("cy", 8, "q") for _ in range(2)]
    sim.cycles(4)
    assert [sim.state(job) for job in urgents] == [JobState.RUNNING, JobState.PENDING]
    assert verdict(sim, urgents[1], "q") == ("queue", "hourly_limit")
    assert "q has had 1 of 1 stops in this hour" in sim.row(urgents[1], "q").explain
    assert {sim.state(low), sim.state(other)} == {JobState.PENDING, JobState.RUNNING}


def test_a_stop_that_waits_for_the_end_of_a_grace_time_counts(sim: Sim) -> None:
    """Else every cycle of a long grace time could plan as many stops again."""
    sim.policy("q", max_stops_per_hour=1, grace_s=60)
    for _ in range(2):
        sim.running("ann", 8, "q")
    first = sim.submit("cy", 8, "q")
    sim.cycle()
    assert verdict(sim, first, "q") == ("preempt", "lower_user")
    second = sim.submit("cy", 8, "q")
    sim.port.advance(1)
    sim.cycle()
    assert PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).count() == 1
    assert verdict(sim, second, "q") == ("queue", "hourly_limit")


def test_what_is_protected_by_name_is_left_alone_and_says_why(sim: Sim) -> None:
    sim.policy("q", protected_qos=["long"], protected_users=["b*"])
    by_qos, by_user = sim.running("ann", 8, "q", qos="long"), sim.running("bob", 8, "q")
    urgent = sim.submit("cy", 8, "q")
    sim.cycles(2)
    assert verdict(sim, urgent, "q") == ("queue", "not_enough_even_so")
    assert sim.row(by_qos, "q").protected == "the partition protects the QOS long"
    assert sim.row(by_user, "q").protected == "the partition protects the user bob (by b*)"


def test_the_stored_snapshot_has_the_limits_in_it_and_decides_the_same_again(sim: Sim) -> None:
    """Two users' hours: ann's is used up, so bob's job goes; replayed an hour later it still does."""
    sim.policy("q", max_stops_per_user_hour=1, max_stops_per_hour=5, min_wait_s=1)
    low, first = stop_one_of_two(sim)
    sim.port.cancel(first)
    sim.cycles(2)
    assert sim.state(low) is JobState.RUNNING
    urgent = sim.submit("cy", 8, "q")
    sim.port.advance(2)
    sim.cycle()
    plan = sim.plan()
    assert (plan.job_id, [victim["user"] for victim in plan.victims]) == (urgent, ["bob"])

    sim.port.advance(2 * HOUR)
    snapshot = decode_snapshot(plan.snapshot)
    assert snapshot.partition.stopped_by_user == {"ann": 1}
    (decision,) = (each for each in decide_again(snapshot).decisions if each.job == urgent)
    assert decision.action is DecisionKind.PREEMPT
    assert [victim.job for victim in decision.victims] == [victim["job"] for victim in plan.victims]
    assert decision.explain == plan.explain


def stop_one_of_two(sim: Sim) -> tuple[str, str]:
    """ann's job, the lower one of two in q, is stopped for cy's."""
    low = sim.running("ann", 8, "q")
    sim.running("bob", 8, "q")
    urgent = sim.submit("cy", 8, "q")
    sim.cycles(5)
    assert sim.state(urgent) is JobState.RUNNING
    return low, urgent


def test_a_job_that_others_were_stopped_for_keeps_its_slot_of_a_quota(sim: Sim) -> None:
    """cy's second top job finds free room while the victim of the first one is ending, and starts before it: of the
    two it is beyond the quota. Else the first would count as unconfigured, and yield to the likes of its victims."""
    sim.policy("q", mode="task", quotas={"P0": 1}, cool_down_s=0)
    low = sim.running("ann", 8, "q", name="l3_low", completing_s=5)
    sim.running("ann", 6, "q", name="l0_other")
    first = sim.submit("cy", 8, "q", name="l0_first")
    sim.cycle()
    second = sim.submit("cy", 2, "q", name="l0_second")
    sim.cycles(10)
    assert [sim.state(job) for job in (first, second)] == [JobState.RUNNING, JobState.RUNNING]
    started = [sim.port.job(job).start or 0 for job in (second, first)]
    assert started[0] < started[1], "the second one started first"
    assert sim.state(low) is JobState.PENDING

    rival = sim.submit("bob", 8, "q", name="l1_rival")
    sim.cycles(2)
    assert verdict(sim, rival, "q") == ("queue", "not_enough_even_so")
    small = sim.submit("bob", 2, "q", name="l1_small")
    sim.cycle()
    assert [victim["job"] for victim in sim.plan().victims] == [second]
    assert sim.plan().job_id == small


class TestCounting:
    @pytest.fixture
    def stop(self, sim: Sim) -> PlannedAction:
        """A stop of one of ann's jobs, issued a moment ago and seen to have worked."""
        sim.policy()
        stop_one(sim)
        (stop,) = sim.actions(ActionKind.REQUEUE_HOLD)
        assert stop.state == ActionState.VERIFIED
        return stop

    def test_a_stop_counts(self, sim: Sim, stop: PlannedAction) -> None:
        stops = recent_stops(sim.cluster)
        assert stops.within_hour == {"x": {"ann": 1}}
        assert stops.times == {stop.job_id: 1}
        assert stop.issued_at is not None
        assert stops.ago_s == {stop.job_id: (clock.now() - stop.issued_at).total_seconds()}
        assert stops.beneficiaries == {(stop.plan.job_id, 0)}

    def test_a_run_that_was_stopped_and_recovered_counts_once(self, sim: Sim, stop: PlannedAction) -> None:
        stop.pk, stop.kind = None, ActionKind.RECOVER
        stop.save()
        stops = recent_stops(sim.cluster)
        assert (stops.within_hour, stops.times) == ({"x": {"ann": 1}}, {stop.job_id: 1})

    def test_another_run_of_the_job_counts_again(self, sim: Sim, stop: PlannedAction) -> None:
        first = stop.issued_at
        stop.pk, stop.run_start, stop.run_restarts = None, stop.run_start + 50, 1
        assert first is not None
        stop.issued_at = first - timedelta(seconds=30)
        stop.save()
        stops = recent_stops(sim.cluster)
        assert (stops.within_hour, stops.times) == ({"x": {"ann": 2}}, {stop.job_id: 2})
        assert stops.ago_s[stop.job_id] == (clock.now() - first).total_seconds(), "the last one's"

    @pytest.mark.parametrize(
        ("state", "counts"),
        [("planned", True), ("executing", True), ("issued", True), ("expired", False), ("failed", False)],
    )
    def test_what_was_not_done_does_not_count(
        self, sim: Sim, stop: PlannedAction, state: str, counts: bool
    ) -> None:
        PlannedAction.objects.filter(pk=stop.pk).update(state=state)
        assert bool(recent_stops(sim.cluster).within_hour) is counts
        assert bool(recent_stops(sim.cluster).times) is (counts and state != "planned")

    def test_a_signal_is_no_stop(self, sim: Sim, stop: PlannedAction) -> None:
        PlannedAction.objects.filter(pk=stop.pk).update(kind=ActionKind.SIGNAL)
        assert not recent_stops(sim.cluster).within_hour

    def test_after_an_hour_it_counts_for_the_job_only(self, sim: Sim, stop: PlannedAction) -> None:
        sim.port.advance(HOUR + 60)
        stops = recent_stops(sim.cluster)
        assert stops.within_hour == {}
        assert stops.times == {stop.job_id: 1}

    def test_what_a_worker_with_a_fast_clock_wrote_was_just_now(self, sim: Sim, stop: PlannedAction) -> None:
        ahead = clock.now() + timedelta(hours=1)
        PlannedAction.objects.filter(pk=stop.pk).update(issued_at=ahead)
        stops = recent_stops(sim.cluster)
        assert (stops.within_hour, stops.ago_s) == ({"x": {"ann": 1}}, {stop.job_id: 0})

    def test_another_clusters_stops_are_its_own(self, sim: Sim, stop: PlannedAction) -> None:
        other = type(sim.cluster).objects.create(name="other")
        assert recent_stops(other).within_hour == {}
        assert recent_stops(other).beneficiaries == frozenset()

    def test_the_number_of_queries_is_fixed(
        self, sim: Sim, stop: PlannedAction, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_num_queries(3):
            recent_stops(sim.cluster)
