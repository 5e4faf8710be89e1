"""What administrators set for all projects: the schedule of urgency, and the limits for managers.

As a value and as a JSON document. `fault_of` says what is wrong with one, by field; nothing here reads the database.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _

from console.core.limits import beyond
from scheduler.contracts.fields import plain
from scheduler.priority.deadline import Schedule, UrgencyStep

LARGEST = 1e15
"""As in the priority file: larger numbers say nothing and lose digits."""
MOST_DAYS = 3650
LONGEST_HOLD = 365
DEFAULT_SCHEDULE = Schedule(
    (UrgencyStep(30, 2.0), UrgencyStep(14, 3.0), UrgencyStep(7, 4.0), UrgencyStep(1, 5.0)), hold_days=2
)


class SizeGrade(StrEnum):
    """What managers may do to their project's size and grade."""

    FREE = "free"
    BOUNDS = "bounds"
    ADMINISTRATORS = "administrators"


@dataclass(frozen=True, slots=True)
class ManagerLimits:
    """What managers may do by themselves; who sets the rules is not bound by them. None: no limit.

    The defaults are those of a document that lacks a key: it was stored before the key existed, and binds nobody by it.

    `urgency_limit`: a manager's urgency above it waits for an administrator's approval. Everything else that is
    beyond a limit is refused.
    """

    urgency_limit: float | None = None
    size_grade: SizeGrade = SizeGrade.FREE
    size_min: float | None = None
    size_max: float | None = None
    grade_min: float | None = None
    grade_max: float | None = None
    importance_max: float | None = None
    managers_set_levels: bool = True
    managers_set_managers: bool = False
    managers_set_account: bool = False


DEFAULT_LIMITS = ManagerLimits(
    urgency_limit=5.0, size_grade=SizeGrade.ADMINISTRATORS, importance_max=2.0, managers_set_levels=False
)
"""As long as nobody has set any: managers say how urgent their project is, up to the schedule's last step."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The schedule and the limits."""

    schedule: Schedule = DEFAULT_SCHEDULE
    limits: ManagerLimits = DEFAULT_LIMITS


NUMBERS = ("urgency_limit", "size_min", "size_max", "grade_min", "grade_max", "importance_max")
FLAGS = ("managers_set_levels", "managers_set_managers", "managers_set_account")


def encode_rules(rules: Rules) -> dict[str, Any]:
    """Rules as a JSON document, as they are stored and stand in the audit log; the farthest step first."""
    limits = asdict(rules.limits)
    steps = sorted(rules.schedule.steps, key=lambda step: -step.days_left)
    return {
        "steps": [{"days_left": step.days_left, "urgency": plain(step.urgency)} for step in steps],
        "hold_days": rules.schedule.hold_days,
        **{
            key: plain(value) if key in NUMBERS and value is not None else value
            for key, value in limits.items()
        },
    }


def decode_rules(document: Mapping[str, Any]) -> Rules:
    """Rules from a document that `encode_rules` wrote, as they were meant then; without one the default rules."""
    if not document:
        return Rules()
    steps = tuple(UrgencyStep(step["days_left"], float(step["urgency"])) for step in document["steps"])
    known = {key: document[key] for key in ManagerLimits.__dataclass_fields__ if key in document}
    if "size_grade" in known:
        known["size_grade"] = SizeGrade(known["size_grade"])
    return Rules(Schedule(steps, document["hold_days"]), ManagerLimits(**known))


def faults_of(rules: Rules) -> dict[str, list[str]]:
    """What is wrong with rules, by field; empty when nothing is."""
    faults: dict[str, list[str]] = {}
    for field, message in _faults(rules):
        faults.setdefault(field, []).append(message)
    return faults


def _faults(rules: Rules) -> Iterator[tuple[str, str]]:
    yield from (("steps", message) for message in _wrong_steps(rules.schedule.steps))
    if not 0 <= rules.schedule.hold_days <= LONGEST_HOLD:
        yield "hold_days", _("From 0 to %(most)d days.") % {"most": LONGEST_HOLD}
    limits = rules.limits
    for field in NUMBERS:
        value = getattr(limits, field)
        if value is not None and not _is_usable(value):
            yield field, _("Must be a number above zero, up to %(largest)g.") % {"largest": LARGEST}
    for low, high in (("size_min", "size_max"), ("grade_min", "grade_max")):
        least, most = getattr(limits, low), getattr(limits, high)
        if least is not None and most is not None and least > most:
            yield high, _("Must not be below the smallest, %(least)g.") % {"least": least}


def _wrong_steps(steps: tuple[UrgencyStep, ...]) -> Iterator[str]:
    if said := beyond("steps", len(steps)):
        yield said
        return
    for step in steps:
        if not 0 <= step.days_left <= MOST_DAYS:
            yield _("Days left: from 0 to %(most)d, not %(days)d.") % {
                "most": MOST_DAYS,
                "days": step.days_left,
            }
        if not _is_usable(step.urgency):
            yield _("%(days)d days left: the urgency must be a number above zero, up to %(largest)g.") % {
                "days": step.days_left,
                "largest": LARGEST,
            }
        elif fault := beyond("urgency", step.urgency):
            yield fault
    ordered = sorted(steps, key=lambda step: -step.days_left)
    for far, near in pairwise(ordered):
        if far.days_left == near.days_left:
            yield _("%(days)d days left stands twice; keep one.") % {"days": near.days_left}
        elif near.urgency < far.urgency:
            yield _(
                "The urgency must not fall: it is %(far)g at %(d1)d days left and %(near)g at %(d2)d."
            ) % {
                "far": far.urgency,
                "d1": far.days_left,
                "near": near.urgency,
                "d2": near.days_left,
            }


def _is_usable(number: float) -> bool:
    return math.isfinite(number) and 0 < number <= LARGEST
