"""Facts that hardly any cluster has are nothing that a plan fails over: all of the partition would wait for it."""

from typing import Any

import pytest

from scheduler.model.jobs import Elastic, Request
from scheduler.model.plan import DecisionKind
from scheduler.model.policy import Balance, Dispatch, VictimOrder
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts
from tests.builders import HOUR, NOW, node, one_node, pending, running
from tests.scheduler.planning import decide, decisions

LOOKING_AHEAD: dict[str, Any] = {"dispatch": Dispatch.MANAGED, "patience_s": HOUR}
EVEN: dict[str, Any] = {"balance": Balance("cpu", 0.1, swap_below_s=HOUR)}
ELASTIC = Elastic(min_nodes=1)
UNITS: dict[str, Any] = {"unit": {"cpu": 2}}


@pytest.mark.parametrize(
    ("held", "rules"),
    [
        ({}, {}),
        ({"elastic": ELASTIC}, {}),
        (UNITS, {}),
        ({"predicted_end": NOW + 60}, LOOKING_AHEAD),
        ({}, EVEN),
    ],
    ids=["whole", "elastic", "in units", "soon over", "even sets"],
)
@pytest.mark.parametrize(
    "request_",
    [
        Request(nodes=1, per_node={"cpu": 4}),
        Request(nodes=2, per_node={"cpu": 2}),
        Request(spread={"cpu": 6}),
        Request(unit={"cpu": 2}, count=3),
    ],
    ids=["one node", "two nodes", "anywhere", "units"],
)
def test_what_no_node_counts_any_more_is_as_if_it_were_not_held(
    held: dict[str, Any], rules: dict[str, Any], request_: Request
) -> None:
    """A GRES was taken out of the configuration while jobs held some of it."""

    def decided(more: Amounts) -> tuple[Any, ...]:
        low = running("R", {name: {"cpu": 8, **more} for name in ("n1", "n2")}, user=3, ran=60, **held)
        asked = pending("J", request_, user=0, balanced="balance" in rules and request_.nodes > 1)
        equal = [node(name, power={"cpu": 1.0}) for name in ("n1", "n2")]
        made = decide(low, asked, nodes=equal, **rules)
        return made.action, made.nodes, made.victims, made.placement, made.at

    assert decided({"npu": 2, "npu:old": 2}) == decided({})
    assert decided({})[0] is not DecisionKind.QUEUE


def test_a_node_may_count_a_resource_by_its_type_only() -> None:
    typed, other = node("n1", total={"gpu:a": 2}), node("n2", total={"gpu": 3, "gpu:b": 3})
    low = running("R", {"n1": {"gpu:a": 2}}, user=3, preemptable=False, predicted_end=NOW + 60)
    asked = pending("J", Request(spread={"gpu": 2, "gpu:a": 1}), user=0)
    made = decide(low, asked, nodes=[typed, other], **LOOKING_AHEAD)
    assert made.action is DecisionKind.RESERVE
    assert made.placement["n1"]["gpu:a"] == 1


@pytest.mark.parametrize("rules", [{}, LOOKING_AHEAD, {"victim_order": VictimOrder.LEAST_LOST_WORK}])
@pytest.mark.parametrize(
    "request_", [Request(nodes=2), Request(nodes=1, per_node={"cpu": 0}, exclusive=True)]
)
def test_who_asks_for_nothing_stays_in_the_queue(request_: Request, rules: dict[str, Any]) -> None:
    low, higher = running("R", "n1", 8, user=3), pending("J", request_, user=0)
    made = decisions([low, higher, pending("K", one_node(2), user=1)], nodes=[node()], **rules)
    assert made["J"].reason is Reason.BLOCKED
    assert made["K"].action is DecisionKind.PREEMPT


def test_an_elastic_job_that_holds_nothing_is_given_nothing_back() -> None:
    empty = running("R", {"n1": {"cpu": 0}}, elastic=Elastic(min_nodes=1, wish_nodes=2))
    jobs, order = [empty, pending("J", one_node(2))], VictimOrder.LEAST_LOST_WORK
    made = decisions(jobs, nodes=[node("n1"), node("n2")], victim_order=order)
    assert made["J"].action is DecisionKind.START
