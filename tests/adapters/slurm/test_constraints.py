"""Slurm's constraints decoded. The nodes that each allows were tried with Slurm 22.05.8, 24.11.5 and 26.05.5."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scheduler.adapters.slurm.constraints import MOST_SETS, ODD, Constraint, decode
from scheduler.model.jobs import Request
from scheduler.model.nodes import SnapshotNode
from scheduler.preemption.shapes import alternatives, suits

HAVE = {"n1": "ax", "n2": "ay", "n3": "vx", "n4": "vy"}
NODES = [
    SnapshotNode(name, up=True, total={}, features=frozenset(features)) for name, features in HAVE.items()
]
ALLOWED = {
    "a": "n1 n2",
    "a&x": "n1",
    "a,x": "n1",
    "a|v": "n1 n2 n3 n4",
    "a|x": "n1 n2 n3",
    "a&x|v": "n1 n3 n4",
    "a&(x|y)": "n1 n2",
    "(a|v)&x": "n1 n3",
    "x&(a|v)": "n1 n3",
    "(a|x)&(v|y)": "n2 n3",
    "(a&x)|v": "n1 n3 n4",
    "v|(a&x)": "n1 n3 n4",
    "(a&x)": "n1",
    # From the left to the right: the last one is for all that stands before it.
    "v|a&x": "n1 n3",
    "x|a&y": "n2",
    "[a|v]": "n1 n2 n3 n4",
    "[(a&x)|(v&y)]": "n1 n4",
    "[x|(v&y)]": "n1 n3 n4",
    "a&[x|y]": "n1 n2",
    "[x|y]&a": "n1 n2",
    "a*1": "n1 n2",
}


def request(constraint: Constraint, nodes: int) -> Request:
    return Request(
        nodes=nodes,
        features=constraint.features,
        any_of=constraint.any_of,
        same_of=constraint.same_of,
        counted=constraint.counted,
    )


@pytest.mark.parametrize("text", ALLOWED)
def test_one_node_may_be_any_that_slurm_takes(text: str) -> None:
    one = decode(text).on(1)
    assert one.understood and not one.same_of and not one.counted
    assert [node.name for node in NODES if suits(request(one, 1), node)] == ALLOWED[text].split()


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("[a|v]", ["n1 n2", "n3 n4"]),
        ("[x|y]", ["n1 n3", "n2 n4"]),
        ("[a|v]&x", ["n1", "n3"]),
        ("(a|v)&[x|y]", ["n1 n3", "n2 n4"]),
        ("[(a&x)|v]", ["n1", "n3 n4"]),
        # All nodes with a, or all with v, is less than Slurm allows: each could have its own.
        ("[(a|v)|x]", ["n1 n2", "n3 n4", "n1 n3"]),
    ],
)
def test_several_nodes_have_the_same_one(text: str, each: list[str]) -> None:
    found = decode(text).on(2)
    every = alternatives(request(found, 2))
    assert [[node.name for node in NODES if suits(one, node)] for one in every] == [on.split() for on in each]


def test_nodes_are_counted_by_what_they_have() -> None:
    a, v = frozenset("a"), frozenset("v")
    assert decode("[a*2&v*1]").on(3) == Constraint(counted=((2, a), (1, v)))
    assert decode("[(a&x)*1&v*1]").on(2).counted == ((1, frozenset("ax")), (1, v))
    # Further nodes are not planned for, though Slurm takes some.
    assert decode("[a*2&v*1]").on(4) == decode("[a*2&v*1]").on(0) == ODD
    assert decode("a*2").on(2) == decode("[a*2]").on(2) == Constraint(features=a)
    assert decode("a*2").on(3) == ODD


@pytest.mark.parametrize(
    "text",
    [
        "a*1&x", "x&a*1", "x&[a*1&v*1]", "[a*1&v*1]&x", "[(a|v)*1&x*1]", "[a*1|v*1]", "[a&x]", "[a|v]&[x|y]", "[a|v]|x",
        "x|[a|v]", "((a|v)&x)|y", "a&(x|(v&y))", "a & x", "a||v", "[a", "(a|v", "a|", "|a", "[a|v", "a*x", "a*0", "!a",
        "()", "[]", "a)b", "(a)b", "a]", "a$b", "*2",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_said_to_be(text: str) -> None:
    assert decode(text).on(2) == ODD


def test_a_constraint_that_means_too_much_is_not_planned_for() -> None:
    def pairs(count: int) -> str:
        return "&".join(f"(a{i}|b{i})" for i in range(count))

    assert len(decode(pairs(6)).any_of) == MOST_SETS
    assert decode(pairs(7)) == ODD
    assert decode("|".join(f"f{i}" for i in range(10_000))) == ODD
    assert decode("&".join(f"f{i}" for i in range(10_000))).understood


@given(st.one_of(st.text(max_size=40), st.text("ab()[]|&,*12", max_size=40)), st.integers(0, 4))
@example("(", 1)
@example("*" * 50, 1)
def test_whatever_stands_there_there_is_an_answer(text: str, nodes: int) -> None:
    found = decode(text).on(nodes)
    assert found.understood or found == ODD
    assert not found.counted or sum(count for count, _ in found.counted) == nodes
    assert all((*found.any_of, *found.same_of)) and len(found.any_of) != 1
