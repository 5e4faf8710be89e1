"""What a project may hold: beyond the columns' own limits, people and patterns that mean something."""

import math
from collections.abc import Iterable
from typing import Protocol

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from console.core.l10n_format import with_label
from console.core.limits import beyond, pattern_fault
from console.projects.models import Membership, Project, TaskPattern, UrgencyBy
from scheduler.contracts.config import DEADLINES


class GivenTask(Protocol):
    """A task pattern as it was given."""

    @property
    def pattern(self) -> str: ...
    @property
    def importance(self) -> float: ...
    @property
    def level(self) -> str: ...
    @property
    def one_request(self) -> bool: ...
    @property
    def elastic_min(self) -> int | None: ...
    @property
    def elastic_wish(self) -> int | None: ...


class Lists(Protocol):
    """The lists of a project as they were given."""

    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def managers(self) -> tuple[str, ...]: ...
    @property
    def tasks(self) -> tuple[GivenTask, ...]: ...


Errors = dict[str, list[str]]


def validate(project: Project, lists: Lists) -> None:
    """Raises `ValidationError` with everything that is wrong, by field."""
    errors: Errors = {}
    try:
        project.clean_fields(exclude=["cluster"])
    except ValidationError as error:
        errors.update(error.message_dict)
    for field in ("size", "grade", "urgency"):
        if field not in errors and (fault := _too_large(field, getattr(project, field))):
            errors[field] = [fault]
    if "deadline" not in errors:
        _add(errors, "deadline", _wrong_deadline(project))
    for field in ("name", "slurm_account"):
        if field not in errors and not getattr(project, field).isprintable():
            errors[field] = [_("Must not hold line breaks or other invisible characters.")]
    for field, names in (("members", lists.members), ("managers", lists.managers)):
        too_many = beyond(field, len(names))
        _add(errors, field, [too_many] if too_many else _wrong_names(names))
    too_many = beyond("patterns", len(lists.tasks))
    _add(errors, "tasks", [too_many] if too_many else _wrong_tasks(lists.tasks))
    if errors:
        raise ValidationError(errors)


def _wrong_deadline(project: Project) -> Iterable[str]:
    if project.deadline is None:
        if project.urgency_by == UrgencyBy.DEADLINE:
            yield _("Say which day; the urgency follows from it.")
    elif not DEADLINES[0] <= project.deadline <= DEADLINES[1]:
        first, last = DEADLINES
        yield _("Must lie between %(first)s and %(last)s.") % {"first": first, "last": last}


def _too_large(name: str, number: float) -> str:
    """What is wrong with one of the numbers that make a score; empty when nothing is."""
    return beyond(name, number) if math.isfinite(number) else _("Must be a finite number.")


def _add(errors: Errors, field: str, messages: Iterable[str]) -> None:
    if found := list(messages):
        errors[field] = found


def _wrong_names(names: tuple[str, ...]) -> Iterable[str]:
    longest = Membership._meta.get_field("username").max_length or 0  # noqa: SLF001 - documented
    seen: set[str] = set()
    for name in names:  # a space is the only one that is printable
        if not name or not name.isprintable() or " " in name or "," in name:
            yield _("“%(name)s” is no user name: one name without spaces and commas each.") % {"name": name}
        elif len(name) > longest:
            yield _("“%(name)s…” is too long for a user name.") % {"name": name[:20]}
        elif name in seen:
            yield _("%(name)s stands twice; keep one.") % {"name": name}
        seen.add(name)


def _wrong_tasks(tasks: tuple[GivenTask, ...]) -> Iterable[str]:
    seen: set[str] = set()
    for task in tasks:
        row = TaskPattern(
            pattern=task.pattern,
            importance=task.importance,
            level=task.level,
            one_request=task.one_request,
            elastic_min=task.elastic_min,
            elastic_wish=task.elastic_wish,
        )
        try:
            row.clean_fields(exclude=["project"])
            row.clean()
        except ValidationError as error:
            yield from (with_label(task.pattern, text) for text in error.messages)
            continue
        if fault := pattern_fault(task.pattern):
            yield fault
        if fault := _too_large("importance", task.importance):
            yield with_label(task.pattern, fault)
        if not task.pattern.isprintable() or not task.level.isprintable():
            yield _("A pattern and its level must not hold invisible characters.")
        if task.pattern in seen:
            yield _("%(pattern)s stands twice; keep one.") % {"pattern": task.pattern}
        seen.add(task.pattern)
