"""What differs between two documents, key by key, in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.core.diff import KeyChange, KeyDifference, difference_of, differences, words
from console.core.old_sentences import read_change
from scheduler.model.sentence import Sentence, from_json, say, to_json


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"urgency": 3}, {"urgency": 5}, ["urgency: 3 → 5"]),
        ({"size": 40.0}, {"size": 40}, []),
        ({"cancel": False}, {"cancel": 0}, ["cancel: false → 0"]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, ["a.b.c: 1 → 2"]),
        ({"a": 1}, {"a": 1, "b": "x"}, ["b: added x"]),
        ({"a": 1, "b": {"c": 2}}, {"a": 1}, ['b: removed {"c": 2}']),
        ({"bands": None}, {"bands": [[0, 1], [2]]}, ["bands: null → [[0, 1], [2]]"]),
        ({"m": ["ann", "bob"]}, {"m": ["bob", "cy"]}, ["m: removed ann", "m: added cy"]),
        ({"m": ["ann", "bob"]}, {"m": ["bob", "ann"]}, []),
        ({"m": ["ann", "ann"]}, {"m": ["ann"]}, ['m: ["ann", "ann"] → ["ann"]']),
        ({"name": "A"}, {"name": ""}, ['name: A → ""']),
        ({"name": "A"}, {"name": "two\nlines"}, [r'name: A → "two\nlines"']),
        ({"level": None}, {"level": "null"}, ['level: null → "null"']),
    ],
)
def test_differences_in_words(before: Any, after: Any, told: list[str]) -> None:
    assert [str(difference) for difference in differences(before, after)] == told


def test_lists_of_named_things_are_compared_by_name() -> None:
    before = {"levels": [{"name": "P0", "min_score": 60}, {"name": "P1", "min_score": 20}]}
    after = {"levels": [{"name": "P0", "min_score": 50}, {"name": "P2", "min_score": 5}]}
    assert [str(difference) for difference in differences(before, after)] == [
        "levels.P0.min_score: 60 → 50",
        'levels.P1: removed {"name": "P1", "min_score": 20}',
        'levels.P2: added {"name": "P2", "min_score": 5}',
    ]


def test_the_order_of_named_things_counts() -> None:
    before, after = [{"name": "P0"}, {"name": "P1"}], [{"name": "P1"}, {"name": "P0"}]
    assert [str(difference) for difference in differences({"levels": before}, {"levels": after})] == [
        'levels (order): ["P0", "P1"] → ["P1", "P0"]'
    ]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("alpha_*", "alpha_*"),
        ("", '""'),
        (" x", '" x"'),
        (3.0, "3"),
        (2.5, "2.5"),
        (None, "null"),
        ("3", '"3"'),
    ],
)
def test_values_in_words(value: Any, told: str) -> None:
    assert words(value) == told


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "code", "a", "b"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values, values)
def test_equal_documents_do_not_differ_and_different_ones_do(before: Any, after: Any) -> None:
    assert differences(before, before) == []
    if not differences(before, after):
        assert _as_sets(before) == _as_sets(after)


names = st.text('ab:→ ["1', max_size=6) | st.sampled_from(["added x", "x: 3", "null", "a → b", "removed"])
said = names | values


@given(names, st.sampled_from(KeyChange), said, said)
def test_a_line_is_read_back_as_what_it_was_made_from_or_not_at_all(
    path: str, change: KeyChange, before: Any, after: Any
) -> None:
    kept = KeyDifference(
        path,
        change,
        None if change is KeyChange.ADDED else before,
        None if change is KeyChange.REMOVED else after,
    )
    assert read_change(str(kept)) in (None, kept)


@given(names, st.sampled_from(KeyChange), said, said)
def test_a_difference_is_kept_as_data_and_read_as_what_it_was(
    path: str, change: KeyChange, before: Any, after: Any
) -> None:
    kept = KeyDifference(
        path,
        change,
        None if change is KeyChange.ADDED else before,
        None if change is KeyChange.REMOVED else after,
    )
    read = from_json(to_json(kept.said))
    assert read == str(kept)
    assert isinstance(read, Sentence)
    assert difference_of(read) == kept


def test_another_sentence_and_one_that_somebody_has_changed_are_no_difference() -> None:
    assert difference_of(say("change.more", n=9)) is None
    assert difference_of(say("change.added", path="a", value="[")) is None


@pytest.mark.parametrize("line", ["and 9 more", "", "name: A: B → C", "name: added x → y", "size: 3 → 0x"])
def test_what_may_be_read_in_two_ways_is_not_read(line: str) -> None:
    assert read_change(line) is None


def test_ordinary_lines_are_read_change() -> None:
    before = {"urgency": 3, "mode": "user", "bands": None, "members": ["ann"], "task": {"level": "P 1"}}
    after = {"urgency": 5.5, "mode": "task", "bands": [[0], [1]], "members": ["bob"], "code": "a: b"}
    kept = differences(before, after)
    assert len(kept) == 7
    assert [read_change(str(each)) for each in kept] == [*kept[:-1], None], "a: b may be more than a value"


def _as_sets(value: Any) -> Any:
    """A document in which the order of plain texts in a list means nothing; true is not 1."""
    match value:
        case list() if all(isinstance(item, str) for item in value):
            return ("set", sorted(value))
        case list():
            return [_as_sets(item) for item in value]
        case dict():
            return {key: _as_sets(item) for key, item in value.items()}
        case bool():
            return ("bool", value)
    return value


def test_a_name_that_is_no_text_names_nothing() -> None:
    assert differences([{"name": []}], [{"name": [1]}]) == [
        KeyDifference("", KeyChange.CHANGED, [{"name": []}], [{"name": [1]}])
    ]
