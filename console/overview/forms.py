"""Reading a project's form half typed: what makes sense already is shown, the rest is passed over in silence."""

import math
from collections.abc import Mapping

from console.overview.levels import Inputs, Task

LARGEST = 1e15
MOST_ROWS = 200


def _positive(text: object) -> float | None:
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 < value <= LARGEST else None


def read_inputs(typed: Mapping[str, object]) -> Inputs | None:
    """The three numbers, once all of them are numbers above zero."""
    size, grade, urgency = (_positive(typed.get(name)) for name in ("size", "grade", "urgency"))
    if size is None or grade is None or urgency is None:
        return None
    return Inputs(size, grade, urgency)


def read_tasks(typed: Mapping[str, object]) -> list[Task]:
    """The rows that have a pattern and an importance that means something."""
    total = str(typed.get("tasks-TOTAL_FORMS", "0"))
    result = []
    for i in range(min(int(total), MOST_ROWS) if total.isdecimal() else 0):
        pattern = str(typed.get(f"tasks-{i}-pattern", "")).strip()
        importance = _positive(typed.get(f"tasks-{i}-importance") or 1)
        if pattern and importance is not None:
            result.append(Task(pattern, importance, str(typed.get(f"tasks-{i}-level", "")).strip()))
    return result
