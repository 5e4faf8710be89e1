"""Waits as histograms: how far a median of them may be off."""

from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from console.insights.answers import RATIO, counted, merged, quantile

WAITS = st.lists(st.floats(0, 60 * 86_400), min_size=1, max_size=200)


def histogram(waits: list[float]) -> list[int]:
    found: list[int] = []
    for each in waits:
        counted(found, each)
    return found


def test_histograms_of_different_lengths_are_added_step_by_step() -> None:
    into = {"0": [1, 2], "1": [5]}
    merged(into, {"0": [0, 1, 4], "2": [7]})
    assert into == {"0": [1, 3, 4], "1": [5], "2": [7]}


@given(WAITS)
def test_a_quantile_is_in_the_step_of_the_true_one(waits: list[float]) -> None:
    for share in (0.5, 0.9):
        ordered = sorted(waits)
        true = ordered[max(0, -int(-share * len(waits) // 1) - 1)]
        found = quantile(histogram(waits), share)
        assert found is not None
        assert true / RATIO - 1 <= found <= true * RATIO + 1


def test_many_waits_that_are_evenly_spread_have_their_median_within_a_tenth() -> None:
    waits = [float(each) for each in range(1, 5000)]
    found = quantile(histogram(waits), 0.5)
    assert found is not None
    assert abs(found / median(waits) - 1) < 0.1


def test_of_nothing_there_is_no_quantile() -> None:
    assert quantile([], 0.5) is None
    assert quantile([3], 0.9) == 0
