"""No circles: whoever was stopped rests, counts its earlier runs, and is not stopped too often; crash loops; chains."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import STOPPED, Decision, DecisionKind
from scheduler.model.policy import VictimOrder
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import carried_out, plan
from tests.builders import HOUR, NOW, node, nodes, on_nodes, one_node, pending, running, snapshot
from tests.scheduler import naive
from tests.scheduler.planning import decide, decisions, stopped
from tests.scheduler.strategies import crowded, partitions

QUEUE, PREEMPT, START = DecisionKind.QUEUE, DecisionKind.PREEMPT, DecisionKind.START
thorough = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def urgent(cpu: int = 8, **fields: Any) -> SnapshotJob:
    return pending("J", one_node(cpu), user=0, of="cy", **fields)


def left_alone(decision: Decision) -> dict[str, Reason]:
    return {other.job: other.reason for other in decision.passed_over}


class TestRunningTime:
    TWO = (running("old", "n1", 8, ran=2 * HOUR, user=2), running("back", "n2", 8, ran=600, user=2))

    def test_earlier_runs_count_where_they_are_told(self) -> None:
        old, back = self.TWO
        assert stopped(decide(old, back, urgent(), nodes=nodes(2))) == ["back"]
        back = replace(back, ran_s=2 * HOUR)
        decision = decide(old, back, urgent(), nodes=nodes(2))
        assert stopped(decision) == ["old"]
        assert "Stopping old (uold, P2, ran 2 h) makes room" in decision.explain

    def test_also_where_the_least_work_is_lost(self) -> None:
        old, back = self.TWO
        rules: dict[str, Any] = {"victim_order": VictimOrder.LEAST_LOST_WORK, "nodes": nodes(2)}
        assert stopped(decide(old, back, urgent(), **rules)) == ["back"]
        assert stopped(decide(old, replace(back, ran_s=2 * HOUR), urgent(), **rules)) == ["old"]

    def test_a_young_run_is_exempt_however_long_the_job_ran_before(self) -> None:
        young = running("1", cpu=8, ran=59, user=2, ran_s=9 * HOUR)
        decision = decide(young, urgent(), exempt_s=60)
        assert (decision.action, left_alone(decision)) == (QUEUE, {"1": Reason.EXEMPT})
        assert decide(replace(young, start=NOW - 60), urgent(), exempt_s=60).action is PREEMPT

    def test_the_sentence_tells_all_of_it(self) -> None:
        back = running("1", cpu=8, ran=600, user=2, ran_s=HOUR)
        assert "1 (u1, P2, ran 1 h 10 min)" in decide(back, urgent()).explain


class TestRest:
    BACK = running("1", cpu=8, ran=599, user=2, restarts=1)

    def test_who_has_come_back_is_left_alone_for_a_while(self) -> None:
        decision = decide(self.BACK, urgent(), rest_s=600)
        assert (decision.action, decision.reason) == (QUEUE, Reason.NOT_ENOUGH_EVEN_SO)
        assert left_alone(decision) == {"1": Reason.RESTING}
        assert decide(replace(self.BACK, start=NOW - 600), urgent(), rest_s=600).action is PREEMPT

    def test_by_default_nobody_rests(self) -> None:
        assert decide(replace(self.BACK, start=NOW), urgent()).action is PREEMPT

    def test_whoever_never_was_stopped_does_not_rest(self) -> None:
        assert decide(replace(self.BACK, restarts=0), urgent(), rest_s=600).action is PREEMPT

    def test_who_has_saved_its_state_since_need_not_rest(self) -> None:
        assert decide(replace(self.BACK, rested=True), urgent(), rest_s=600).action is PREEMPT

    def test_another_one_goes_instead_though_it_has_run_longer(self) -> None:
        jobs = [self.BACK, running("2", "n2", 8, ran=9 * HOUR, user=2), urgent()]
        assert stopped(decide(*jobs, nodes=nodes(2), rest_s=600)) == ["2"]

    def test_who_rests_loses_no_part_either(self) -> None:
        unit = {"cpu": 1}
        holder = replace(self.BACK, unit=unit)
        ask = pending("J", one_node(2), user=0)
        assert decide(holder, ask).action is PREEMPT
        assert decide(holder, ask, rest_s=600).action is QUEUE

    def test_its_page_says_for_how_long(self) -> None:
        told = explain(snapshot([self.BACK, urgent()], rest_s=900), "1")
        assert "Nobody may stop it for another 5 min: it has come back from a stop and rests." in told


class TestStopsOfAJob:
    TWICE = running("1", cpu=8, user=2, restarts=2, stopped=2)

    def test_no_more_than_so_many_within_an_hour(self) -> None:
        decision = decide(self.TWICE, urgent(), max_stops_per_job_hour=2)
        assert (decision.action, left_alone(decision)) == (QUEUE, {"1": Reason.JOB_LIMIT})
        assert decide(self.TWICE, urgent(), max_stops_per_job_hour=3).action is PREEMPT
        assert decide(self.TWICE, urgent()).action is PREEMPT

    def test_none_at_all(self) -> None:
        assert decide(running("1", cpu=8, user=2), urgent(), max_stops_per_job_hour=0).action is QUEUE

    def test_its_page_says_so(self) -> None:
        told = explain(snapshot([self.TWICE, urgent()], max_stops_per_job_hour=2), "1")
        assert "Nobody may stop it now: it was stopped 2 of 2 times in this hour." in told


class TestCrashLoops:
    FULL = running("1", cpu=8, user=3, of="ann")

    def test_nobody_is_stopped_for_who_ends_badly_again_and_again(self) -> None:
        decision = decide(self.FULL, urgent(crashes=3), max_crashes_per_hour=3)
        assert (decision.action, decision.reason) == (QUEUE, Reason.CRASHES)
        assert left_alone(decision) == {"1": Reason.HELD_BACK}
        assert decision.explain == (
            "J (cy, P0) needs 8 cpu on one node; it failed within a minute of its start 3 times in an hour: nobody is "
            "stopped for it until it runs well or is submitted anew. Stopping 1 (ann, P3, ran 1 h) would make room "
            "on n1; n1 has nothing free."
        )

    def test_twice_is_not_again_and_again(self) -> None:
        assert decide(self.FULL, urgent(crashes=2), max_crashes_per_hour=3).action is PREEMPT

    def test_by_default_it_does_not_matter(self) -> None:
        assert decide(self.FULL, urgent(crashes=30)).action is PREEMPT

    def test_free_room_it_may_have(self) -> None:
        assert decide(urgent(crashes=3), max_crashes_per_hour=3).action is START

    def test_no_level_would_change_that(self) -> None:
        told = explain(snapshot([self.FULL, urgent(crashes=3)], max_crashes_per_hour=3), "J")
        assert "No level would change that." in told


class TestChains:
    """top needs n1, where mid runs; mid outranks low, which runs on n2, where top could not run."""

    MID = running("mid", "n1", 8, user=1, of="ann")
    LOW = running("low", "n2", 8, user=3, of="bob")
    TOP = pending("top", one_node(8, only_nodes=frozenset({"n1"})), user=0, of="cy")

    def test_nobody_is_stopped_who_would_be_the_next_to_have_others_stopped_for_it(self) -> None:
        decision = decide(self.MID, self.LOW, self.TOP, nodes=nodes(2), rest_s=600)
        assert (decision.action, decision.reason) == (QUEUE, Reason.NOT_ENOUGH_EVEN_SO)
        assert left_alone(decision)["mid"] is Reason.CHAIN
        assert "(1 more protected)" in decision.explain

    @pytest.mark.parametrize("rules", [{}, {"rest_s": 600, "cool_down_s": 300}])
    def test_where_stopped_jobs_cool_down_or_nothing_is_asked_for_it_is_as_ever(
        self, rules: dict[str, Any]
    ) -> None:
        assert stopped(decide(self.MID, self.LOW, self.TOP, nodes=nodes(2), **rules)) == ["mid"]

    def test_where_it_would_find_free_room_it_goes(self) -> None:
        jobs = [self.MID, self.LOW, self.TOP]
        assert stopped(decide(*jobs, nodes=nodes(3), rest_s=600)) == ["mid"]

    def test_where_the_low_job_may_not_be_stopped_it_goes(self) -> None:
        low = replace(self.LOW, preemptable=False)
        assert stopped(decide(self.MID, low, self.TOP, nodes=nodes(2), rest_s=600)) == ["mid"]

    def test_where_the_hour_is_used_up_by_then_it_goes(self) -> None:
        rules: dict[str, Any] = {"rest_s": 600, "max_stops_per_hour": 1}
        assert stopped(decide(self.MID, self.LOW, self.TOP, nodes=nodes(2), **rules)) == ["mid"]

    def test_another_victim_of_equal_rank_is_found(self) -> None:
        """mid2 asks for more than low gives: stopped, it would wait."""
        places = [node("n1", 8), node("n2", 8), node("n3", 16)]
        mid2 = running("mid2", "n3", 16, user=1, of="dee", ran=9 * HOUR)
        top = pending("top", one_node(8, not_nodes=frozenset({"n2"})), user=0, of="cy")
        assert stopped(decide(self.MID, self.LOW, mid2, top, nodes=places)) == ["mid"]
        assert stopped(decide(self.MID, self.LOW, mid2, top, nodes=places, rest_s=600)) == ["mid2"]

    @thorough
    @given(partitions)
    def test_never(self, state: Snapshot) -> None:
        assert_no_chain(state)

    @thorough
    @given(crowded(spanning=True, most_pending=3))
    def test_never_where_it_is_crowded(self, state: Snapshot) -> None:
        assert_no_chain(state)


def assert_no_chain(state: Snapshot) -> None:
    state = replace(state, partition=replace(state.partition, rest_s=300, cool_down_s=0))
    made = plan(state)
    victims = {victim.job for decision in made.decisions for victim in decision.victims}
    after = carried_out(state, made)
    # Whoever rests may not be stopped; then the next plan is made without looking for chains itself.
    jobs = tuple(
        replace(job, preemptable=job.preemptable and not naive.rests(after, job)) for job in after.jobs
    )
    again = plan(replace(after, jobs=jobs, partition=replace(after.partition, rest_s=0)))
    for decision in again.decisions:
        if decision.job in victims:
            assert not any(victim.how in STOPPED for victim in decision.victims), decision.explain


def test_a_job_of_several_nodes_rests_on_all_of_them() -> None:
    wide = running("1", {"n1": {"cpu": 8}, "n2": {"cpu": 8}}, user=2, restarts=1, ran=10)
    made = decisions([wide, pending("J", on_nodes(2, 8), user=0)], nodes(2), rest_s=600)
    assert made["J"].action is QUEUE
