"""Urgency by deadline: rises and never falls until it is over, stays within its bounds, says when it changes."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.priority.deadline import Schedule, Turn, UrgencyStep, highest, next_turn, turns, urgency_on

DEADLINE = date(2026, 12, 31)
PLAIN = Schedule((UrgencyStep(30, 2), UrgencyStep(7, 4), UrgencyStep(1, 5)), hold_days=2)
BASES = st.floats(0.001, 1000)
DAYS = st.dates(date(2001, 1, 1), date(2100, 1, 1))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    days = sorted(draw(st.sets(st.integers(0, 400), max_size=8)), reverse=True)
    urgencies = sorted(draw(st.lists(BASES, min_size=len(days), max_size=len(days))))
    return Schedule(
        tuple(UrgencyStep(day, urgency) for day, urgency in zip(days, urgencies, strict=True)),
        draw(st.integers(0, 60)),
    )


@pytest.mark.parametrize(
    ("day", "urgency"),
    [
        ("2026-11-30", 1),
        ("2026-12-01", 2),  # 30 days left
        ("2026-12-23", 2),
        ("2026-12-24", 4),  # 7
        ("2026-12-29", 4),
        ("2026-12-30", 5),  # 1
        ("2026-12-31", 5),
        ("2027-01-02", 5),  # held for two days
        ("2027-01-03", 1),
    ],
)
def test_the_steps_are_whole_days(day: str, urgency: float) -> None:
    assert urgency_on(PLAIN, 1, DEADLINE, date.fromisoformat(day)) == urgency


def test_a_base_above_a_step_is_not_lowered() -> None:
    assert urgency_on(PLAIN, 3, DEADLINE, date(2026, 12, 5)) == 3
    assert turns(PLAIN, 3, DEADLINE) == (
        Turn(date(2026, 12, 24), 4),
        Turn(date(2026, 12, 30), 5),
        Turn(date(2027, 1, 3), 3),
    )
    assert turns(PLAIN, 9, DEADLINE) == ()


def test_what_comes_next_is_told() -> None:
    assert next_turn(PLAIN, 1, DEADLINE, date(2026, 12, 24)) == Turn(date(2026, 12, 30), 5)
    assert next_turn(PLAIN, 1, DEADLINE, date(2027, 1, 2)) == Turn(date(2027, 1, 3), 1)
    assert next_turn(PLAIN, 1, DEADLINE, date(2027, 1, 3)) is None


def test_without_steps_the_base_counts() -> None:
    assert urgency_on(Schedule(), 3, DEADLINE, DEADLINE) == highest(Schedule(), 3) == 3


@given(schedules(), BASES, DAYS, st.integers(-600, 600), st.integers(0, 600))
def test_it_never_falls_before_it_is_over(
    schedule: Schedule, base: float, deadline: date, offset: int, later: int
) -> None:
    over = deadline + timedelta(days=schedule.hold_days)
    first = min(deadline + timedelta(days=offset), over)
    second = min(first + timedelta(days=later), over)
    assert urgency_on(schedule, base, deadline, first) <= urgency_on(schedule, base, deadline, second)


@given(schedules(), BASES, DAYS, st.integers(-600, 600))
def test_it_stays_between_the_base_and_the_top(
    schedule: Schedule, base: float, deadline: date, offset: int
) -> None:
    found = urgency_on(schedule, base, deadline, deadline + timedelta(days=offset))
    assert base <= found <= highest(schedule, base)


@given(schedules(), BASES, DAYS)
def test_it_is_at_the_top_from_the_last_step_to_the_last_day_held_and_then_at_the_base(
    schedule: Schedule, base: float, deadline: date
) -> None:
    over = deadline + timedelta(days=schedule.hold_days)
    assert urgency_on(schedule, base, deadline, deadline) == highest(schedule, base)
    assert urgency_on(schedule, base, deadline, over) == highest(schedule, base)
    assert urgency_on(schedule, base, deadline, over + timedelta(days=1)) == base


@given(schedules(), BASES, DAYS, st.integers(-600, 600))
def test_the_turns_tell_the_whole_curve(schedule: Schedule, base: float, deadline: date, offset: int) -> None:
    day = deadline + timedelta(days=offset)
    told = [turn.urgency for turn in turns(schedule, base, deadline) if turn.day <= day]
    assert urgency_on(schedule, base, deadline, day) == ([base, *told])[-1]
    coming = next_turn(schedule, base, deadline, day)
    until = coming.day - timedelta(days=1) if coming else day + timedelta(days=999)
    assert urgency_on(schedule, base, deadline, until) == urgency_on(schedule, base, deadline, day)
