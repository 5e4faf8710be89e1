"""Requests that can be met in several ways: one of some amounts, or all nodes of one unit."""

from typing import Any

import pytest

from scheduler.contracts.errors import InputError
from scheduler.contracts.requests import decode_request, encode_request
from scheduler.model.jobs import Request, SnapshotJob
from scheduler.model.plan import DecisionKind
from tests.builders import anywhere, node, on_nodes, one_node, pending, running
from tests.scheduler.planning import decide, stopped

TOTAL = {"cpu": 8, "~a": 4, "~b": 4}


def holder(job_id: str, ran: int, **held: int) -> SnapshotJob:
    return running(job_id, {"n1": {"cpu": 1, **{f"~{name}": n for name, n in held.items()}}}, ran=ran, user=3)


def either(amount: int) -> SnapshotJob:
    return pending("J", one_node(one_of=({"~a": amount}, {"~b": amount})), user=0)


def one_of(*jobs: SnapshotJob) -> Any:
    return decide(*jobs, nodes=[node(total=TOTAL)])


def test_what_is_left_of_two_is_no_room() -> None:
    """Two of each are free: four together, and not four of one. Who has run shortest goes."""
    older, younger = holder("1", 900, a=2), holder("2", 60, b=2)
    assert one_of(older, younger, either(2)).action is DecisionKind.START
    decision = one_of(older, younger, either(4))
    assert (decision.action, stopped(decision)) == (DecisionKind.PREEMPT, ["2"])


def test_the_way_that_costs_least_is_taken() -> None:
    """Of `a` two would have to go, of `b` one."""
    decision = one_of(holder("1", 900, a=2), holder("2", 900, a=2), holder("3", 900, b=4), either(4))
    assert stopped(decision) == ["3"]


def test_no_way_is_no_room() -> None:
    own = running("1", {"n1": {"cpu": 1, "~a": 1, "~b": 1}}, user=0)
    assert one_of(own, either(4)).action is DecisionKind.QUEUE
    assert one_of(either(5)).action is DecisionKind.QUEUE


def test_all_nodes_are_of_one_unit() -> None:
    """n2 and n4 are free, and of different units: one of the two jobs beside them goes."""
    there = [node(f"n{i}", 4, unit="u1" if i < 3 else "u2") for i in range(1, 5)]
    jobs = [running("1", "n1", 4, ran=900, user=3), running("3", "n3", 4, ran=60, user=3)]
    decision = decide(*jobs, pending("J", on_nodes(2, 4, in_unit=True), user=0), nodes=there)
    assert (stopped(decision), decision.nodes) == (["3"], ("n3", "n4"))
    assert decide(pending("J", on_nodes(2, 4, in_unit=True), user=0), nodes=there).nodes == ("n1", "n2")


def test_a_contract_has_them_where_they_say_something() -> None:
    request = on_nodes(2, 4, one_of=({"~a": 4}, {"~b": 4}), in_unit=True)
    written = encode_request(request)
    assert (written["one_of"], written["in_unit"]) == ([{"~a": 4}, {"~b": 4}], True)
    assert decode_request(written, "$") == request
    assert encode_request(Request(nodes=1, per_node={"cpu": 1})) == {"nodes": 1, "per_node": {"cpu": 1}}
    counted = {
        "nodes": 1,
        "per_node": {"cpu": 1},
        "counted": [{"nodes": 1, "features": ["a"]}],
        "in_unit": True,
    }
    with pytest.raises(InputError, match="in_unit"):
        decode_request(counted, "$")


def test_memory_that_is_free_where_no_cpu_is_counts_once_a_victim_gives_the_cpu() -> None:
    """Seen on 26.05.5: two small jobs hold all CPUs and hardly any memory."""
    jobs = [running(name, {"n1": {"cpu": 2, "mem": 200}}, ran=900, user=3) for name in ("1", "2")]
    tasks = pending("J", anywhere(spread={"cpu": 2, "mem": 3000}, parts=2), user=0)
    decision = decide(*jobs, tasks, nodes=[node(total={"cpu": 4, "mem": 8000})])
    assert (decision.action, len(decision.victims)) == (DecisionKind.PREEMPT, 1)
