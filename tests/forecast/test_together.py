"""Jobs alike run longer or shorter than forecast together: learned from runs that are over, and drawn so."""

import random
from statistics import NormalDist

import numpy as np
import pytest

from scheduler.forecast.draws import (
    BEFORE_OWN,
    MOST,
    USUAL,
    Bond,
    PlacedRun,
    Strata,
    Together,
    drawn,
    place_of,
)
from scheduler.forecast.facts import Forecast
from scheduler.forecast.starts import Queue, RunningShare, WaitingRequest, forecast_starts

WIDE = Forecast(400, 1000, 3000, 200, 6000)
KNOWN = Forecast(400, 1000, 3000, 200, 6000, (600, 700, 850, 1000, 1300, 1700, 2200))


@pytest.mark.parametrize(
    ("ran_s", "share"),
    [(200, 0.05), (400, 0.1), (600, 0.2), (1000, 0.5), (2200, 0.8), (6000, 0.95), (1, 0.02), (10**6, 0.98)],
)
def test_a_place_is_where_in_its_forecast_a_run_ended(ran_s: float, share: float) -> None:
    assert place_of(KNOWN, ran_s, None) == pytest.approx(NormalDist().inv_cdf(share), abs=1e-3)


def test_who_ran_into_its_limit_is_in_the_middle_of_what_lies_beyond() -> None:
    """The limit is what 80 of 100 run for at most."""
    for ran_s in (2190, 2200, 2205):
        assert place_of(KNOWN, ran_s, 2200) == pytest.approx(NormalDist().inv_cdf(0.9), abs=1e-3)


def test_of_a_run_that_was_known_exactly_a_place_says_nothing_unless_it_was_wrong() -> None:
    exact = Forecast(60, 60, 60, 60, 60)
    assert place_of(exact, 60, None) == pytest.approx(0, abs=1e-3)
    late = NormalDist().inv_cdf(0.98)
    assert [place_of(exact, ran_s, None) for ran_s in (59, 61)] == [pytest.approx(-late), pytest.approx(late)]


def runs(strength: float, kinds: int, each: int, seed: int = 0) -> list[PlacedRun]:
    """Bursts: of each kind so many at once, which go together so strongly."""
    chance = random.Random(seed)
    made = []
    for kind in range(kinds):
        common = chance.gauss(0, 1)
        for number in range(each):
            place = strength**0.5 * common + (1 - strength) ** 0.5 * chance.gauss(0, 1)
            made.append(PlacedRun(kind, 1000 * kind + number, 1000 * kind + 500, place))
    return made


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.9])
def test_how_much_jobs_go_together_is_learned_from_many_bursts(strength: float) -> None:
    assert Together.learned(runs(strength, 600, 4)).usual == pytest.approx(strength, abs=0.08)


def test_while_nothing_is_seen_what_is_usual_elsewhere_counts() -> None:
    assert Together.learned([]).of("any") == Bond("any", USUAL)


def test_one_kind_however_many_its_runs_says_little_of_the_others_and_all_of_itself() -> None:
    failing = [PlacedRun("burst", number, 9999, -1.5) for number in range(1000)]
    learned = Together.learned(failing)
    assert learned.of("burst").strength == MOST
    assert USUAL < learned.of("other").strength < USUAL + (1 - USUAL) * BEFORE_OWN / (50 + BEFORE_OWN) + 0.01


def test_jobs_one_after_the_other_say_nothing_of_jobs_at_one_time() -> None:
    """The forecast of the second knows how the first ended."""
    assert Together.learned([PlacedRun("a", 100 * n, 100 * n + 100, -1.5) for n in range(50)]) == Together()
    assert Together.learned([PlacedRun("a", 100 * n, 100 * n + 101, -1.5) for n in range(50)]) != Together()


def test_what_is_learned_does_not_depend_on_the_order_of_telling() -> None:
    told = runs(0.5, 20, 5)
    assert Together.learned(told) == Together.learned(told[::-1])


def test_jobs_alike_take_like_parts_of_their_distributions_and_each_takes_all_of_them() -> None:
    ann, bob = Bond("ann", 0.8), Bond("bob", 0.3)
    strata = Strata(400, np.random.default_rng(0))
    parts = np.concatenate([strata.of([ann] * 15 + [bob] * 15), strata.of([None] * 15 + [ann] * 15)])
    assert (np.sort(parts, axis=1) == np.arange(400)).all()
    together = np.corrcoef(parts)
    of = {name: np.arange(15) + 15 * number for number, name in enumerate(("ann", "bob", "nobody", "again"))}
    for one, other, expected in (
        ("ann", "ann", 0.8), ("bob", "bob", 0.3), ("ann", "again", 0.8),
        ("ann", "bob", 0), ("nobody", "nobody", 0), ("ann", "nobody", 0),
    ):  # fmt: skip
        pairs = together[np.ix_(of[one], of[other])]
        mean = pairs[~np.eye(15, dtype=bool)].mean() if one == other else pairs.mean()
        assert mean == pytest.approx(expected, abs=0.1), (one, other)


def test_draws_keep_what_each_forecast_promises_whoever_is_alike() -> None:
    strata = Strata(1000, np.random.default_rng(0))
    values = drawn([WIDE] * 3, 1000, np.random.default_rng(0), strata.of([Bond("a", 0.9)] * 3))
    for row in values:
        assert np.quantile(row, [0.05, 0.1, 0.5, 0.9, 0.95]).tolist() == [
            pytest.approx(value, rel=0.02) for value in (200, 400, 1000, 3000, 6000)
        ]


def interval(alike: Bond | None) -> tuple[float, float]:
    """Of a job behind twelve others, one after the other on one node."""
    running = [RunningShare((0,), (1,), WIDE, 1e5, alike)]
    waiting = [WaitingRequest(str(n), 1, (1,), WIDE, planned_s=1e5, line="a", alike=alike) for n in range(12)]
    last = forecast_starts(Queue([(0,)], running, waiting), draws=200)[-1]
    assert last.low is not None and last.high is not None
    return last.low, last.high


def test_the_interval_behind_a_burst_is_as_wide_as_a_burst_that_fails_or_runs_long() -> None:
    (low, high), (least, most) = interval(None), interval(Bond("burst", 0.9))
    assert least < 0.6 * low and most > 1.5 * high
