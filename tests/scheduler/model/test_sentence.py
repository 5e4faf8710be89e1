"""Sentences as data: English at once, the data with it, and nothing that was kept can break a page."""

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.model.sentence import (
    Held,
    Listed,
    Moment,
    Param,
    Seconds,
    Sentence,
    add_lines,
    facts_of,
    from_json,
    join,
    lines,
    say,
    to_json,
)
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.scheduler.strategies import snapshots

WAITS = say(
    "soon.one",
    who=say("job", job="102", user="bob", level="P1"),
    need=say("need.each_node", need=Held({"cpu": 6, "mem": 2048}), n=2),
    nodes=Listed(f"n{number}" for number in range(9)),
    moment=Moment(1_700_000_300),
    left=Seconds(300),
    names=Listed(["101"]),
    time=Seconds(7200),
)
KEYS = ["code", "params", "s", "at", "held", "kept", "list", "more", "x"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


def test_a_sentence_is_its_own_english() -> None:
    assert WAITS == (
        "102 (bob, P1) needs 6 cpu, 2 GB on each of 2 nodes. It is expected to start by itself in 5 min (2023-11-14 "
        "22:18 UTC) on n0, n1, n2, n3, n4 and 4 more, when 101 has ended: nobody is stopped for a wait of up to 2 h."
    )


@pytest.mark.parametrize(
    "again",
    [
        lambda made: from_json(json.loads(json.dumps(to_json(made)))),
        lambda made: pickle.loads(pickle.dumps(made)),
        copy.deepcopy,
    ],
)
def test_it_comes_back_whole(again: Any) -> None:
    made = again(WAITS)
    assert isinstance(made, Sentence)
    assert (made, made.code, made.params) == (WAITS, WAITS.code, WAITS.params)
    assert type(made.params["left"]) is Seconds
    nodes = made.params["nodes"]
    assert isinstance(nodes, Listed) and nodes.more == 4


def test_what_a_later_release_has_kept_is_read_in_english() -> None:
    assert from_json({"code": "of.tomorrow", "params": {}, "en": "It waits."}) == "It waits."
    deep: dict[str, Any] = {"code": "joined", "params": {"first": "a", "next": "b"}}
    for _ in range(50):
        deep = {"code": "joined", "params": {"first": "a", "next": deep}}
    assert from_json({**deep, "en": "too deep"}) == "too deep"


@settings(max_examples=300)
@given(json_values, st.sampled_from(sorted(lines())))
def test_nothing_that_is_kept_raises(value: Any, code: str) -> None:
    for document in (
        value,
        {"code": code, "params": value},
        {"code": code, "params": {"who": value}, "en": value},
    ):
        assert isinstance(from_json(document), str)


def test_durations_grow_without_being_a_change() -> None:
    def refused(time: int, user: str = "bob") -> Sentence:
        who = say("victim", job="1", user=user, level="P1", time=Seconds(time))
        return say("blocked", who=who, why="it is held")

    assert facts_of(refused(5)) == facts_of(refused(500))
    assert facts_of(refused(5)) != facts_of(refused(5, "ann"))
    assert facts_of("ran 5 s") != facts_of("ran 6 s"), "only what is known to be a duration is one"


def test_joining_leaves_out_what_is_empty() -> None:
    assert join("", "") == ""
    assert join("", WAITS) is WAITS
    assert join("A.", "", "B.", "C.") == "A. B. C."


def test_a_code_has_one_line() -> None:
    add_lines({"blocked": lines()["blocked"]})
    with pytest.raises(ValueError, match="blocked"):
        add_lines({"blocked": "something else"})
    with pytest.raises(KeyError):
        say("blocked", who="x")


@given(st.lists(st.text(min_size=1), max_size=9), st.integers(2, 9))
def test_lists_are_said_as_ever(names: list[str], limit: int) -> None:
    from scheduler.model import words

    items: list[Param] = [*names]
    assert str(Listed(items, limit)) == words.names(names, limit)


@settings(max_examples=60, deadline=None, database=None)
@given(snapshots())
def test_whatever_the_planner_says_is_data(snapshot: Snapshot) -> None:
    for decision in plan(snapshot).decisions:
        assert isinstance(decision.explain, Sentence), decision.explain
        assert from_json(json.loads(json.dumps(to_json(decision.explain)))) == decision.explain
