"""Reading a project's form half typed: what makes sense already is shown, the rest is passed over in silence."""

import math
from collections.abc import Mapping
from datetime import date

from console.core import clock
from console.core.rows import MOST_ROWS
from console.projects.curve import Curve, curve_of
from console.projects.models import UrgencyBy, rules_in_force
from console.reports.levels import Inputs, TypedTask
from scheduler.contracts.config import DEADLINES

LARGEST = 1e15


def _positive(text: object) -> float | None:
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 < value <= LARGEST else None


def read_inputs(typed: Mapping[str, object]) -> Inputs | None:
    """The three numbers, once all of them are numbers above zero; by deadline, the urgency that counts today."""
    size, grade, urgency = (_positive(typed.get(name)) for name in ("size", "grade", "urgency"))
    if size is None or grade is None or urgency is None:
        return None
    curve = read_curve(typed)
    return Inputs(size, grade, curve.now if curve else urgency)


def read_curve(typed: Mapping[str, object]) -> Curve | None:
    """The course of the urgency, when it is to follow a deadline that is a day."""
    base, day = _positive(typed.get("urgency")), _day(typed.get("deadline"))
    if typed.get("urgency_by") != UrgencyBy.DEADLINE or base is None or day is None:
        return None
    return curve_of(rules_in_force().schedule, base, day, clock.today())


def _day(text: object) -> date | None:
    try:
        day = date.fromisoformat(str(text))
    except ValueError:
        return None
    return day if DEADLINES[0] <= day <= DEADLINES[1] else None


def read_tasks(typed: Mapping[str, object]) -> list[TypedTask]:
    """The rows that have a pattern and an importance that means something."""
    total = str(typed.get("tasks-TOTAL_FORMS", "0"))
    result = []
    for i in range(min(int(total), MOST_ROWS) if total.isdecimal() else 0):
        pattern = str(typed.get(f"tasks-{i}-pattern", "")).strip()
        importance = _positive(typed.get(f"tasks-{i}-importance") or 1)
        if pattern and importance is not None:
            result.append(TypedTask(pattern, importance, str(typed.get(f"tasks-{i}-level", "")).strip()))
    return result
