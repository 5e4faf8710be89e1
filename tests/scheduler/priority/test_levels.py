"""From scores to levels, and how levels compare and are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.policy import LevelRule
from scheduler.priority.levels import level_of, level_word, weight

LEVELS = (LevelRule("P0", 60), LevelRule("P1", 20), LevelRule("P2"), LevelRule("P3", 5))


@pytest.mark.parametrize(
    ("score", "level"), [(1000, 0), (60, 0), (59.999, 1), (20, 1), (19, 3), (5, 3), (4.99, None), (0, None)]
)
def test_a_score_gives_the_highest_level_whose_threshold_it_reaches(score: float, level: int | None) -> None:
    assert level_of(score, LEVELS) == level


def test_a_level_without_a_threshold_is_never_reached_by_score() -> None:
    assert level_of(1e9, (LevelRule("by name only"),)) is None
    assert level_of(1e9, ()) is None


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_higher_score_never_gives_a_lower_level(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert weight(level_of(high, LEVELS)) >= weight(level_of(low, LEVELS))


def test_levels_weigh_less_the_lower_they_are_and_nothing_configured_least() -> None:
    levels = [0, 1, 2, 9_999, None]
    weights = [weight(level) for level in levels]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == len(weights)


def test_a_level_is_called_by_its_name_or_by_letter_and_number() -> None:
    assert level_word(0, ("urgent", "normal")) == "urgent"
    assert level_word(2, ("urgent", "normal")) == "P2"
    assert level_word(2, (), "L") == "L2"
    assert level_word(None, ("urgent",)) == "unconfigured"
