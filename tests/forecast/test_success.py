"""The mixture by recent success: everybody's and one's own."""

import json

import numpy as np

from scheduler.forecast.calibration import SHARES, Success

ANN, BOB, ZOE = ("user", "ann"), ("user", "bob"), ("user", "zoe")
POINTS = np.arange(len(SHARES), dtype=float)
FIRST, LAST = 0, len(SHARES) - 1


def told(*jobs: tuple[tuple[str, str], int, int]) -> Success:
    """So many jobs of somebody for which one of the shares was right."""
    success = Success()
    for owner, right, count in jobs:
        for _ in range(count):
            success.ended(owner, POINTS, POINTS[right])
    return success


def test_before_anything_has_ended_the_middle_share_serves() -> None:
    assert Success().best(ANN) == LAST // 2


def test_who_has_no_past_gets_what_did_best_for_everybody() -> None:
    success = told((ANN, FIRST, 40), (BOB, LAST, 60))
    assert success.best(ZOE) == LAST


def test_a_user_with_many_jobs_does_not_decide_for_one_with_a_past() -> None:
    success = told((ANN, FIRST, 60), (BOB, LAST, 2000))
    assert [success.best(owner) for owner in (ANN, BOB, ZOE)] == [FIRST, LAST, LAST]


def test_a_few_jobs_of_ones_own_do_not_outweigh_everybodys() -> None:
    success = told((BOB, LAST, 200), (ANN, FIRST, 5))
    assert success.best(ANN) == LAST


def test_what_did_well_lately_counts_more() -> None:
    success = told((ANN, FIRST, 300), (ANN, LAST, 150))
    assert success.best(ANN) == LAST


def test_it_is_read_as_it_was_written() -> None:
    success = told((ANN, FIRST, 60), (BOB, LAST, 200))
    again = Success.read(json.loads(json.dumps(success.document())))
    assert again.document() == success.document()
    assert [again.best(owner) for owner in (ANN, BOB, ZOE)] == [FIRST, LAST, LAST]


def test_success_of_before_owners_were_looked_at_is_everybodys() -> None:
    gained = told((BOB, LAST, 200)).gained.tolist()
    assert Success.read({"success": gained}).best(ANN) == LAST
    assert Success.read({"success": [0.0] * len(SHARES)}).best(ANN) == LAST // 2
