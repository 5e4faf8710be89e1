"""The chance of being stopped: who comes, who finds no room, whom that costs; in cases that can be counted."""

import hashlib
import random

import pytest

from bench.stop_hour import made
from scheduler.forecast.starts import sure
from scheduler.forecast.stop_hour import Arrival, HourStart, RiskPicture, Runner, StopHour, Waiter
from scheduler.forecast.stop_risk import PRIOR, PastHours, StopCalibration, stop_chances

LOW, MIDDLE, HIGH = 0, 1, 2
OUTRANKS = {LOW: frozenset[int](), MIDDLE: frozenset({LOW}), HIGH: frozenset({LOW, MIDDLE})}
LONG = 10**6
NEVER = sure(LONG)


def runner(
    rank: int = LOW, units: int = 4, left: int = LONG, ran_s: int = 0, safe_s: int | None = 0
) -> Runner:
    return Runner(rank, units, sure(left), ran_s, safe_s)


def comes(at_s: int, rank: int = HIGH, units: int = 4, lasts_s: int = LONG) -> Arrival:
    return Arrival(at_s, rank, units, lasts_s)


def stopped(*running: Runner, coming: tuple[Arrival, ...] = (), **keys: object) -> list[int]:
    """Who is stopped in an hour that is known in full."""
    now = RiskPicture(running, **{"free": 0, "waiting": (), "outranks": OUTRANKS, **keys})  # type: ignore[arg-type]
    lefts, lasts = ([int(job.p50) for job in jobs] for jobs in (
        [job.left for job in now.running], [job.lasts for job in now.waiting]))  # fmt: skip
    return sorted(StopHour(HourStart(now), lefts, lasts, coming).stopped())


def test_who_finds_room_stops_nobody() -> None:
    assert stopped(runner(), coming=(comes(10),)) == [0]
    assert stopped(runner(), coming=(comes(10),), free=4) == []
    assert stopped(runner(), coming=(comes(10), comes(20)), free=4) == [0], "that room is gone"


def test_room_of_those_who_end_counts_once_they_have_ended() -> None:
    assert stopped(runner(HIGH, left=100), runner(), coming=(comes(200),)) == []
    assert stopped(runner(HIGH, left=100), runner(), coming=(comes(50),)) == [1]


def test_only_those_whom_he_outranks_and_only_if_they_suffice() -> None:
    assert stopped(runner(MIDDLE), coming=(comes(10, MIDDLE),)) == []
    assert stopped(runner(MIDDLE), coming=(comes(10),)) == [0]
    assert stopped(runner(units=2), coming=(comes(10),)) == [], "two units do not make room for four"


def test_the_lowest_go_first_and_of_them_who_has_run_least_and_nobody_for_nothing() -> None:
    middle, old, young = runner(MIDDLE), runner(ran_s=50), runner(ran_s=5)
    assert stopped(middle, old, young, coming=(comes(10),)) == [2]
    assert stopped(middle, old, young, coming=(comes(10, units=8),)) == [1, 2]
    assert stopped(runner(units=1, ran_s=1), runner(units=4, ran_s=2), coming=(comes(10),)) == [1]


def test_who_came_before_in_the_hour_is_taken_before_those_who_have_run_longer() -> None:
    coming = (comes(10, LOW), comes(20, HIGH))
    assert stopped(runner(ran_s=500), coming=coming, free=4) == []
    assert stopped(runner(ran_s=500), coming=coming, free=4, exempt_s=60) == [0], "it has only just begun"


def test_who_is_stopped_waits_again_and_may_take_room_that_comes_free() -> None:
    # The first high one stops the low one; it is back after 100 s and stopped once more by the second.
    coming = (comes(10, lasts_s=90), comes(200))
    middle = runner(MIDDLE)
    assert stopped(runner(), middle, coming=coming) == [0]
    assert stopped(runner(), middle, coming=(*coming[:1], comes(50))) == [0, 1], "it is not back yet"


def test_a_job_that_waits_takes_the_room_before_who_comes_later() -> None:
    ends, stays, waits = runner(HIGH, left=100), runner(MIDDLE), Waiter(MIDDLE, 4, NEVER, ran_s=300)
    assert stopped(ends, stays, coming=(comes(200),)) == []
    assert stopped(ends, stays, coming=(comes(200),), waiting=(waits,)) == [1]


def test_the_line_goes_by_ranks_where_it_does() -> None:
    waiting = (Waiter(LOW, 4, NEVER), Waiter(MIDDLE, 4, NEVER))
    # A middle one that has started is no victim of a middle one; a low one is.
    keys = {"coming": (comes(200, MIDDLE),), "waiting": waiting}
    assert stopped(runner(HIGH, left=100), runner(MIDDLE), **keys) == []  # type: ignore[arg-type]
    assert stopped(runner(HIGH, left=100), runner(LOW, ran_s=9), by_rank=True, **keys) == [1]  # type: ignore[arg-type]


@pytest.mark.parametrize(("safe_s", "who"), [(None, []), (4000, []), (1800, [0])])
def test_who_is_protected_is_not_stopped_before_it_may_be(safe_s: int | None, who: list[int]) -> None:
    assert stopped(runner(safe_s=safe_s), coming=(comes(1000),)) == who


def chances(now: RiskPicture, past: PastHours) -> list[float]:
    return [round(float(chance), 2) for chance in stop_chances(now, past, draws=2000)]


def test_it_is_the_chance_that_somebody_comes() -> None:
    # Three hours are mixed, of each a third of the jobs come.
    past = PastHours([(comes(1800),)] * 500)
    now = RiskPicture([runner(), runner()], 0, (), OUTRANKS)
    one, two = chances(now, past)
    assert one == pytest.approx(1 - (2 / 3) ** 3, abs=0.03)
    assert two == pytest.approx(1 - (2 / 3) ** 3 - (2 / 3) ** 2, abs=0.03)


def test_hours_of_the_same_time_of_day_and_late_ones_count_more() -> None:
    weights = PastHours([()] * 72).weights()
    assert len(weights) == 72
    assert weights.sum() == pytest.approx(1)
    assert weights[-24] > 3 * weights[-20]
    assert weights[-24] > weights[-48]
    assert weights[-1] == max(weights)


def test_hours_that_followed_hours_like_the_last_ones_count_more() -> None:
    quiet, busy = (), (comes(5),) * 20
    hours = [quiet] * 30 + [busy] * 6 + [quiet] * 30
    calm = PastHours([*hours, quiet, quiet, quiet]).weights()
    lively = PastHours([*hours, busy, busy, busy]).weights()
    # The 34th hour came after three busy ones, the 20th after quiet ones.
    assert lively[33] / lively[19] > 10 * calm[33] / calm[19]
    assert lively.sum() == pytest.approx(1)


def test_the_same_question_has_the_same_answer_and_nobody_no_chance() -> None:
    now = RiskPicture([runner(), runner(units=2), runner(MIDDLE, 1)], 0, (), OUTRANKS)
    past = PastHours([(comes(5),), (), (comes(9, units=2),)])
    assert stop_chances(now, past).tolist() == stop_chances(now, past).tolist()
    assert stop_chances(RiskPicture([], 0, (), OUTRANKS), past).tolist() == []
    assert stop_chances(now, PastHours()).tolist() == [0, 0, 0]


def test_chances_become_what_came_of_them() -> None:
    calibration = StopCalibration()
    assert calibration.corrected(0.33) == pytest.approx(0.33)
    for number in range(1000):
        calibration.came(0.33, stopped=number % 10 == 0)
    assert calibration.corrected(0.33) == pytest.approx((100 + PRIOR * 0.33) / (1000 + PRIOR))
    assert calibration.corrected(0.9) == pytest.approx(0.9), "another class of chances"


@pytest.mark.parametrize(
    ("seed", "count", "digest"),
    [
        (0, 95, "e1b4e8dfde30"),
        (1, 82, "a8e810891f89"),
        (2, 79, "01ad53055e0d"),
        (3, 57, "29ef84e5ff88"),
        (4, 68, "841ba8c547f7"),
        (5, 73, "d1efd8dd72f1"),
        (6, 94, "d66f5184ffc5"),
        (7, 74, "3ee7381e0136"),
    ],
)
def test_who_is_stopped_in_made_hours_is_who_was_when_it_was_written_down(
    seed: int, count: int, digest: str
) -> None:
    """By the first form, which set every hour up anew: whoever makes the hour faster changes nobody's fate in it."""
    picture, past = made(150, 40, seed)
    chance = random.Random(seed)
    lefts = [chance.randrange(1, 9000) for _ in picture.running]
    lasts = [chance.randrange(1, 9000) for _ in picture.waiting]
    found = sorted(StopHour(HourStart(picture), lefts, lasts, past.hours[seed]).stopped())
    assert len(found) == count
    assert hashlib.sha256(str(found).encode()).hexdigest()[:12] == digest
