"""Room that is coming: jobs that are ending, and room that is being made for somebody already."""

from scheduler.model.plan import DecisionKind
from scheduler.model.reasons import Reason
from tests.builders import NOW, ending, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler.planning import decide, decisions, stopped

START, QUEUE, WAIT, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.WAIT, DecisionKind.PREEMPT


class TestEndingJobs:
    def test_a_job_that_fits_when_they_are_gone_waits_and_stops_nobody(self) -> None:
        jobs = [ending("e", cpu=4), running("v", cpu=4, user=3)]
        decision = decide(*jobs, pending(request=one_node(4), user=0))
        assert decision.action is WAIT
        assert decision.reason is Reason.ROOM_IS_COMING
        assert decision.at == NOW
        assert decision.nodes == ("n1",)
        assert not decision.victims

    def test_what_is_free_is_better_than_what_is_coming(self) -> None:
        decision = decide(ending("e", "n1", 8), pending(request=one_node(4), user=0), nodes=nodes(2))
        assert decision.action is START
        assert decision.nodes == ("n2",)

    def test_they_count_before_any_victim(self) -> None:
        jobs = [ending("e", cpu=4), running("a", cpu=2, user=3), running("b", cpu=2, user=3, ran=60)]
        decision = decide(*jobs, pending(request=one_node(6), user=0))
        assert decision.action is PREEMPT
        assert stopped(decision) == ["b"]

    def test_those_of_other_partitions_leave_room_too(self) -> None:
        shared = node(coming_elsewhere={"cpu": 4})
        victims = [running("a", cpu=2, user=3), running("b", cpu=2, user=3, ran=60)]
        four = decide(*victims, pending(request=one_node(4), user=0), nodes=[shared])
        assert (four.action, four.reason, four.victims) == (WAIT, Reason.ROOM_IS_COMING, ())
        six = decide(*victims, pending(request=one_node(6), user=0), nodes=[shared])
        assert (six.action, stopped(six)) == (PREEMPT, ["b"])
        alone = pending(request=one_node(4, exclusive=True), user=0)
        assert decide(alone, nodes=[shared, node("n2")]).nodes == ("n2",)
        assert decide(alone, nodes=[shared]).action is WAIT

    def test_they_are_no_victims_themselves(self) -> None:
        decision = decide(
            ending("e", cpu=4, user=3), running("k", cpu=4, user=0), pending(request=one_node(6), user=0)
        )
        assert decision.action is QUEUE
        assert decision.reason is Reason.NOTHING_LOWER_RUNS

    def test_their_room_is_set_aside_for_the_first_who_waits_for_it(self) -> None:
        jobs = [
            ending("e", cpu=4),
            running("v", cpu=4, user=3),
            pending("1", one_node(4), user=0, waited=9),
            pending("2", one_node(4), user=0, waited=8),
            pending("3", one_node(4), user=0, waited=7),
        ]
        made = decisions(jobs)
        assert [decision.action for decision in made.values()] == [WAIT, PREEMPT, QUEUE]
        assert stopped(made["2"]) == ["v"]

    def test_waiting_leaves_what_is_free_now_to_others(self) -> None:
        """1 needs 5 of 4 free and 4 coming: it takes the 4 coming and one free; 3 are left to start with."""
        jobs = [
            ending("e", cpu=4),
            pending("1", one_node(5), user=0, waited=9),
            pending("2", one_node(3), user=1),
            pending("3", one_node(1), user=2),
        ]
        made = decisions(jobs)
        assert [decision.action for decision in made.values()] == [WAIT, START, QUEUE]

    def test_on_several_nodes_some_free_some_coming(self) -> None:
        decision = decide(ending("e", "n1", 8), pending(request=on_nodes(2, 8), user=0), nodes=nodes(2))
        assert decision.action is WAIT
        assert decision.nodes == ("n1", "n2")

    def test_on_a_drained_node_nothing_comes(self) -> None:
        places = [node("n1", up=False), node("n2", 4)]
        decision = decide(ending("e", "n1", 8), pending(request=one_node(8), user=0), nodes=places)
        assert decision.action is QUEUE


class TestPromisedRoom:
    """A plan is being carried out: its beneficiary keeps its room and is not planned for again."""

    PROMISE = {"n1": {"cpu": 6}}

    def test_the_beneficiary_waits_for_its_own_plan(self) -> None:
        urgent = pending("J", one_node(6), user=0, promised=self.PROMISE)
        decision = decide(ending("v", cpu=8), urgent)
        assert decision.action is WAIT
        assert decision.reason is Reason.PLAN_RUNNING
        assert decision.nodes == ("n1",)
        assert decision.placement == self.PROMISE

    def test_nobody_else_gets_that_room_not_even_a_higher_job(self) -> None:
        mine = pending("mine", one_node(6), user=2, promised=self.PROMISE)
        higher = pending("higher", one_node(4), user=0)
        made = decisions([ending("v", cpu=8), mine, higher])
        assert made["higher"].action is QUEUE
        lower = pending("lower", one_node(2), user=3)
        made = decisions([ending("v", cpu=8), mine, lower])
        assert made["lower"].action is WAIT
        assert made["lower"].reason is Reason.ROOM_IS_COMING

    def test_what_is_ending_serves_the_promise_first(self) -> None:
        """8 coming, 6 promised: 2 are coming for others, and nothing is free now."""
        mine = pending("mine", one_node(6), user=2, promised=self.PROMISE)
        made = decisions([ending("v", cpu=8), mine, pending("two", one_node(2)), pending("one", one_node(1))])
        assert made["one"].action is WAIT
        assert made["two"].action is QUEUE

    def test_room_that_somebody_else_took_meanwhile_is_not_promised_twice(self) -> None:
        """The promised node is full of others again: nothing is free there, and less than nothing is left."""
        mine = pending("mine", one_node(6), user=0, promised=self.PROMISE)
        thief = running("thief", cpu=8, user=0)
        made = decisions([thief, mine, pending("two", one_node(1), user=1)])
        assert made["mine"].reason is Reason.PLAN_RUNNING
        assert made["two"].action is QUEUE

    def test_a_promise_takes_a_slot_of_the_quota(self) -> None:
        first = pending("1", one_node(1), task=0, of="ann", promised={"n1": {"cpu": 1}})
        second = pending("2", one_node(1), task=0, of="ann")
        made = decisions([first, second], quotas={0: 1}, over_quota="hold")
        assert made["2"].reason is Reason.OVER_QUOTA_HELD

    def test_an_exclusive_job_does_not_get_a_promised_node(self) -> None:
        mine = pending("mine", one_node(1), user=2, promised={"n1": {"cpu": 1}})
        made = decisions([mine, pending("whole", one_node(1, exclusive=True), user=0)])
        assert made["whole"].action is QUEUE
