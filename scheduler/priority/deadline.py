"""Urgency that rises towards a project's deadline, in steps of whole days.

1. Before the first step the project's own urgency counts, the base.
2. From a step's number of days before the deadline on its urgency counts, never less than the base.
3. After the deadline's day the last step's stays for `hold_days`; then the base counts again.

A function of dates alone: no clock is read here, and nothing has to run at midnight.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True)
class UrgencyStep:
    """From `days_left` days before the deadline on (0 is its day) the urgency is at least `urgency`."""

    days_left: int
    urgency: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps, the farthest first; nearer ones are more urgent."""

    steps: tuple[UrgencyStep, ...] = ()
    hold_days: int = 0

    @property
    def top(self) -> float:
        """The urgency of the last step; 0 without any."""
        return max((step.urgency for step in self.steps), default=0.0)


@dataclass(frozen=True, slots=True)
class Turn:
    """From `day` on the urgency is `urgency`."""

    day: date
    urgency: float


def urgency_on(schedule: Schedule, base: float, deadline: date, day: date) -> float:
    """The urgency that counts on `day`."""
    left = (deadline - day).days
    if left < -schedule.hold_days:
        return base
    return max([base, *(step.urgency for step in schedule.steps if left <= step.days_left)])


def highest(schedule: Schedule, base: float) -> float:
    """The most that the urgency ever comes to."""
    return max(base, schedule.top)


def turns(schedule: Schedule, base: float, deadline: date) -> tuple[Turn, ...]:
    """Every day on which the urgency changes, in order; none when the base is above all steps."""
    return tuple(_turns(schedule, base, deadline))


def next_turn(schedule: Schedule, base: float, deadline: date, day: date) -> Turn | None:
    """The first change after `day`."""
    return next((turn for turn in turns(schedule, base, deadline) if turn.day > day), None)


def _turns(schedule: Schedule, base: float, deadline: date) -> Iterator[Turn]:
    days = {deadline - timedelta(days=step.days_left) for step in schedule.steps}
    before = base
    for day in sorted({*days, deadline + timedelta(days=schedule.hold_days + 1)}):
        urgency = urgency_on(schedule, base, deadline, day)
        if urgency != before:
            yield Turn(day, urgency)
        before = urgency
