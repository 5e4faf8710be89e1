"""Waits as histograms: how far a median of them may be off."""

from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from console.insights.waits import RATIO, quantile, step_of

WAITS = st.lists(st.floats(0, 60 * 86_400), min_size=1, max_size=200)


def histogram(waits: list[float]) -> dict[str, int]:
    steps = [step_of(each) for each in waits]
    return {step: steps.count(step) for step in steps}


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
    assert quantile({}, 0.5) is None
    assert quantile({"0": 3}, 0.9) == 0
