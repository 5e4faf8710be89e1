"""Elastic jobs give up workers before anybody is stopped, exactly what is missing, never below their minimum."""

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler.model.jobs import Elastic, Request, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts
from tests.builders import HOUR, NOW, anywhere, ending, node, nodes, on_nodes, one_node, pending, running
from tests.scheduler.planning import decide, decisions


def elastic(
    job_id: str, on: Mapping[str, Amounts], least: int = 1, user: int = 3, **fields: Any
) -> SnapshotJob:
    """A running job that can do with `least` of its nodes."""
    return running(job_id, on, user=user, elastic=Elastic(min_nodes=least), **fields)


def on(**cpus: int) -> dict[str, Amounts]:
    """What a job holds on each node."""
    return {name: {"cpu": cpu} for name, cpu in cpus.items()}


def given_up(decision: Decision) -> dict[str, tuple[str, ...]]:
    """Per victim, the nodes that it gives up."""
    assert all(victim.how is How.NODES for victim in decision.victims)
    return {victim.job: victim.nodes for victim in decision.victims}


def test_the_leftover_of_a_machine_is_put_to_use() -> None:
    """Document 003: 1 GPU, 10 CPU and 60 GB are left; the job needs 3, 30 and 60; a worker of 2 and 20 makes it fit."""
    machine = node("n1", total={"gpu": 8, "cpu": 80, "mem": 300})
    rest = running("R", {"n1": {"gpu": 5, "cpu": 50, "mem": 240}}, user=0)
    trained = elastic("T", {"n1": {"gpu": 2, "cpu": 20}, "n2": {"gpu": 8, "cpu": 80}})
    asked = pending("J", Request(nodes=1, per_node={"gpu": 3, "cpu": 30, "mem": 60}), user=1)
    decision = decide(rest, trained, asked, nodes=[machine, node("n2", total={"gpu": 8, "cpu": 80})])
    assert (decision.action, decision.reason) == (DecisionKind.SHRINK, Reason.SHRINKS)
    assert decision.nodes == ("n1",)
    assert given_up(decision) == {"T": ("n1",)}


def test_nobody_is_stopped_when_shrinking_is_enough_though_a_lower_job_is_cheaper_to_stop() -> None:
    lowest = running("1", "n1", 4, ran=10, user=9)
    decision = decide(
        lowest, elastic("T", on(n1=4, n2=8), user=1), pending("J", one_node(4), user=0), nodes=nodes(2)
    )
    assert decision.action is DecisionKind.SHRINK
    assert given_up(decision) == {"T": ("n1",)}


@pytest.mark.parametrize(
    ("least", "user", "rules"),
    [(2, 3, {}), (1, 1, {}), (1, 3, {"elastic": False}), (1, 3, {"bands": ((0, 1, 2, 3),)})],
    ids=["at its minimum", "of equal rank", "switched off", "in the same band"],
)
def test_it_keeps_its_nodes(least: int, user: int, rules: dict[str, Any]) -> None:
    # It is protected from being stopped as a whole by its rank, its band, or (else) by a job that is worth more.
    trained = elastic("T", on(n1=8, n2=8), least, user)
    decision = decide(trained, pending("J", one_node(4), user=1), nodes=nodes(2), **rules)
    assert decision.action is not DecisionKind.SHRINK
    assert all(victim.how is How.REQUEUE for victim in decision.victims)


@pytest.mark.parametrize("fields", [{"preemptable": False}, {"ran": 60}], ids=["protected", "exempt"])
def test_who_may_not_be_stopped_is_not_shrunk(fields: dict[str, Any]) -> None:
    trained = elastic("T", on(n1=8, n2=8), **fields)
    decision = decide(trained, pending("J", one_node(4), user=1), nodes=nodes(2), exempt_s=HOUR)
    assert decision.action is DecisionKind.QUEUE


def test_of_two_single_workers_the_one_with_less_left_over_goes_even_if_its_job_ranks_higher() -> None:
    small, large = elastic("1", on(n1=5, n3=1), user=2), elastic("2", on(n2=8, n4=1), user=9)
    decision = decide(small, large, pending("J", one_node(5), user=1), nodes=[*nodes(3), node("n4", 4)])
    assert decision.action is DecisionKind.START, "n3 has room"
    full = [running("R", {"n3": {"cpu": 7}, "n4": {"cpu": 7}}, user=0)]
    decision = decide(*full, small, large, pending("J", one_node(5), user=1), nodes=nodes(4))
    assert given_up(decision) == {"1": ("n1",)}
    twins = elastic("1", on(n1=8, n3=1), user=2), large
    decision = decide(*full, *twins, pending("J", one_node(5), user=1), nodes=nodes(4))
    assert given_up(decision) == {"2": ("n2",)}, "of equals the lower rank"


def test_when_no_single_worker_is_enough_as_few_as_possible_and_then_the_smallest() -> None:
    workers = elastic("1", on(n1=3, n2=4, n3=4, n4=6, n5=8))
    fit = decide(workers, pending("J", anywhere(9 + 15), user=1), nodes=nodes(5))
    assert fit.action is DecisionKind.SHRINK
    assert given_up(fit) == {"1": ("n1", "n4")}, "15 are free, 9 are missing: 3 + 6 leave nothing over"


def test_many_workers_are_taken_without_trying_all_combinations_and_none_is_needless() -> None:
    jobs = [elastic(str(i), on(**{f"n{2 * i - 1}": 6, f"n{2 * i}": 5})) for i in range(1, 6)]
    decision = decide(*jobs, pending("J", anywhere(25 + 17), user=1), nodes=nodes(10))
    lost = [len(victim.nodes) for victim in decision.victims]
    assert sum(lost) == 3
    assert max(lost) == 1, "each of them keeps one node"


def test_of_a_job_that_may_lose_only_one_worker_the_one_is_found_that_is_enough() -> None:
    one = elastic("1", on(n1=1, n2=2))
    other = elastic("2", on(n3=1, n4=1))
    decision = decide(one, other, pending("9", anywhere(3), user=0), nodes=[
        node("n1", 1), node("n2", 2), node("n3", 1), node("n4", 1),
    ])  # fmt: skip
    assert given_up(decision) == {"1": ("n2",), "2": ("n3",)}


def test_several_nodes_are_made_free_by_several_jobs_and_each_keeps_its_minimum() -> None:
    jobs = [elastic("1", on(n1=8, n2=8)), elastic("2", on(n3=8, n4=8, n5=8), least=2)]
    decision = decide(*jobs, pending("J", on_nodes(2, 8), user=1), nodes=nodes(5))
    assert decision.action is DecisionKind.SHRINK
    assert {job: len(lost) for job, lost in given_up(decision).items()} == {"1": 1, "2": 1}
    assert sorted(decision.nodes) == sorted(name for lost in given_up(decision).values() for name in lost)
    three = decide(*jobs, pending("J", on_nodes(3, 8), user=1), nodes=nodes(5))
    assert three.action is not DecisionKind.SHRINK


def test_of_equal_nodes_for_several_the_first_counts_even_if_another_one_looked_cheaper_at_first() -> None:
    """A may lose but one of its nodes: n9 then costs a larger worker, as n3 and n5 do."""
    jobs = [elastic("A", on(n1=3, n9=3)), elastic("B", on(n9=4, n8=1))]
    jobs += [elastic("C", on(n3=4, n8=1)), elastic("D", on(n5=4, n8=1))]
    rest = running("R", on(n1=5, n3=4, n5=4, n9=1), user=0)
    asked = on_nodes(3, 3, only_nodes=frozenset({"n1", "n3", "n5", "n9"}))
    decision = decide(*jobs, rest, pending("J", asked, user=1), nodes=nodes(9))
    assert given_up(decision) == {"A": ("n1",), "C": ("n3",), "D": ("n5",)}


def test_a_free_node_counts_for_several_and_a_whole_node_needs_everybody_gone() -> None:
    jobs = [elastic("1", on(n1=8, n2=4)), running("2", "n2", 2, user=0)]
    decision = decide(*jobs, pending("J", on_nodes(2, 6, exclusive=True), user=0), nodes=nodes(3))
    assert (decision.action, decision.nodes) == (DecisionKind.SHRINK, ("n1", "n3"))
    assert given_up(decision) == {"1": ("n1",)}


def test_jobs_that_arrive_together_see_each_others_shrinks() -> None:
    jobs = [elastic("T", on(n1=8, n2=8, n3=8), least=2), pending("1", one_node(5), 20, user=1)]
    made = decisions([*jobs, pending("2", one_node(3), user=1), pending("3", one_node(8), user=1)], nodes(3))
    assert [d.action for d in made.values()][:2] == [DecisionKind.SHRINK, DecisionKind.START]
    assert made["2"].nodes == made["1"].nodes
    assert made["3"].action is DecisionKind.PREEMPT, "it would fall below its minimum, so it is stopped"
    assert made["3"].victims[0].how is How.REQUEUE


def test_units_of_several_jobs_add_up_and_none_is_taken_too_many() -> None:
    held = [
        running(job, "n1", 4, user=3, unit={"cpu": 1}, elastic=Elastic(min_units=1)) for job in ("1", "2")
    ]
    decision = decide(*held, pending("J", one_node(4), user=1))
    assert decision.action is DecisionKind.SHRINK
    assert sorted(victim.units for victim in decision.victims) == [1, 3]


def test_what_is_coming_counts_as_there() -> None:
    jobs = [ending("E", "n1", 3), elastic("T", on(n1=3, n2=8))]
    decision = decide(*jobs, running("R", "n1", 2, user=0), pending("J", one_node(6), user=1), nodes=nodes(2))
    assert given_up(decision) == {"T": ("n1",)}


def test_an_elastic_job_in_units_gives_back_only_as_many_as_are_missing() -> None:
    held = running("T", on(n1=8, n2=8), user=3, unit={"cpu": 2}, elastic=Elastic(min_units=5))
    decision = decide(held, pending("J", one_node(3), user=1), nodes=nodes(2))
    assert decision.action is DecisionKind.SHRINK
    assert [(v.how, v.units) for v in decision.victims] == [(How.UNITS, 2)]
    more = decide(held, pending("J", one_node(7), user=1), nodes=nodes(2))
    assert more.action is not DecisionKind.SHRINK, "8 - 4 is below 5"


@pytest.mark.parametrize(
    ("rules", "fields", "reason"),
    [
        ({"paused": "dave paused x"}, {}, Reason.PAUSED),
        ({"min_wait_s": 60}, {}, Reason.TOO_SOON),
        ({"cool_down_s": 60}, {"stopped_at": NOW - 30}, Reason.COOL_DOWN),
    ],
)
def test_what_holds_stops_back_for_a_job_holds_shrinks_back(
    rules: dict[str, Any], fields: dict[str, Any], reason: Reason
) -> None:
    trained = elastic("T", on(n1=8, n2=8))
    decision = decide(trained, pending("J", one_node(4), user=1, **fields), nodes=nodes(2), **rules)
    assert (decision.action, decision.reason, decision.victims) == (DecisionKind.QUEUE, reason, ())
    assert ". T (uT, P3) could shrink for it; n1 has nothing free." in decision.explain


def test_the_stops_of_an_hour_do_not_count_shrinks() -> None:
    trained = elastic("T", on(n1=8, n2=8))
    limits: dict[str, Any] = {"max_stops_per_hour": 0, "max_stops_per_user_hour": 0}
    decision = decide(trained, pending("J", one_node(4), user=1), nodes=nodes(2), **limits)
    assert decision.action is DecisionKind.SHRINK


def test_the_sentence_says_what_is_given_up() -> None:
    trained = elastic("T", on(n1=6, n2=8))
    decision = decide(trained, pending("J", one_node(4), user=1), nodes=nodes(2))
    assert decision.explain == (
        "J (uJ, P1) needs 4 cpu on one node; n1 has 2 cpu free. Nobody is stopped: T (uT, P3) gives up n1 (6 cpu)."
    )
