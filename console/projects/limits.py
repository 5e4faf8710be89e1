"""The limits that administrators set for managers: what is refused, and what waits for an approval. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from console.projects.models import UrgencyBy
from console.projects.rulebook import ManagerLimits, Rules, SizeGrade
from console.projects.services import ProjectData
from scheduler.priority.deadline import Schedule, highest

Errors = dict[str, list[str]]


def refused(before: ProjectData, after: ProjectData, limits: ManagerLimits) -> Errors:
    """What a manager may not change, by field; what stays as it was is never at fault."""
    errors: Errors = {}
    for field, message in _refused(before, after, limits):
        errors.setdefault(field, []).append(message)
    return errors


def _refused(before: ProjectData, after: ProjectData, limits: ManagerLimits) -> Iterator[tuple[str, str]]:
    for field, least, most in (
        ("size", limits.size_min, limits.size_max),
        ("grade", limits.grade_min, limits.grade_max),
    ):
        value = getattr(after, field)
        if value == getattr(before, field):
            continue
        if limits.size_grade == SizeGrade.ADMINISTRATORS:
            yield field, _("Only administrators change it here.")
        elif limits.size_grade == SizeGrade.BOUNDS:
            yield from ((field, message) for message in _outside(value, least, most))
    if set(after.managers) != set(before.managers) and not limits.managers_set_managers:
        yield "managers", _("Only administrators name managers here.")
    if after.slurm_account != before.slurm_account and not limits.managers_set_account:
        yield "slurm_account", _("Only administrators set the Slurm account here.")
    yield from (("tasks", message) for message in _tasks(before, after, limits))


def _outside(value: float, least: float | None, most: float | None) -> Iterator[str]:
    if least is not None and value < least:
        yield _("Managers may set %(least)g at least; ask an administrator for less.") % {"least": least}
    if most is not None and value > most:
        yield _("Managers may set %(most)g at most; ask an administrator for more.") % {"most": most}


def _tasks(before: ProjectData, after: ProjectData, limits: ManagerLimits) -> Iterator[str]:
    present = {task.pattern: task for task in before.tasks}
    for task in after.tasks:
        was = present.get(task.pattern)
        most = limits.importance_max
        if most is not None and task.importance > most and (was is None or task.importance > was.importance):
            yield _("%(pattern)s: managers may set an importance of %(most)g at most.") % {
                "pattern": task.pattern,
                "most": most,
            }
        if task.level and not limits.managers_set_levels and (was is None or task.level != was.level):
            yield _("%(pattern)s: only administrators give a pattern a level of its own here.") % {
                "pattern": task.pattern
            }


def wants_approval(before: ProjectData, after: ProjectData, rules: Rules) -> bool:
    """Whether the urgency that a manager sets has to be allowed first.

    It does when it may come to more than the limit, now or nearer the deadline, and is not only lower than before.
    """
    limit = rules.limits.urgency_limit
    if limit is None or _urgency(after) == _urgency(before):
        return False
    if ceiling(after, rules.schedule) <= max(limit, before.urgency):
        return False
    same_curve = (after.urgency_by, after.deadline) == (before.urgency_by, before.deadline)
    return not (same_curve and after.urgency <= before.urgency)


def ceiling(data: ProjectData, schedule: Schedule) -> float:
    """The most that a project's urgency may come to."""
    return highest(schedule, data.urgency) if data.urgency_by == UrgencyBy.DEADLINE else data.urgency


def _urgency(data: ProjectData) -> tuple[object, ...]:
    deadline = data.deadline if data.urgency_by == UrgencyBy.DEADLINE else None
    return data.urgency, data.urgency_by, deadline
