"""Requests that are counted over all nodes together (¶62, ¶91)."""

from dataclasses import replace

from scheduler.model.jobs import Request
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import VictimOrder
from scheduler.model.reasons import Reason
from tests.builders import HOUR, anywhere, ending, node, nodes, pending, running
from tests.scheduler.planning import decide, decisions, stopped

BIG = {"cpu": 8, "mem": 16_000}
START, QUEUE, WAIT = DecisionKind.START, DecisionKind.QUEUE, DecisionKind.WAIT


def test_what_is_free_on_all_nodes_together_counts() -> None:
    jobs = [running("a", "n1", 6, user=0), running("b", "n2", 5, user=0)]
    decision = decide(*jobs, pending(request=anywhere(5), user=3), nodes=nodes(2))
    assert decision.action is START
    assert decision.placement == {"n1": {"cpu": 2}, "n2": {"cpu": 3}}
    assert decide(*jobs, pending(request=anywhere(6), user=3), nodes=nodes(2)).action is QUEUE


def test_victims_come_from_any_nodes_in_the_order_of_the_whole_partition() -> None:
    jobs = [
        running("old", "n1", 4, user=3, ran=9 * HOUR),
        running("young", "n2", 4, user=3, ran=60),
        running("none", "n3", 4, ran=99 * HOUR),
        *(running(f"k{i}", f"n{i}", 4, user=0) for i in (1, 2, 3)),
    ]
    decision = decide(*jobs, pending(request=anywhere(8), user=1), nodes=nodes(3))
    assert stopped(decision) == ["none", "young"]
    assert decision.nodes == ("n2", "n3")


def test_room_on_nodes_that_do_not_suit_counts_for_nothing() -> None:
    places = [node("n1"), node("n2", up=False), node("n3", features=frozenset({"big"}))]
    jobs = [running("drained", "n2", 8, user=3, ran=1), running("plain", "n1", 8, user=3, ran=1)]
    big = running("big", "n3", 8, user=3, ran=9999)
    wants = anywhere(4, features=frozenset({"big"}))
    assert stopped(decide(*jobs, big, pending(request=wants, user=0), nodes=places)) == ["big"]


def test_a_wide_job_counts_only_with_what_it_holds_on_suitable_nodes() -> None:
    wide = running("wide", {"n1": {"cpu": 6}, "n2": {"cpu": 6}}, user=3)
    only = anywhere(8, only_nodes=frozenset({"n1"}))
    assert stopped(decide(wide, pending(request=only, user=0), nodes=nodes(2))) == ["wide"]
    both = anywhere(16)
    assert stopped(decide(wide, pending(request=both, user=0), nodes=nodes(2))) == ["wide"]
    keeper = running("keeper", "n2", 1, user=0)
    assert decide(wide, keeper, pending(request=both, user=0), nodes=nodes(2)).action is QUEUE


def test_an_overcommitted_node_takes_nothing_away_from_the_others() -> None:
    jobs = [running("a", "n1", 6, user=0), running("b", "n1", 6, user=0)]
    assert decide(*jobs, pending(request=anywhere(8), user=1), nodes=nodes(2)).action is START


def test_on_an_overcommitted_node_a_victim_gives_only_what_is_left_of_it() -> None:
    """Of a's 6 CPUs 4 only undo the overcommitment: both have to go for 8."""
    jobs = [running("a", "n1", 6, user=3, ran=60), running("b", "n1", 6, user=3)]
    assert stopped(decide(*jobs, pending(request=anywhere(2), user=0))) == ["a"]
    assert stopped(decide(*jobs, pending(request=anywhere(8), user=0))) == ["a", "b"]


def test_several_resources_may_come_from_different_nodes() -> None:
    places = [node("n1", total={"cpu": 8}), node("n2", total={"cpu": 1, "gpu": 4})]
    jobs = [running("c", "n1", 8, user=3), running("g", {"n2": {"gpu": 4}}, user=2), running("x", "n2", 1)]
    wants = Request(spread={"cpu": 6, "gpu": 2})
    assert stopped(decide(*jobs, pending(request=wants, user=0), nodes=places)) == ["c", "g"]


def test_whoever_holds_nothing_that_is_wanted_is_left_alone() -> None:
    place = node(total={"cpu": 8, "gpu": 4})
    jobs = [running("c", "n1", 8), running("g", {"n1": {"gpu": 4}}, user=2)]
    wants = Request(spread={"gpu": 2})
    assert stopped(decide(*jobs, pending(request=wants, user=0), nodes=[place])) == ["g"]


def test_typed_gpus_are_taken_where_they_are() -> None:
    places = [
        node("n1", total={"cpu": 8, "gpu": 4, "gpu:h100": 4}),
        node("n2", total={"cpu": 8, "gpu": 4, "gpu:a100": 4}),
    ]
    wants = Request(spread={"gpu": 4, "gpu:a100": 3})
    decision = decide(pending(request=wants, user=0), nodes=places)
    assert decision.placement == {"n2": {"gpu": 4, "gpu:a100": 4}}, "there are no others on n2"
    too_many = Request(spread={"gpu": 8, "gpu:a100": 5})
    assert decide(pending(request=too_many, user=0), nodes=places).reason is Reason.DOES_NOT_FIT_EVER


def test_least_lost_work_counts_what_a_job_holds_everywhere() -> None:
    """The wide job ran for less time but on eight times the CPUs."""
    jobs = [
        running("wide", {"n1": {"cpu": 4}, "n2": {"cpu": 4}}, user=3, ran=HOUR),
        running("narrow", "n3", 1, user=3, ran=2 * HOUR),
        running("k1", "n1", 4, user=0),
        running("k2", "n2", 4, user=0),
        running("k3", "n3", 7, user=0),
    ]
    urgent = pending(request=anywhere(1), user=0)
    by_work = decide(*jobs, urgent, nodes=nodes(3), victim_order=VictimOrder.LEAST_LOST_WORK)
    assert stopped(by_work) == ["narrow"]
    assert stopped(decide(*jobs, urgent, nodes=nodes(3))) == ["wide"]


def test_what_is_ending_counts_before_victims() -> None:
    jobs = [ending("e", "n1", 4), running("v", "n1", 4, user=3)]
    assert decide(*jobs, pending(request=anywhere(4), user=0)).action is WAIT
    decision = decide(*jobs, pending(request=anywhere(6), user=0))
    assert stopped(decision) == ["v"]
    assert decision.placement == {"n1": {"cpu": 6}}


def test_an_exclusive_spread_job_takes_whole_empty_nodes_only() -> None:
    whole = anywhere(10, exclusive=True)
    jobs = [running("a", "n1", 1, user=3), running("k", "n2", 1, user=0), ending("e", "n3", 1)]
    assert decide(*jobs, pending(request=whole, user=0), nodes=nodes(3)).placement == {
        "n1": {"cpu": 8},
        "n3": {"cpu": 8},
    }
    assert stopped(decide(*jobs, pending(request=whole, user=0), nodes=nodes(3))) == ["a"]
    assert decide(*jobs[1:], pending(request=whole, user=0), nodes=nodes(3)).action is WAIT
    assert decide(jobs[1], pending(request=whole, user=0), nodes=nodes(3)).action is START
    assert (
        decide(*jobs, pending(request=anywhere(17, exclusive=True), user=0), nodes=nodes(3)).action is QUEUE
    )


def test_spread_jobs_that_ask_for_other_amounts_see_each_others_room() -> None:
    jobs = [
        running("v", "n1", 8, user=3),
        pending("1", anywhere(6), user=0, waited=9),
        pending("2", anywhere(7), user=0, waited=8),
        pending("3", anywhere(3), user=0, waited=7),
        pending("4", anywhere(1, features=frozenset({"big"})), user=0, waited=6),
    ]
    made = decisions(jobs, [node("n1"), node("n2", 4), node("n3", 2, features=frozenset({"big"}))])
    assert [decision.action for decision in made.values()] == [START, DecisionKind.PREEMPT, QUEUE, QUEUE]
    assert made["1"].placement == {"n2": {"cpu": 4}, "n3": {"cpu": 2}}
    assert made["2"].reason is not Reason.ROOM_IS_FREE


def test_many_spread_jobs_share_one_partition_without_taking_anything_twice() -> None:
    jobs = [running(str(i), f"n{i % 4 + 1}", 1, user=3, ran=60 * i) for i in range(1, 33)]
    urgent = [pending(f"J{i}", anywhere(5), user=0, waited=100 - i) for i in range(8)]
    made = decisions([*jobs, *urgent], nodes(4))
    kinds = [decision.action for decision in made.values()]
    assert kinds == [DecisionKind.PREEMPT] * 6 + [QUEUE] * 2
    victims = [victim for decision in made.values() for victim in stopped(decision)]
    assert len(victims) == len(set(victims)) == 30
    assert [len(decision.victims) for decision in made.values()] == [5] * 6 + [0, 0]


def test_what_comes_in_parts_has_each_of_them_whole_on_a_node() -> None:
    """A node with CPUs and no memory left takes none of four tasks, and neither does one with memory and no CPUs."""
    places = [node("n1", total=BIG), node("n2", total=BIG)]
    jobs = [
        running("much_memory", {"n1": {"cpu": 1, "mem": 15_500}}, user=3, ran=9 * HOUR),
        running("many_cpus", {"n2": {"cpu": 8, "mem": 1_000}}, user=3, ran=60),
    ]
    tasks = Request(spread={"cpu": 4, "mem": 4_000}, parts=4)

    decision = decide(*jobs, pending(request=tasks, user=0), nodes=places)

    assert stopped(decision) == ["many_cpus"]
    assert decision.placement == {"n2": {"cpu": 4, "mem": 4_000}}
    in_any_amounts = decide(*jobs, pending(request=replace(tasks, parts=0), user=0), nodes=places)
    assert in_any_amounts.action is START


def test_parts_take_what_is_whole_of_several_nodes_and_need_not_be_on_one() -> None:
    places = [node(f"n{n}", total=BIG) for n in (1, 2, 3)]
    jobs = [running(f"k{n}", {f"n{n}": {"cpu": 5, "mem": 13_500}}, user=0) for n in (1, 2, 3)]
    tasks = Request(spread={"cpu": 6, "mem": 6_000}, parts=6)

    assert decide(*jobs, pending(request=tasks, user=0), nodes=places).placement == {
        f"n{n}": {"cpu": 2, "mem": 2_000} for n in (1, 2, 3)
    }
    more = Request(spread={"cpu": 7, "mem": 7_000}, parts=7)
    assert decide(*jobs, pending(request=more, user=0), nodes=places).action is QUEUE


def test_what_no_node_has_a_part_of_never_fits() -> None:
    """Three tasks of 12 GB are on three nodes; a fourth has no place on them, although 48 GB are there in all."""
    places = [node(f"n{n}", total=BIG) for n in (1, 2, 3)]
    three = Request(spread={"cpu": 3, "mem": 36_000}, parts=3)
    four = Request(spread={"cpu": 4, "mem": 48_000}, parts=4)
    assert decide(pending(request=three, user=0), nodes=places).action is START
    assert decide(pending(request=four, user=0), nodes=places).reason is Reason.DOES_NOT_FIT_EVER
