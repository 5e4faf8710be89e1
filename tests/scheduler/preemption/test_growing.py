"""Elastic jobs get workers back when room is free: by rank, up to their wish, and without going back and forth."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scheduler.contracts.plan import encode_plan
from scheduler.model.jobs import Elastic, SnapshotJob
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Mode, OverQuota
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts
from scheduler.preemption.explain import explain
from scheduler.preemption.planner import plan
from tests.builders import node, nodes, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.planning import decisions


def lacks(job_id: str, on: Mapping[str, Amounts], wish: int, user: int = 2, **fields: Any) -> SnapshotJob:
    """A running job that wishes for more nodes; at least one will do."""
    own = {key: fields.pop(key) for key in ("per_node",) if key in fields}
    return running(job_id, on, user=user, elastic=Elastic(min_nodes=1, wish_nodes=wish, **own), **fields)


def on(**cpus: int) -> dict[str, Amounts]:
    return {name: {"cpu": cpu} for name, cpu in cpus.items()}


def test_it_grows_after_higher_jobs_and_before_lower_ones() -> None:
    jobs = [
        lacks("T", on(n1=8), 3),
        pending("higher", one_node(8), user=1),
        pending("lower", one_node(8), user=3),
    ]
    made = decisions(jobs, nodes(3))
    assert list(made) == ["higher", "T", "lower"]
    grown = made["T"]
    assert (grown.action, grown.reason, grown.nodes) == (DecisionKind.GROW, Reason.GROWS, ("n3",))
    assert grown.placement == on(n3=8)
    assert made["higher"].nodes == ("n2",)
    assert made["lower"].action is DecisionKind.QUEUE
    assert grown.explain == "T (uT, P2) is on 1 of 3 nodes that it wishes for; free for it: n3 (8 cpu)."
    document = next(d for d in encode_plan(plan(snapshot(jobs, nodes(3))))["decisions"] if d["job"] == "T")
    assert document == {
        "job": "T",
        "action": "grow",
        "nodes": ["n3"],
        "reason": "grows",
        "explain": grown.explain,
    }


def test_it_gets_as_much_as_its_largest_worker_holds_or_what_it_says() -> None:
    places = [*nodes(2), node("n3", 6), node("n4", 3)]
    assert decisions([lacks("T", on(n1=2, n2=5), 4)], places)["T"].placement == on(n3=5)
    little = lacks("T", on(n1=2, n2=5), 9, per_node={"cpu": 3})
    assert decisions([little], places)["T"].placement == on(n3=3, n4=3), "never a second worker on one node"


@pytest.mark.parametrize("wish", [None, 1, 2])
def test_who_has_its_wish_or_none_does_not_grow(wish: int | None) -> None:
    held = running("T", on(n1=1, n2=1), elastic=Elastic(min_nodes=1, wish_nodes=wish))
    assert decisions([held], nodes(3)) == {}


def test_it_does_not_grow_where_that_is_switched_off_or_its_limit_is_reached() -> None:
    trained = lacks("T", on(n1=4), 2, task=1)
    assert decisions([trained], nodes(2), elastic=False) == {}
    assert decisions([trained], nodes(2), quota_totals={1: {"cpu": 7}}) == {}
    assert "T" in decisions([trained], nodes(2), quota_totals={1: {"cpu": 8}}, quotas={1: 1})
    twice = [trained, lacks("U", on(n2=4), 2, task=1)]
    assert list(decisions(twice, nodes(4), quota_totals={1: {"cpu": 12}})) == ["T"], "the first took the rest"


def test_a_job_beyond_its_quota_grows_after_all_others() -> None:
    trained = [lacks(job, on(**{f"n{job}": 8}), 2, user=0, task=1, of="ann") for job in ("1", "2")]
    jobs = [*trained, pending("J", one_node(8), user=5)]
    rules: dict[str, Any] = {"quotas": {1: 1}, "over_quota": OverQuota.LOWEST}
    made = decisions(jobs, nodes(4), **rules)
    assert list(made) == ["1", "J"]
    assert list(decisions(jobs, nodes(5), **rules)) == ["1", "J", "2"]


def test_units_come_back_as_many_as_fit() -> None:
    held = running("T", on(n1=4), user=2, unit={"cpu": 2}, elastic=Elastic(min_units=1, wish_units=9))
    grown = decisions([held, running("R", "n2", 5)], nodes(2))["T"]
    assert (grown.units, grown.placement) == (3, on(n1=4, n2=2))
    assert grown.explain == (
        "T (uT, P2) holds 2 of 9 units that it wishes for; free for it: n1 (4 cpu) and n2 (2 cpu)."
    )
    limited = decisions([replace(held, task_level=1)], nodes(2), quota_totals={1: {"cpu": 11}})["T"]
    assert limited.units == 3, "of 6 that are free: a limit is reached"


def test_who_gives_something_up_does_not_grow_in_the_same_plan() -> None:
    """What is left over of the worker that it gave up would do for a smaller one: that would be back and forth."""
    trained = lacks("T", on(n1=8, n2=8), 3, user=3, per_node={"cpu": 2})
    made = decisions([trained, pending("J", one_node(5), user=1)], nodes(2))
    assert {job: d.action for job, d in made.items()} == {"J": DecisionKind.SHRINK}


def test_it_leaves_alone_what_a_higher_job_is_about_to_get() -> None:
    """The higher job may shrink it in a minute. Until then it must not take the other half of that job's room."""
    trained = lacks("T", on(n1=8, n2=4), 3, user=3)
    waiting = pending("J", on_nodes(1, 6), user=1)
    rules: dict[str, Any] = {"min_wait_s": 60}
    filled = [trained, running("R", "n3", 4, user=0), waiting]
    made = decisions(filled, nodes(3), **rules)
    assert {job: d.action for job, d in made.items()} == {"J": DecisionKind.QUEUE}
    assert made["J"].reason is Reason.TOO_SOON


def test_a_plan_that_was_carried_out_is_not_followed_by_the_opposite() -> None:
    """Shrunk, then (the urgent job being gone) grown to its wish, then at rest."""
    trained = lacks("T", on(n1=8, n2=8), 2, user=3)
    first = decisions([trained, pending("J", one_node(8), user=1)], nodes(2))
    assert first["J"].action is DecisionKind.SHRINK
    kept = {"n1": {"cpu": 8}} if first["J"].nodes == ("n2",) else {"n2": {"cpu": 8}}
    shrunk = replace(trained, alloc=kept)
    beside = running("J", first["J"].nodes[0], 8, user=1)
    assert decisions([shrunk, beside], nodes(2)) == {}
    back = decisions([shrunk], nodes(2))["T"]
    assert (back.action, back.nodes) == (DecisionKind.GROW, first["J"].nodes)
    assert decisions([replace(trained, alloc={**kept, **back.placement})], nodes(2)) == {}


def test_two_axes_decide_whose_turn_it_is() -> None:
    one, two = (lacks(job, on(**{f"n{job}": 8}), 2, user=2, task=task) for job, task in (("1", 3), ("2", 1)))
    assert list(decisions([one, two], nodes(3), Mode.USER_THEN_TASK)) == ["2"]


def test_explaining_a_job_that_grows() -> None:
    said = explain(snapshot([lacks("T", on(n1=8), 2)], nodes(2)), "T")
    assert "Verdict: grow (grows). There is free room for workers that it lacks." in said
    assert "T (uT, P2) is on 1 of 2 nodes" in said
