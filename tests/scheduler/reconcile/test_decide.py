"""The only door to the planner: what is under way is neither planned again nor undone by accident."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import JobState, RunKey, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from scheduler.reconcile.decide import Outstanding, decide, overlay
from tests.builders import NOW, ending, node, nodes, one_node, pending, running, snapshot
from tests.scheduler.strategies import partitions

START, QUEUE, WAIT, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.WAIT, DecisionKind.PREEMPT


def verdicts(made: Snapshot, outstanding: Outstanding) -> dict[str, Decision]:
    return {decision.job: decision for decision in decide(made, outstanding).decisions}


def under_way(made: Snapshot) -> Outstanding:
    """Everything that a plan of this snapshot would set going."""
    return Outstanding().plus(plan(made), made)


def test_with_nothing_under_way_it_is_the_plan() -> None:
    made = snapshot([running("v", cpu=8, user=3), pending("J", one_node(4), user=0)])
    assert decide(made) == plan(made)
    assert decide(made, Outstanding()) == plan(made)
    assert overlay(made, Outstanding()) is made


class TestWhileVictimsAreBeingStopped:
    VICTIM = running("v", cpu=8, user=3)
    URGENT = pending("J", one_node(6), user=0)

    def issued(self) -> Outstanding:
        return Outstanding(
            beneficiaries={"J": {"n1": {"cpu": 6}}}, victims=frozenset({self.VICTIM.run}), yielded={}
        )

    def test_the_beneficiary_waits_and_nobody_else_is_stopped_for_it(self) -> None:
        """The cluster still shows the victim running: the stop was issued, and is not issued again."""
        more = running("w", "n2", 8, user=3)
        made = snapshot([self.VICTIM, more, self.URGENT], nodes(2))
        decision = verdicts(made, self.issued())["J"]
        assert decision.action is WAIT
        assert decision.reason is Reason.PLAN_RUNNING
        assert not decision.victims

    def test_the_victims_are_ending_for_everybody(self) -> None:
        """Another urgent job counts on what is left over of them, and stops them no second time."""
        other = pending("K", one_node(2), user=0, waited=1)
        bigger = pending("L", one_node(3), user=0, waited=0)
        made = verdicts(snapshot([self.VICTIM, self.URGENT, other, bigger]), self.issued())
        assert made["K"].action is WAIT
        assert made["K"].reason is Reason.ROOM_IS_COMING
        assert made["L"].action is QUEUE

    def test_a_higher_job_does_not_take_the_room_either(self) -> None:
        lower = replace(self.URGENT, user_level=2)
        made = verdicts(snapshot([self.VICTIM, lower, pending("K", one_node(6), user=0)]), self.issued())
        assert made["J"].reason is Reason.PLAN_RUNNING
        assert made["K"].action is QUEUE

    def test_a_victim_is_seen_ending_by_the_cluster_too(self) -> None:
        made = snapshot([replace(self.VICTIM, state=JobState.COMPLETING), self.URGENT])
        assert verdicts(made, self.issued())["J"].reason is Reason.PLAN_RUNNING

    def test_the_victim_is_gone_and_the_beneficiary_not_yet_there(self) -> None:
        """Its room looks free; it is not."""
        gone = pending("v", one_node(8), user=3)
        thief = pending("K", one_node(4), user=0, waited=99)
        issued = replace(self.issued(), yielded={"v": "J"})
        made = verdicts(snapshot([gone, self.URGENT, thief]), issued)
        assert made["J"].reason is Reason.PLAN_RUNNING
        assert made["K"].action is QUEUE
        assert made["v"].reason is Reason.BLOCKED
        assert "stopped for J, comes back when it runs" in made["v"].explain

    def test_a_later_run_of_the_victim_is_another_matter(self) -> None:
        """It started again: the stop that was issued was for the run before."""
        again = replace(self.VICTIM, start=NOW - 1, restarts=1)
        made = verdicts(
            snapshot([again, pending("K", one_node(4), user=0)]),
            Outstanding(victims=frozenset({self.VICTIM.run})),
        )
        assert made["K"].action is PREEMPT

    def test_once_the_beneficiary_runs_its_room_is_its_own(self) -> None:
        runs = running("J", cpu=6, user=0, ran=0)
        made = verdicts(snapshot([runs, pending("K", one_node(2), user=2)]), self.issued())
        assert made["K"].action is START
        assert "J" not in made

    def test_a_victim_that_came_back_is_not_kept_waiting(self) -> None:
        """It runs again: that we once held it does not matter any more."""
        made = verdicts(snapshot([self.VICTIM]), Outstanding(yielded={"v": "J"}))
        assert made == {}

    def test_a_protected_victim_that_was_issued_is_ending_all_the_same(self) -> None:
        """Its protection began after the stop (it was stopped once more than it may be)."""
        protected = replace(self.VICTIM, preemptable=False, protected="it was stopped often enough")
        made = overlay(snapshot([protected, self.URGENT]), self.issued())
        assert made.jobs[0].state is JobState.COMPLETING
        assert decode_snapshot(encode_snapshot(made)) == made


class TestSeveralPartitions:
    def test_what_one_partition_sets_aside_on_shared_nodes_is_not_free_in_the_next(self) -> None:
        first = snapshot([pending("A", one_node(6), user=0)])
        outstanding = under_way(first)
        assert outstanding.beneficiaries == {"A": {"n1": {"cpu": 6}}}
        second = snapshot([pending("B", one_node(3), user=0), pending("C", one_node(2), user=1)])
        made = verdicts(second, outstanding)
        assert made["B"].action is QUEUE
        assert made["C"].action is START

    def test_a_job_for_both_is_planned_in_one(self) -> None:
        job = pending("A", one_node(6), user=0)
        victim = running("v", cpu=8, user=3)
        outstanding = under_way(snapshot([victim, job]))
        assert outstanding.victims == {victim.run}
        elsewhere = verdicts(snapshot([running("w", "n9", 8, user=3), job], [node("n9")]), outstanding)
        assert elsewhere["A"].action is QUEUE
        assert elsewhere["A"].reason is Reason.BLOCKED
        assert "in another partition" in elsewhere["A"].explain
        shared = verdicts(snapshot([job], [node("n1"), node("n2")]), outstanding)
        assert shared["A"].reason is Reason.PLAN_RUNNING

    def test_jobs_that_stay_in_the_queue_set_nothing_aside(self) -> None:
        assert under_way(snapshot([pending("A", one_node(99))])) == Outstanding()

    def test_who_only_loses_a_part_is_not_ending(self) -> None:
        spare = running("u", cpu=8, user=3, unit={"cpu": 2})
        made = snapshot([spare, pending("A", one_node(4), user=0)])
        assert [victim.how for victim in plan(made).decisions[0].victims] == [How.UNITS]
        assert under_way(made).victims == frozenset()

    def test_adding_keeps_what_was_there(self) -> None:
        before = Outstanding({"Z": {"n9": {"cpu": 1}}}, frozenset({RunKey("z", 1)}), {"y": "Z"})
        made = snapshot([running("v", cpu=8, user=3), pending("A", one_node(4), user=0)])
        after = before.plus(plan(made), made)
        assert after.beneficiaries.keys() == {"Z", "A"}
        assert after.victims == {RunKey("z", 1), made.jobs[0].run}
        assert after.yielded == {"y": "Z"}


def test_what_was_overlaid_explains_the_plan_alone() -> None:
    """The stored snapshot, read back, gives the same plan: a decision can be replayed."""
    made = snapshot(
        [running("v", cpu=8, user=3), pending("J", one_node(6), user=0), pending("K", one_node(2))]
    )
    outstanding = Outstanding({"J": {"n1": {"cpu": 6}}}, frozenset({made.jobs[0].run}), {"K": "J"})
    stored = encode_snapshot(overlay(made, outstanding))
    assert plan(decode_snapshot(stored)) == decide(made, outstanding)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(partitions)
def test_a_second_look_before_anything_is_seen_stops_nobody_more(made: Snapshot) -> None:
    """The plan is issued; the next observation still shows the old state: there is nothing new to do for its jobs."""
    first = plan(made)
    outstanding = Outstanding().plus(first, made)
    again = decide(made, outstanding)
    served = {decision.job for decision in first.decisions if decision.placement}
    victims = {victim.job for decision in first.decisions for victim in decision.victims}
    for decision in again.decisions:
        if decision.job in served:
            assert decision.reason is Reason.PLAN_RUNNING
        assert not victims & {victim.job for victim in decision.victims}


def test_ending_jobs_of_the_cluster_and_issued_stops_add_up() -> None:
    jobs: list[SnapshotJob] = [
        ending("e", cpu=2),
        running("v", cpu=4, user=3),
        running("k", cpu=2, user=0),
        pending("J", one_node(6), user=1),
    ]
    made = verdicts(snapshot(jobs), Outstanding(victims=frozenset({jobs[1].run})))
    assert made["J"].action is WAIT
    assert made["J"].reason is Reason.ROOM_IS_COMING
