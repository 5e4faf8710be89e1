"""Thresholds that spread the projects which are there."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.policy import LevelRule
from scheduler.priority.levels import level_of
from scheduler.priority.thresholds import proposed, round_between

SCORES = st.lists(st.floats(1e-9, 1e15) | st.integers(1, 9).map(float), max_size=40)


def ranks(scores: list[float], thresholds: list[float]) -> list[int | None]:
    rules = [LevelRule(f"P{rank}", threshold) for rank, threshold in enumerate(thresholds)]
    return [level_of(score, rules) for score in scores]


@pytest.mark.parametrize(
    ("scores", "thresholds"),
    [
        ([], [9, 3, 1]),
        ([1.0], [9, 3, 1]),
        ([1.0] * 7, [9, 3, 1]),  # all in one level: only their numbers can part them
        ([120.0, 30.0, 10.0], [100, 30, 10]),
        ([120.0, 10.0], [300, 100, 10]),
        ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0], [8, 6, 4]),
        ([5.0, 5.0, 5.0, 5.0, 1.0, 0.5], [5, 1, 0.5]),  # equals stay together
        ([1.04, 1.03, 1.02], [1.04, 1.03, 1]),
    ],
)
def test_examples(scores: list[float], thresholds: list[float]) -> None:
    assert proposed(scores, 3) == thresholds


@given(scores=SCORES, levels=st.integers(1, 6))
def test_everybody_has_a_level_and_different_scores_fill_as_many_as_they_can(
    scores: list[float], levels: int
) -> None:
    found = proposed(scores, levels)
    assert len(found) == levels
    assert all(above > below > 0 for above, below in pairwise(found))
    reached = ranks(scores, found)
    assert None not in reached
    assert len(set(reached)) == min(levels, len(set(scores)))


@given(scores=st.sets(st.floats(0.001, 1e6), min_size=3, max_size=40).map(sorted))
def test_different_scores_are_spread_evenly(scores: list[float]) -> None:
    reached = ranks(scores, proposed(scores, 3))
    counts = [reached.count(rank) for rank in range(3)]
    assert max(counts) - min(counts) <= 2, counts


@pytest.mark.parametrize(
    ("most", "above", "found"),
    [(12.7, 3.3, 10), (12.7, 10, 12), (12.7, 12, 12.7), (0.37, 0, 0.3), (1, 0, 1), (7e14, 6.5e14, 7e14)],
)
def test_the_roundest_number_between_two(most: float, above: float, found: float) -> None:
    assert round_between(most, above) == found
