"""The chance of being stopped: who comes, who finds no room, whom that costs; in cases that can be counted."""

import numpy as np
import pytest

from scheduler.forecast.starts import sure
from scheduler.forecast.stop_risk import (
    PRIOR,
    ArrivalRates,
    RiskPicture,
    Standing,
    StopCalibration,
    stop_chances,
)

LOW, MIDDLE, HIGH = 0, 1, 2
OUTRANKS = {LOW: frozenset[int](), MIDDLE: frozenset({LOW}), HIGH: frozenset({LOW, MIDDLE})}
LONG = sure(10**6)


def coming(per_hour: int, rank: int = HIGH, units: int = 4, hours: int = 500) -> ArrivalRates:
    rates = ArrivalRates()
    for hour in range(hours):
        rates.watched(hour % 168, [(rank, units)] * per_hour)
    return rates


def picture(*running: Standing, free: int = 0, ahead: dict[int, int] | None = None) -> RiskPicture:
    return RiskPicture(running, free, ahead or {}, OUTRANKS)


def chances(now: RiskPicture, rates: ArrivalRates) -> list[float]:
    return [round(float(chance), 2) for chance in stop_chances(now, rates, 5, draws=2000)]


def low(units: int = 4) -> Standing:
    return Standing(LOW, units, LONG)


def test_it_is_the_chance_that_somebody_comes() -> None:
    # One an hour on average: with 63 % at least one comes, with 26 % at least two.
    one, two = chances(picture(low(), low()), coming(1))
    assert one == pytest.approx(1 - np.exp(-1), abs=0.03)
    assert two == pytest.approx(1 - 2 * np.exp(-1), abs=0.03)


def test_who_finds_room_stops_nobody() -> None:
    assert chances(picture(low(), free=400), coming(1)) == [0]
    # What those who wait before him will have is not his.
    assert chances(picture(low(), free=400, ahead={HIGH: 400}), coming(1))[0] > 0.5


def test_room_of_those_who_end_in_the_hour_counts_once_they_have_ended() -> None:
    ends_soon, stays = Standing(HIGH, 4, sure(1)), low()
    assert chances(picture(ends_soon, stays), coming(1))[1] == pytest.approx(1 - 2 * np.exp(-1), abs=0.03)


def test_only_those_whom_he_outranks_and_only_if_they_suffice() -> None:
    middle = Standing(MIDDLE, 4, LONG)
    assert chances(picture(middle), coming(1, rank=MIDDLE)) == [0]
    assert chances(picture(middle), coming(1, rank=HIGH))[0] > 0.5
    assert chances(picture(low(2)), coming(1)) == [0], "two units do not make room for four"
    assert (
        chances(picture(low(), middle), coming(1, units=8))[0]
        == chances(picture(low(), middle), coming(1, units=8))[1]
    )


def test_the_same_question_has_the_same_answer_and_nobody_no_chance() -> None:
    now = picture(low(), low(2), Standing(MIDDLE, 1, LONG))
    assert stop_chances(now, coming(1), 5).tolist() == stop_chances(now, coming(1), 5).tolist()
    assert stop_chances(picture(), coming(1), 5).tolist() == []
    assert chances(picture(low()), ArrivalRates()) == [0]


def test_rates_know_the_hour_of_the_week_and_are_pulled_towards_the_rest() -> None:
    rates = ArrivalRates()
    for _week in range(10):
        for hour in range(168):
            rates.watched(hour, [(HIGH, 1)] * (12 if hour == 9 else 0))
    overall = 120 / 1680
    assert rates.expected(HIGH, 9) == pytest.approx((120 + 2 * overall) / 12)
    assert rates.expected(HIGH, 10) == pytest.approx(2 * overall / 12)
    assert rates.expected(LOW, 9) == 0


def test_chances_become_what_came_of_them() -> None:
    calibration = StopCalibration()
    assert calibration.corrected(0.33) == pytest.approx(0.33)
    for number in range(1000):
        calibration.came(0.33, stopped=number % 10 == 0)
    assert calibration.corrected(0.33) == pytest.approx((100 + PRIOR * 0.33) / (1000 + PRIOR))
    assert calibration.corrected(0.9) == pytest.approx(0.9), "another class of chances"
