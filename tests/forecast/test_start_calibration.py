"""Expected starts are corrected by the starts that came; their intervals hold as often as they are meant to."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.forecast import start_calibration
from scheduler.forecast.start_calibration import FEWEST, StartCalibration
from scheduler.forecast.starts import StartForecast


def said(p50: float | None, low: float | None = None, high: float | None = None) -> StartForecast:
    return StartForecast("1", p50, p50 if low is None else low, high, ())


def told(times: int, truth: float, each: StartForecast) -> StartCalibration:
    calibration = StartCalibration()
    for _ in range(times):
        calibration.came(each, truth)
    return calibration


def test_while_little_is_known_nothing_is_corrected() -> None:
    each = said(600, 300, 1200)
    assert told(FEWEST - 1, 6000, each).corrected(each) == each
    assert told(FEWEST, 6000, each).corrected(each) != each


def test_a_partition_learns_from_its_own_starts_and_from_all_while_it_has_few() -> None:
    calibration = StartCalibration()
    for _ in range(FEWEST):
        calibration.came(said(1000, 900, 1100), 2060, "late")
    middles = [calibration.corrected(said(1000, 900, 1100), name).p50 for name in ("late", "new")]
    assert middles == [pytest.approx(2060), pytest.approx(2060)]
    for _ in range(FEWEST):
        calibration.came(said(1000, 900, 1100), 1000, "new")
    middles = [calibration.corrected(said(1000, 900, 1100), name).p50 for name in ("late", "new")]
    assert middles == [pytest.approx(2060), pytest.approx(1000)]


def test_what_came_twice_as_late_is_said_twice_as_late() -> None:
    corrected = told(40, 2 * 660 - 60, said(600, 500, 700)).corrected(said(600, 500, 700))
    assert corrected.p50 == pytest.approx(1260)
    assert corrected.high == pytest.approx(1260), "as far as the latest came"
    assert corrected.low == pytest.approx(1260), "nobody came sooner"


def test_an_interval_that_was_too_wide_becomes_narrower() -> None:
    calibration = StartCalibration()
    for number in range(100):
        calibration.came(said(1000, 100, 9000), 900 + 2 * (number * 37 % 100))
    corrected = calibration.corrected(said(1000, 100, 9000))
    assert corrected.low is not None and corrected.high is not None
    assert 890 < corrected.low < 920
    assert 1080 < corrected.high < 1100


def test_other_waits_teach_only_that_the_ends_are_further_out() -> None:
    calibration = told(100, 9000, said(600, 300, 1200))
    corrected = calibration.corrected(said(20_000, 10_000, 30_000))
    assert corrected.p50 == 20_000
    assert corrected.low == pytest.approx(10_000), "nobody came sooner than was said"
    assert corrected.high == pytest.approx(30_060 * 9060 / 1260 - 60), "the latest came so much later"


def test_who_is_sure_to_start_at_once_and_who_may_wait_do_not_teach_each_other() -> None:
    waits, now = said(0, 0, 900), said(0, 0, 0)
    assert told(100, 9000, waits).corrected(now) == now
    assert told(100, 0, now).corrected(waits) == waits


def test_the_middle_is_moved_only_where_that_has_been_nearer() -> None:
    """Most come as was said; the others late, and evenly so: the median of all is beside nearly all of them."""
    calibration = StartCalibration()
    for number in range(200):
        calibration.came(said(6000, 3000, 12_000), 6000 if number % 5 < 2 else 7000 + 400 * (number % 19))
    corrected = calibration.corrected(said(6000, 3000, 12_000))
    assert corrected.p50 == 6000
    late = told(200, 12_000, said(6000, 3000, 12_000)).corrected(said(6000, 3000, 12_000))
    assert late.p50 == pytest.approx(12_000)


def test_no_middle_and_open_ends_stay_what_they_are() -> None:
    calibration = told(100, 700, said(600, 300, None))
    corrected = calibration.corrected(said(600, 300, None))
    assert corrected.high is None
    assert corrected.p50 == pytest.approx(700)
    nowhere = StartForecast("1", None, None, None, ())
    calibration.came(nowhere, 5)
    assert calibration.corrected(nowhere) == nowhere


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.2, 3), st.floats(-1, 1))
def test_nine_in_ten_of_jobs_like_those_that_came_start_in_the_interval(
    seed: int, width: float, bias: float
) -> None:
    """Whatever the play does wrong, as long as it does so always: 400 starts teach, 400 judge before they teach."""
    chance = random.Random(seed)

    def one() -> tuple[StartForecast, float]:
        p50 = chance.uniform(2000, 7000)
        return said(p50, p50 / 1.2, p50 * 1.2), p50 * 2.718 ** chance.gauss(bias, width)

    calibration = StartCalibration()
    for _ in range(400):
        calibration.came(*one())
    held = 0
    for _ in range(400):
        forecast, truth = one()
        corrected = calibration.corrected(forecast)
        assert corrected.low is not None and corrected.high is not None and corrected.p50 is not None
        assert corrected.low <= corrected.p50 <= corrected.high
        held += corrected.low <= truth <= corrected.high
        calibration.came(forecast, truth)
    assert 0.87 <= held / 400 <= 0.93


def drifting(seed: int, count: int) -> list[tuple[StartForecast, float]]:
    """Starts of a load that swells and falls: waits are played at half to twice what they come to, by turns."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        p50 = chance.uniform(2000, 7000)
        bias = math.sin(number / 60)
        made.append((said(p50, p50 / 1.2, p50 * 1.2), p50 * math.exp(bias + chance.gauss(0, 0.3))))
    return made


def coverage(made: list[tuple[StartForecast, float]]) -> float:
    """The share of the later half within what was told of them, each known before the next."""
    calibration, held = StartCalibration(), 0
    for number, (forecast, truth) in enumerate(made):
        told = calibration.corrected(forecast)
        if number >= len(made) // 2 and told.low is not None and told.high is not None:
            held += told.low <= truth <= told.high
        calibration.came(forecast, truth)
    return held / (len(made) - len(made) // 2)


def test_intervals_hold_nine_in_ten_where_the_load_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits as they were for long, then eight times as long: what has come teaches too little of what comes."""
    made = [
        (each, truth * (8 if number >= 300 else 1)) for number, (each, truth) in enumerate(drifting(3, 400))
    ]
    adapted = coverage(made)
    monkeypatch.setattr(start_calibration, "STEP", 0.0)
    assert adapted >= 0.85 and coverage(made) < adapted - 0.05


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_nine_in_ten_of_a_load_that_swells_and_falls(seed: int) -> None:
    assert 0.88 <= coverage(drifting(seed, 1200)) <= 0.97
