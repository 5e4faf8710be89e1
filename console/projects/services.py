"""Creating, changing and deleting projects: one transaction with the row in the audit log.

Before and after stand there as entries of the priority file (contract B).
"""

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass, fields
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from console.audit.missed import deleted_by, missed_changes
from console.audit.services import Context, Subject, reason_of, record
from console.cluster.models import Cluster
from console.core.concurrent_changes import ChangedSinceError, MissedChanges
from console.core.l10n_format import with_label
from console.core.limits import beyond, no_room, pattern_fault
from console.projects.models import MemberRole, Membership, Project, TaskPattern, UrgencyBy
from console.projects.selectors import people, project_document
from scheduler.contracts.config import DEADLINES, ConfigProject
from scheduler.model.policy import TaskRule


@dataclass(frozen=True, slots=True)
class TaskData:
    """Job names (shell style) with an importance, or a level, of their own; level "" is none.

    `one_request`, `elastic_min`, `elastic_wish`: as in `scheduler.model.policy.TaskRule`.
    """

    pattern: str
    importance: float = 1.0
    level: str = ""
    one_request: bool = False
    elastic_min: int | None = None
    elastic_wish: int | None = None

    @property
    def rule(self) -> TaskRule:
        """As the scheduler takes it."""
        return TaskRule(**{**asdict(self), "level": self.level or None})


def task_data(task: TaskRule | TaskPattern) -> TaskData:
    """A pattern of the priority file, or of the database, as the services take it."""
    values = {each.name: getattr(task, each.name) for each in fields(TaskData)}
    return TaskData(**{**values, "level": task.level or ""})


@dataclass(frozen=True, slots=True)
class ProjectData:
    """The whole of what may be set on a project. `members` are users of the cluster, `managers` accounts here."""

    code: str
    name: str
    size: float
    grade: float
    urgency: float
    slurm_account: str = ""
    members: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    tasks: tuple[TaskData, ...] = ()
    urgency_by: str = UrgencyBy.HAND
    deadline: date | None = None


def data_of(entry: ConfigProject) -> ProjectData:
    """A project's entry of the priority file as the services take it."""
    core = entry.project
    return ProjectData(
        code=core.code,
        name=entry.name,
        size=core.size,
        grade=core.grade,
        urgency=core.urgency,
        urgency_by=entry.urgency_by,
        deadline=entry.deadline,
        slurm_account=core.slurm_account,
        members=tuple(sorted(core.members)),
        managers=entry.managers,
        tasks=tuple(map(task_data, core.tasks)),
    )


@dataclass(frozen=True, slots=True)
class By:
    """Who does it, why, and in which request."""

    actor: str
    reason: str
    request_id: str = ""


URGENCY = ("urgency", "urgency_by", "deadline")
SETTABLE = ("code", "name", "size", "grade", *URGENCY, "slurm_account")


def create_project(
    *, actor: str, cluster: Cluster, data: ProjectData, reason: str, request_id: str = ""
) -> Project:
    """A new project. Raises `ValidationError` by field, `reason` among them."""
    reason = reason_of(actor, reason)
    project = Project(cluster=cluster)
    _apply(project, data)
    validate(project, data)
    if full := no_room("projects", Project.objects.filter(cluster=cluster).count()):
        raise ValidationError({"code": full})
    taken = ValidationError({"code": _("There is a project %(code)s already.") % {"code": data.code}})
    if Project.objects.filter(cluster=cluster, code=data.code).exists():
        raise taken
    with transaction.atomic():
        try:
            with transaction.atomic():
                project.save(force_insert=True)
        except IntegrityError:  # somebody was quicker
            raise taken from None
        _write_people(project, data)
        _write_tasks(project, data.tasks)
        _tell("created", project, None, project_document(project), By(actor, reason, request_id))
    return project


def change_project(
    *, actor: str, project: Project, data: ProjectData, reason: str, version: int, request_id: str = ""
) -> Project:
    """Set the whole of a project; nothing to change: nothing is written, the version stays.

    Raises `ValidationError` by field, and `ChangedSinceError` when `version` is not the project's any more. The code
    stays what it was: the audit log and job names refer to it.
    """
    reason = reason_of(actor, reason)
    if data.code != project.code:
        raise ValidationError(
            {"code": _("The code stays %(code)s; make a new project instead.") % {"code": project.code}}
        )
    validate(as_wanted(project, data), data)  # before anybody has to wait for us
    with transaction.atomic():
        current = lock_project(project, version)
        before = project_document(current)
        _apply(current, data)
        _write_people(current, data)
        _write_tasks(current, data.tasks)
        after = project_document(current)
        if after == before:
            return current
        current.version += 1
        current.save(update_fields=[*SETTABLE, "version", "updated_at"])
        _tell("changed", current, before, after, By(actor, reason, request_id))
    return current


def delete_project(*, actor: str, project: Project, reason: str, version: int, request_id: str = "") -> None:
    """Delete a project with its members and patterns; the audit log keeps what it was."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        current = lock_project(project, version)
        before = project_document(current)
        current.delete()
        _tell("deleted", current, before, None, By(actor, reason, request_id))


def project_data(project: Project) -> ProjectData:
    """A project as it is now, to be changed with `dataclasses.replace`."""
    return ProjectData(
        **{field: getattr(project, field) for field in SETTABLE},
        members=tuple(people(project, MemberRole.MEMBER)),
        managers=tuple(people(project, MemberRole.MANAGER)),
        tasks=tuple(map(task_data, project.tasks.all())),
    )


def lock_project(project: Project, version: int) -> Project:
    """The project as it is, ours until the transaction ends. Raises `ChangedSinceError`."""
    what = _("project %(code)s") % {"code": project.code}
    current = (
        Project.objects.select_for_update(of=("self",))
        .select_related("cluster")
        .filter(pk=project.pk)
        .first()
    )
    if current is None:
        of = {"object_type": "project", "object_id": project.code, "cluster": project.cluster.name}
        gone = deleted_by(action="project.deleted", **of)
        raise ChangedSinceError(what, seen=version, current=None, missed=gone)
    if current.version != version:
        missed = changes_of_project(current, version)
        raise ChangedSinceError(what, seen=version, current=current.version, missed=missed)
    return current


def changes_of_project(project: Project, since: int) -> MissedChanges | None:
    """What became of it after that version, and by whom, if the audit log has it all."""
    of = {"object_type": "project", "object_id": project.code, "cluster": project.cluster.name}
    return missed_changes(since, project.version, action="project.changed", **of)


def as_wanted(project: Project, data: ProjectData) -> Project:
    """A project as it would be, not saved."""
    wanted = copy(project)
    _apply(wanted, data)
    return wanted


def _apply(project: Project, data: ProjectData) -> None:
    for field in SETTABLE:
        setattr(project, field, getattr(data, field))


def _write_people(project: Project, data: ProjectData) -> None:
    wanted = {(name, MemberRole.MEMBER) for name in data.members}
    wanted |= {(name, MemberRole.MANAGER) for name in data.managers}
    rows = project.memberships.values_list("username", "role", "pk")
    present = {(name, MemberRole(role)): key for name, role, key in rows}
    gone = [key for who, key in present.items() if who not in wanted]
    if gone:
        Membership.objects.filter(pk__in=gone).delete()
    Membership.objects.bulk_create(
        Membership(project_id=project.pk, username=name, role=role)
        for name, role in sorted(wanted - present.keys())
    )


def _write_tasks(project: Project, tasks: Sequence[TaskData]) -> None:
    wanted = {task.pattern: task for task in tasks}
    present = {task.pattern: task for task in project.tasks.all()}
    gone = [task.pk for pattern, task in present.items() if pattern not in wanted]
    if gone:
        TaskPattern.objects.filter(pk__in=gone).delete()
    TaskPattern.objects.bulk_create(
        TaskPattern(project_id=project.pk, **asdict(data))
        for pattern, data in wanted.items()
        if pattern not in present
    )
    for pattern, data in wanted.items():
        row = present.get(pattern)
        if row and task_data(row) != data:
            values = asdict(data)
            for name, value in values.items():
                setattr(row, name, value)
            row.save(update_fields=values)


def _tell(what: str, project: Project, before: Any, after: Any, by: By) -> None:
    record(
        actor=by.actor,
        action=f"project.{what}",
        subject=Subject(
            type="project",
            id=project.code,
            label=f"{project.code} ({project.name})",
            cluster=project.cluster.name,
            project=project.code,
        ),
        before=before,
        after=after,
        reason=by.reason,
        context=Context(request_id=by.request_id),
    )


Errors = dict[str, list[str]]


def validate(project: Project, lists: ProjectData) -> None:
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


def _wrong_tasks(tasks: tuple[TaskData, ...]) -> Iterable[str]:
    seen: set[str] = set()
    for task in tasks:
        row = TaskPattern(**asdict(task))
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
