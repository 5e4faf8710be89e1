"""What a request wants where its queue is played: how many nodes, of which, with how much on each."""

from typing import Any

import pytest

from console.starts.requests import PlayedNode, PlayedWant, WantedNodes
from scheduler.model.jobs import Request

X = frozenset({"x"})


def node(name: str, cpus: int = 8, gpus: int = 0, *features: str, partition: str = "x") -> PlayedNode:
    total = {"cpu": cpus, "gpu": gpus}
    return PlayedNode(name, total, total, frozenset(features), frozenset({partition}))


NODES = (
    node("n1"), node("n2", 8, 4, "fast"), node("n3", 16, 4, "fast", "new"), node("n4", 16, 4, partition="y"),
)  # fmt: skip


def want(**request: Any) -> PlayedWant | None:
    return WantedNodes(NODES).want_of(Request(**request), X)


def test_nodes_of_its_partitions_with_room_for_its_share() -> None:
    assert want(nodes=2, per_node={"cpu": 8}) == PlayedWant(2, {"cpu": 8}, frozenset({0, 1, 2}))
    assert want(nodes=1, per_node={"gpu": 2}) == PlayedWant(1, {"gpu": 2}, frozenset({1, 2}))
    both = WantedNodes(NODES).want_of(Request(nodes=1, per_node={"cpu": 16}), frozenset({"x", "y"}))
    assert both == PlayedWant(1, {"cpu": 16}, frozenset({2, 3}))


def test_too_few_nodes_that_could_ever_have_room() -> None:
    assert want(nodes=3, per_node={"gpu": 1}) is None
    assert want(nodes=1, per_node={"cpu": 32}) is None
    assert want(spread={"cpu": 64}) is None
    assert WantedNodes(NODES).want_of(Request(nodes=1, per_node={"cpu": 1}), frozenset({"z"})) is None


@pytest.mark.parametrize(
    ("where", "among"),
    [
        ({"features": frozenset({"fast"})}, {1, 2}),
        ({"features": frozenset({"fast", "new"})}, {2}),
        ({"only_nodes": frozenset({"n1", "n3"})}, {0, 2}),
        ({"not_nodes": frozenset({"n1"})}, {1, 2}),
        ({"any_of": (frozenset({"new"}), frozenset({"old"}))}, {2}),
        ({"same_of": (frozenset({"fast"}),)}, {1, 2}),
    ],
)
def test_only_where_it_may_go(where: dict[str, Any], among: set[int]) -> None:
    assert want(nodes=1, per_node={"cpu": 1}, **where) == PlayedWant(1, {"cpu": 1}, frozenset(among))


def test_counted_features_allow_the_nodes_of_each_set() -> None:
    found = want(nodes=2, per_node={"cpu": 1}, counted=((1, frozenset({"new"})), (1, frozenset({"fast"}))))
    assert found == PlayedWant(2, {"cpu": 1}, frozenset({1, 2}))


def test_amounts_on_any_nodes_lie_on_as_few_as_they_can() -> None:
    assert want(spread={"cpu": 16}) == PlayedWant(1, {"cpu": 16}, frozenset({2}))
    assert want(spread={"cpu": 17}) == PlayedWant(3, {"cpu": 6}, frozenset({0, 1, 2}))


def test_units_are_whole_on_their_nodes() -> None:
    # Three units of three CPUs: 9 on one node, or 6 on each of two.
    assert want(unit={"cpu": 3}, count=3) == PlayedWant(1, {"cpu": 9}, frozenset({2}))
    assert want(unit={"gpu": 3}, count=2) == PlayedWant(2, {"gpu": 3}, frozenset({1, 2}))


def test_an_exclusive_job_wants_whole_nodes() -> None:
    assert want(nodes=2, per_node={"cpu": 1}, exclusive=True) == PlayedWant(
        2, {"cpu": 8}, frozenset({0, 1, 2})
    )
