"""The course of an urgency towards its deadline, as a drawing of steps and as the numbers beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from scheduler.priority.deadline import Schedule, Turn, next_turn, turns, urgency_on

WIDTH, HEIGHT = 320, 132
LEFT, RIGHT, TOP, BOTTOM = 28, 8, 18, 22
"""Room around the plot for its labels, in the units of the drawing."""


@dataclass(frozen=True, slots=True)
class UrgencySpan:
    """Days over which the urgency stays the same; `first` is None for "from ever", `last` for "for ever"."""

    first: date | None
    last: date | None
    urgency: float
    is_now: bool


@dataclass(frozen=True, slots=True)
class CurveLabel:
    """A label of the drawing, with its place."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """All that is shown of an urgency that follows a deadline. `path`, marks and lines are in drawing units.
    `is_past`: the deadline."""

    deadline: date
    now: float
    following: Turn | None
    stretches: Sequence[UrgencySpan]
    path: str
    today_at: float
    deadline_at: float
    levels: Sequence[CurveLabel]
    is_past: bool
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def curve_of(schedule: Schedule, base: float, deadline: date, today: date) -> Curve:
    """The course of an urgency with this base, seen from `today`."""
    changes = turns(schedule, base, deadline)
    days = [deadline, today, *(turn.day for turn in changes)]
    pad = max(2, (max(days) - min(days)).days // 12)
    first, last = min(days) - timedelta(days=pad), max(days) + timedelta(days=pad)
    urgencies = sorted({base, *(turn.urgency for turn in changes)})

    def across(day: date) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (day - first).days / (last - first).days, 1)

    def up(urgency: float) -> float:
        room = HEIGHT - TOP - BOTTOM
        return round(HEIGHT - BOTTOM - room * urgency / urgencies[-1], 1)

    path = f"M{LEFT} {up(base)}" + "".join(f"H{across(turn.day)}V{up(turn.urgency)}" for turn in changes)
    return Curve(
        deadline=deadline,
        now=urgency_on(schedule, base, deadline, today),
        following=next_turn(schedule, base, deadline, today),
        stretches=_stretches(base, changes, today),
        path=f"{path}H{WIDTH - RIGHT}",
        today_at=across(today),
        deadline_at=across(deadline),
        levels=_apart([CurveLabel(up(urgency), f"{urgency:g}") for urgency in urgencies]),
        is_past=deadline < today,
    )


def _stretches(base: float, changes: Sequence[Turn], today: date) -> list[UrgencySpan]:
    starts: list[tuple[date | None, float]] = [(None, base), *((turn.day, turn.urgency) for turn in changes)]
    ends = [turn.day - timedelta(days=1) for turn in changes]
    result = []
    for (first, urgency), last in zip(starts, [*ends, None], strict=True):
        is_now = (first is None or first <= today) and (last is None or today <= last)
        result.append(UrgencySpan(first, last, urgency, is_now))
    return result


def _apart(marks: Sequence[CurveLabel]) -> list[CurveLabel]:
    """The labels that do not run into the one below; the highest always stands."""
    kept: list[CurveLabel] = []
    for mark in reversed(marks):  # from the top down
        if not kept or mark.at - kept[-1].at >= 11:
            kept.append(mark)
    return kept
