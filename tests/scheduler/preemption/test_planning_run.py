"""Several pending jobs in one plan: what one takes or frees is seen by the next (spec 1.4)."""

from dataclasses import replace

from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from tests.builders import anywhere, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler.planning import decisions, stopped

START, QUEUE, PREEMPT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.PREEMPT


def test_decisions_come_in_the_order_in_which_they_were_made() -> None:
    jobs = [
        pending("late", one_node(1), user=1, waited=1),
        pending("early", one_node(1), user=1, waited=9),
        pending("low", one_node(1), waited=99),
        pending("top", one_node(1), user=0),
    ]
    assert list(decisions(jobs)) == ["top", "early", "late", "low"]


def test_free_room_is_given_once() -> None:
    jobs = [pending(str(i), one_node(4), user=i) for i in range(3)]
    assert [decision.action for decision in decisions(jobs).values()] == [START, START, QUEUE]


def test_nobody_is_stopped_for_two() -> None:
    jobs = [
        running("a", cpu=4, user=3, ran=10),
        running("b", cpu=4, user=3, ran=20),
        *(pending(str(i), one_node(4), user=0, waited=9 - i) for i in range(3)),
    ]
    made = decisions(jobs)
    assert [stopped(decision) for decision in made.values()] == [["a"], ["b"], []]
    assert made["2"].reason is Reason.NOTHING_LOWER_RUNS


def test_what_a_victim_leaves_over_starts_the_next_job() -> None:
    jobs = [
        running("v", cpu=8, user=3),
        pending("1", one_node(5), user=0),
        pending("2", one_node(3), user=1),
        pending("3", one_node(1), user=1),
    ]
    made = decisions(jobs)
    assert [decision.action for decision in made.values()] == [PREEMPT, START, QUEUE]
    assert stopped(made["1"]) == ["v"]


def test_who_starts_in_a_cycle_is_not_stopped_in_it() -> None:
    jobs = [
        pending("low_but_early", one_node(8), user=2, waited=99),
        running("k", cpu=8, user=0),
        pending("high", one_node(8), user=1),
    ]
    made = decisions(jobs, nodes(2))
    assert made["high"].action is START
    assert made["low_but_early"].action is QUEUE


def test_a_job_that_stays_in_the_queue_reserves_nothing() -> None:
    jobs = [
        running("k", cpu=2, user=0),
        pending("big", one_node(8), user=0),
        pending("small", one_node(2), user=3),
    ]
    made = decisions(jobs)
    assert made["big"].action is QUEUE
    assert made["small"].action is START


def test_a_lower_job_may_make_room_where_a_higher_one_could_not() -> None:
    """big does not fit whoever goes; small does, and lower jobs give way to it."""
    jobs = [
        running("k", cpu=4, user=0),
        running("v", cpu=4, user=3),
        pending("big", one_node(8), user=0),
        pending("small", one_node(4), user=1),
    ]
    made = decisions(jobs)
    assert made["big"].reason is Reason.NOT_ENOUGH_EVEN_SO
    assert stopped(made["small"]) == ["v"]


def test_a_blocked_job_waits_with_its_reason_in_words_and_stops_nobody() -> None:
    jobs = [running("v", cpu=8, user=3), pending("J", one_node(4), user=0, blocked="it waits for job 17")]
    decision = decisions(jobs)["J"]
    assert decision.action is QUEUE
    assert decision.reason is Reason.BLOCKED
    assert "it waits for job 17" in decision.explain


def test_a_pending_job_that_asks_for_something_unknown_is_left_alone() -> None:
    job = replace(pending("J", user=0), request=None)
    decision = decisions([running("v", cpu=8, user=3), job])["J"]
    assert decision.action is QUEUE
    assert decision.reason is Reason.BLOCKED


def test_equal_questions_after_a_change_get_the_answer_of_the_change() -> None:
    """The first and the third job ask the same; in between room has come from a wide victim."""
    jobs = [
        running("wide", {"n1": {"cpu": 8}, "n2": {"cpu": 8}}, user=3),
        running("k3", "n3", 8, user=0),
        pending("1", one_node(8), user=0, waited=3, task=0),
        pending("2", one_node(8), user=1, waited=2),
        pending("3", one_node(8), user=1, waited=1),
    ]
    made = decisions(jobs, nodes(3))
    assert [decision.action for decision in made.values()] == [PREEMPT, START, QUEUE]
    assert made["2"].nodes == ("n2",)


def test_after_a_failure_a_lower_job_of_the_same_shape_still_sees_new_room() -> None:
    """`first` fails on equal users; `other`, of another shape, stops somebody and leaves room for `second`."""
    mode = Mode.USER_THEN_TASK
    jobs = [
        running("equal", "n1", 8, user=1, task=0),
        running("low", "n2", 8, user=1, task=3),
        pending("first", one_node(4, only_nodes=frozenset({"n1"})), user=1, task=1, waited=9),
        pending("other", one_node(6), user=1, task=1, waited=8),
        pending("second", one_node(2), user=1, task=2, waited=7),
        pending("third", one_node(2), user=1, task=2, waited=6),
    ]
    made = decisions(jobs, nodes(2), mode)
    assert made["first"].action is QUEUE
    assert stopped(made["other"]) == ["low"]
    assert made["second"].action is START
    assert made["third"].action is QUEUE


def test_long_queues_of_equal_jobs_are_answered_one_after_the_other() -> None:
    """Forty equal jobs on ten nodes: as many start as there is room for victims, then none."""
    victims = [running(str(i), f"n{i % 10 + 1}", 4, user=3, ran=i) for i in range(20)]
    queue = [pending(f"J{i:02}", one_node(4), user=0, waited=100 - i) for i in range(40)]
    made = decisions([*victims, *queue], nodes(10))
    actions = [decision.action for decision in made.values()]
    assert actions == [PREEMPT] * 20 + [QUEUE] * 20
    assert sorted(stopped(d)[0] for d in made.values() if d.victims) == sorted(job.id for job in victims)
    assert [stopped(d)[0] for d in made.values() if d.victims] == [str(i) for i in range(20)]


def test_shapes_mix_in_one_cycle() -> None:
    jobs = [
        *(running(f"v{i}", f"n{i}", 8, user=3, ran=i) for i in range(1, 5)),
        pending("one", one_node(8), user=0, waited=9),
        pending("two", on_nodes(2, 8), user=0, waited=8),
        pending("any", anywhere(8), user=0, waited=7),
        pending("none", anywhere(1), user=0, waited=6),
    ]
    made = decisions(jobs, [node(f"n{i}") for i in range(1, 5)])
    assert [stopped(decision) for decision in made.values()] == [["v1"], ["v2", "v3"], ["v4"], []]


def test_every_node_and_job_may_be_missing() -> None:
    assert decisions([]) == {}
    assert decisions([pending("J")], [])["J"].reason is Reason.DOES_NOT_FIT_EVER
    assert decisions([running("v", {}, user=3)]) == {}
