"""The mixture by recent success: everybody's and one's own."""

import json
from typing import Any

import numpy as np
import pytest

from scheduler.forecast.calibration import Success
from scheduler.forecast.mixture import MIXTURES, SHARPNESS, sharpened

ANN, BOB, ZOE = ("user", "ann"), ("user", "bob"), ("user", "zoe")
POINTS = np.arange(len(MIXTURES), dtype=float)
FIRST, LAST = 0, len(MIXTURES) - 1


def told(*jobs: tuple[tuple[str, str], int, int]) -> Success:
    """So many jobs of somebody for which one of the mixtures was right."""
    success = Success()
    for owner, right, count in jobs:
        for _ in range(count):
            success.ended(owner, POINTS, POINTS[right])
    return success


def test_before_anything_has_ended_the_first_one_serves() -> None:
    assert Success().best(ANN) == FIRST


def test_who_has_no_past_gets_what_did_best_for_everybody() -> None:
    success = told((ANN, FIRST, 40), (BOB, LAST, 160))
    assert success.best(ZOE) == LAST


def test_a_user_with_many_jobs_does_not_decide_for_one_with_a_past() -> None:
    success = told((ANN, FIRST, 60), (BOB, LAST, 2000))
    assert [success.best(owner) for owner in (ANN, BOB, ZOE)] == [FIRST, LAST, LAST]


def test_a_few_jobs_of_ones_own_do_not_outweigh_everybodys() -> None:
    success = told((BOB, LAST, 200), (ANN, FIRST, 5))
    assert success.best(ANN) == LAST


def test_what_did_well_lately_counts_more() -> None:
    success = told((ANN, FIRST, 300), (ANN, LAST, 250))
    assert success.best(ANN) == LAST


def test_what_is_better_by_chance_only_does_not_serve() -> None:
    """Another mixture that wins 21 times of 40 has the larger sum, and is no better; one that wins 36 times is."""
    for wins, serves in ((21, FIRST), (36, LAST)):
        success = Success()
        for number in range(400):
            success.ended(ANN, POINTS, POINTS[LAST] if number % 40 < wins else POINTS[FIRST])
        assert success.everybody.sums[LAST] > 0
        assert success.best(ANN) == serves


def test_it_is_read_as_it_was_written() -> None:
    success = told((ANN, FIRST, 60), (BOB, LAST, 200))
    again = Success.read(json.loads(json.dumps(success.document())))
    assert again.document() == success.document()
    assert [again.best(owner) for owner in (ANN, BOB, ZOE)] == [FIRST, LAST, LAST]


@pytest.mark.parametrize("place", [len(MIXTURES), -1])
def test_negative_squares_and_counts_are_refused(place: int) -> None:
    document: dict[str, Any] = {**told((ANN, FIRST, 3)).document()}
    row = [*document["success"]]
    row[place] = -1.0
    with pytest.raises(ValueError, match="negative"):
        Success.read(document | {"success": row})


def test_sharper_weights_favour_the_likely_atoms_and_leave_widths_alone() -> None:
    weights = np.array([[[0.4, 0.2, 0.0], [0.1, 0.2, 0.1], [0.0, 0.0, 0.0]]])
    as_they_are, flatter, sharper = (sharpened(weights, power) for power in SHARPNESS)
    assert as_they_are is weights
    for changed in (flatter, sharper):
        assert changed.sum() == pytest.approx(1)
        assert changed[0, 0] / changed[0, 0].sum() == pytest.approx([2 / 3, 1 / 3, 0])
        assert not changed[0, 2].any()
    assert flatter[0, 0].sum() < 0.6 < sharper[0, 0].sum()


def test_every_mixture_is_one() -> None:
    assert MIXTURES.sum(axis=1) == pytest.approx(np.ones(len(MIXTURES)))
