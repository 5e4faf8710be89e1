"""GPUs that are given out whole or in shares: what each card has left."""

import pytest

from scheduler.adapters.slurm.cards import MOST_WAYS, PLAIN, Cards, of_node, ways_of

SHARDS, MPS = Cards(2, 4, "shard"), Cards(2, 100, "mps")
FIRST, SECOND = (SHARDS.name(index) for index in (0, 1))


def test_a_node_s_cards_and_what_is_not_modelled() -> None:
    assert of_node({"cpu": 8, "gpu": 2}) is None
    assert of_node({"gpu": 2, "shard": 8}) == SHARDS
    for odd in ({"gpu": 2, "shard": 9}, {"shard": 8}, {"gpu": 2, "shard": 8, "mps": 200}):
        with pytest.raises(ValueError, match="not modelled"):
            of_node(odd)
    with pytest.raises(ValueError, match="not modelled"):
        of_node({"gpu": 2, "gpu:a": 1, "gpu:b": 1, "shard": 8})


@pytest.mark.parametrize(
    ("gres", "held"),
    [
        ("gpu:1(IDX:1)", {SECOND: 4}),
        ("gpu:a100:2(IDX:0-1)", {FIRST: 4, SECOND: 4}),
        ("shard:5(2/4,3/4),npu(CNT:5)", {FIRST: 2, SECOND: 3}),
        ("shard:2(-/4,2/4)", {SECOND: 2}),
        ("shard:3(IDX:1)", {SECOND: 3}),
        ("npu(CNT:5)", {}),
        ("", {}),
    ],
)
def test_what_a_job_holds_of_each_card(gres: str, held: dict[str, int]) -> None:
    assert SHARDS.held(gres) == held


def test_who_uses_mps_keeps_it_from_the_other_cards() -> None:
    held = MPS.held("mps:80(80/100,0/100)")
    assert held == {MPS.name(0): 80, MPS.turned_off(0): 1}
    first, second = MPS.ways({"mps": 20}, gpus_mind=True)
    assert first == {MPS.name(0): 20, MPS.turned_off(1): MPS.inner[MPS.turned_off(1)]}
    assert second[MPS.turned_off(0)] > MPS.inner[MPS.turned_off(0)] - held[MPS.turned_off(0)]


def test_ways_in_which_nodes_could_give_what_is_asked_for() -> None:
    cards = {"n1": SHARDS}
    assert ways_of({"cpu": 1}, cards, ["n1"], gpus_mind=True) == []
    assert ways_of({"gpu": 1}, cards, ["n2"], gpus_mind=True) == []
    assert ways_of({"gpu": 1}, cards, ["n1"], gpus_mind=True) == [{FIRST: 4}, {SECOND: 4}]
    assert ways_of({"gpu": 1}, cards, ["n1", "n2"], gpus_mind=True) == [{PLAIN: 1}, {FIRST: 4}, {SECOND: 4}]
    # 22.05 gives out a whole GPU whatever shares of it are out.
    assert ways_of({"gpu": 1}, cards, ["n1"], gpus_mind=False) == []
    assert ways_of({"shard": 3}, cards, ["n1", "n2"], gpus_mind=False) == [{FIRST: 3}, {SECOND: 3}]
    assert ways_of({"shard": 5}, cards, ["n1"], gpus_mind=True) == []


def test_too_many_ways_are_not_planned_for() -> None:
    many = {"n1": Cards(16, 4, "shard")}
    with pytest.raises(ValueError, match="any of many"):
        ways_of({"gpu": 8}, many, ["n1"], gpus_mind=True)
    assert len(ways_of({"gpu": 15}, many, ["n1"], gpus_mind=True)) == 16 <= MOST_WAYS
