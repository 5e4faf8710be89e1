"""Where the simulator places a request, and which GPUs it grants."""

import pytest

from scheduler.adapters.simulator.placement import Alloc, SimRoom, place, with_untyped
from scheduler.adapters.simulator.state import SimNode
from scheduler.model.jobs import Request
from scheduler.model.resources import Amounts

MIXED = {"cpu": 8, "gpu": 4, "gpu:a": 2, "gpu:b": 2}


def _place(request: Request, *totals: Amounts) -> Alloc | None:
    nodes = [SimNode(f"n{number}", total) for number, total in enumerate(totals, 1)]
    return place(request, SimRoom(nodes), nodes)


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ({"cpu": 1}, {"cpu": 1}),
        ({"gpu:a": 2}, {"gpu:a": 2, "gpu": 2}),
        ({"gpu:a": 2, "gpu:b": 1}, {"gpu:a": 2, "gpu:b": 1, "gpu": 3}),
        ({"gpu": 4, "gpu:a": 2}, {"gpu": 4, "gpu:a": 2}),
    ],
)
def test_typed_resources_count_under_their_plain_name_too(amounts: Amounts, expected: Amounts) -> None:
    assert with_untyped(amounts) == expected


@pytest.mark.parametrize(
    ("wanted", "granted"),
    [
        ({"gpu": 3}, {"gpu": 3, "gpu:a": 2, "gpu:b": 1}),
        ({"gpu:b": 1}, {"gpu": 1, "gpu:b": 1}),
        ({"gpu": 3, "gpu:b": 2}, {"gpu": 3, "gpu:a": 1, "gpu:b": 2}),
        ({"gpu:a": 3}, None),
        ({"gpu": 5}, None),
        ({"cpu": 8, "gpu": 0}, {"cpu": 8}),
    ],
)
def test_an_untyped_request_is_granted_types(wanted: Amounts, granted: Amounts | None) -> None:
    expected = None if granted is None else {"n1": granted}
    assert _place(Request(nodes=1, per_node=wanted), MIXED) == expected


def test_a_spread_request_prefers_one_node_and_else_takes_what_there_is() -> None:
    small, large = {"cpu": 2}, {"cpu": 6}

    assert _place(Request(spread={"cpu": 6}), small, large) == {"n2": {"cpu": 6}}
    assert _place(Request(spread={"cpu": 7}), small, large) == {"n1": {"cpu": 2}, "n2": {"cpu": 5}}
    assert _place(Request(spread={"cpu": 9}), small, large) is None


def test_a_spread_request_for_typed_gpus_counts_what_untyped_ones_were_granted() -> None:
    typed_and_not = Request(spread={"gpu": 5, "gpu:a": 3})

    alloc = _place(typed_and_not, {"gpu": 4, "gpu:a": 4}, {"gpu": 4, "gpu:b": 4})

    assert alloc == {"n1": {"gpu": 4, "gpu:a": 4}, "n2": {"gpu": 1, "gpu:b": 1}}


def test_several_nodes_are_different_ones() -> None:
    request = Request(nodes=2, per_node={"cpu": 2})

    assert _place(request, {"cpu": 8}) is None
    assert _place(request, {"cpu": 8}, {"cpu": 1}, {"cpu": 2}) == {"n1": {"cpu": 2}, "n3": {"cpu": 2}}
