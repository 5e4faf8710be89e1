"""The door through which people change projects: managers within the limits, administrators without.

1. Who may set the rules is not bound by them.
2. What a manager may not change is refused, all of it at once, with everything else that is wrong.
3. An urgency that needs an approval waits as a request; the project keeps its own, and the rest is changed at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.accounts.models import User
from console.accounts.permissions import Permission
from console.audit.missed import missed_changes
from console.audit.services import Context, Subject, reason_of, record
from console.core import clock
from console.core.concurrent_changes import ChangedSinceError, OvertakenError
from console.projects.models import (
    Project,
    ProjectProposal,
    ProjectRules,
    RequestState,
    UrgencyBy,
    UrgencyRequest,
    rules_in_force,
)
from console.projects.rulebook import ManagerLimits, Rules, SizeGrade, decode_rules, encode_rules, faults_of
from console.projects.services import (
    URGENCY,
    ProjectData,
    as_wanted,
    change_project,
    lock_project,
    project_data,
    validate,
)
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


class AlreadyDecidedError(OvertakenError):
    """Somebody was quicker: the request does not wait any more."""

    def __init__(self, request: UrgencyRequest | ProjectProposal) -> None:
        super().__init__(
            _("This request does not wait any more; it is %(state)s.")
            % {"state": str(request.get_state_display()).lower()}
        )


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """The project as it is now, and the request that waits for an approval, if one was made."""

    project: Project
    request: UrgencyRequest | None = None


def change_as(
    *, person: User, project: Project, data: ProjectData, reason: str, version: int, request_id: str = ""
) -> ProjectChange:
    """Set the whole of a project as far as this person may. Raises as `change_project` does."""
    told = {"actor": person.username, "reason": reason, "request_id": request_id}
    if person.has_perm(Permission.PROJECT_RULES):
        return ProjectChange(change_project(project=project, data=data, version=version, **told))
    reason_of(person.username, reason)
    _check(project, data, rules_in_force().limits)  # before anybody has to wait for us
    with transaction.atomic():
        current = lock_project(project, version)
        before, rules = project_data(current), rules_in_force()
        if beyond := refused(before, data, rules.limits):
            raise ValidationError(beyond)
        if not wants_approval(before, data, rules):
            return ProjectChange(change_project(project=current, data=data, version=version, **told))
        kept = replace(data, **{field: getattr(before, field) for field in URGENCY})
        changed = change_project(project=current, data=kept, version=version, **told)
        return ProjectChange(changed, _ask(changed, data, person.username, reason, request_id))


def _check(project: Project, data: ProjectData, limits: ManagerLimits) -> None:
    """Everything that is wrong at once; a field that is beyond a limit for managers tells only that."""
    if data.code != project.code:
        return  # `change_project` says so
    try:
        validate(as_wanted(project, data), data)
    except ValidationError as error:
        beyond = refused(project_data(project), data, limits)
        raise ValidationError({**error.message_dict, **beyond}) from None


def _ask(project: Project, data: ProjectData, actor: str, reason: str, request_id: str) -> UrgencyRequest:
    """A request in the place of the one that waits; the same again is the same request."""
    waiting = UrgencyRequest.objects.filter(project=project, state=RequestState.WAITING).first()
    if waiting and all(getattr(waiting, field) == getattr(data, field) for field in URGENCY):
        return waiting
    if waiting:
        _end(waiting, RequestState.WITHDRAWN, actor, _("Another request took its place."), request_id)
    request = UrgencyRequest.objects.create(
        project=project,
        asked_by=actor,
        asked_at=clock.now(),
        reason=reason.strip(),
        **{field: getattr(data, field) for field in URGENCY},
    )
    _tell("asked", request, actor, reason, request_id)
    return request


def decide_request(
    *,
    actor: str,
    request: UrgencyRequest,
    approve: bool,
    reason: str,
    until: date | None = None,
    request_id: str = "",
) -> UrgencyRequest:
    """Allow or refuse what a manager asked for, with a reason. Allowed, the project gets it at once.

    `until`: allowed with this earlier deadline. Raises `ValidationError` for one that is not earlier, or is over.
    """
    reason = reason_of(actor, reason)
    with transaction.atomic():
        current = _locked(request)
        before = request_document(current) if until else None
        if until:
            _shorten(current, until)
        if approve:
            project = Project.objects.select_related("cluster").get(pk=current.project_id)
            asked = {field: getattr(current, field) for field in URGENCY}
            change_project(
                actor=actor,
                project=project,
                data=replace(project_data(project), **asked),
                reason=reason,
                version=project.version,
                request_id=request_id,
            )
        state = RequestState.APPROVED if approve else RequestState.REJECTED
        return _end(current, state, actor, reason, request_id, before)


def _shorten(request: UrgencyRequest, until: date) -> None:
    if request.urgency_by != UrgencyBy.DEADLINE or request.deadline is None:
        raise ValidationError({"until": _("Only what follows a deadline can be shortened.")})
    if not clock.today() <= until < request.deadline:
        day = {"day": request.deadline.isoformat()}
        raise ValidationError({"until": _("Choose a day from today on that is before %(day)s.") % day})
    request.deadline = until


def withdraw_request(
    *, actor: str, request: UrgencyRequest, reason: str, request_id: str = ""
) -> UrgencyRequest:
    """Take a request back."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        return _end(_locked(request), RequestState.WITHDRAWN, actor, reason, request_id)


def _locked(request: UrgencyRequest) -> UrgencyRequest:
    """The request as it is, ours until the transaction ends; its project first, as everybody locks them."""
    Project.objects.select_for_update().get(pk=request.project_id)
    rows = UrgencyRequest.objects.select_for_update(of=("self",)).select_related("project__cluster")
    current = rows.get(pk=request.pk)
    if current.state != RequestState.WAITING:
        raise AlreadyDecidedError(current)
    return current


def _end(
    request: UrgencyRequest,
    state: RequestState,
    actor: str,
    reason: str,
    request_id: str,
    before: dict[str, object] | None = None,
) -> UrgencyRequest:
    request.state, request.decided_by, request.decided_at = state, actor, clock.now()
    request.decision_reason = reason
    request.save(update_fields=["state", "deadline", "decided_by", "decided_at", "decision_reason"])
    _tell(str(state.value), request, actor, reason, request_id, before)
    return request


def request_document(request: UrgencyRequest) -> dict[str, object]:
    """What was asked for, as the audit log keeps it."""
    return {
        "urgency": request.urgency,
        "urgency_by": str(request.urgency_by),
        "deadline": request.deadline.isoformat() if request.deadline else None,
    }


def _tell(
    what: str,
    request: UrgencyRequest,
    actor: str,
    reason: str,
    request_id: str,
    before: dict[str, object] | None = None,
) -> None:
    """`before`: what was asked for, where something else is allowed."""
    project = request.project
    record(
        actor=actor,
        action=f"urgency_request.{what}",
        subject=Subject(
            type="urgency_request",
            id=str(request.pk),
            label=f"{project.code} ({project.name})",
            cluster=project.cluster.name,
            project=project.code,
        ),
        before=before,
        after=request_document(request),
        reason=reason,
        context=Context(request_id=request_id),
    )


THE_ROW = 1
SUBJECT = Subject(type="project_rules", id="rules", label="rules for projects")


def rules_row() -> ProjectRules:
    """The rules as they are stored; an unsaved row, version 1, while nobody has set any."""
    return ProjectRules.objects.filter(pk=THE_ROW).first() or ProjectRules(pk=THE_ROW)


def change_rules(
    *, actor: str, rules: Rules, reason: str, version: int, request_id: str = ""
) -> ProjectRules:
    """Set all rules; nothing to change: nothing is written. They count from the next cycle on.

    Raises `ValidationError` by field, and `ChangedSinceError` when `version` is not the present one.
    """
    reason = reason_of(actor, reason)
    if faults := faults_of(rules):
        raise ValidationError(faults)
    with transaction.atomic():
        ProjectRules.objects.get_or_create(pk=THE_ROW)
        row = ProjectRules.objects.select_for_update().get(pk=THE_ROW)
        if row.version != version:
            of = {"object_type": SUBJECT.type, "object_id": SUBJECT.id, "action": "project_rules.changed"}
            missed = missed_changes(version, row.version, **of)
            raise ChangedSinceError(_("rules for projects"), seen=version, current=row.version, missed=missed)
        before, after = encode_rules(decode_rules(row.document)), encode_rules(rules)
        if before == after:
            return row
        row.document, row.version = after, row.version + 1
        row.save(update_fields=["document", "version", "updated_at"])
        record(
            actor=actor,
            action="project_rules.changed",
            subject=SUBJECT,
            before=before,
            after=after,
            reason=reason,
            context=Context(request_id=request_id),
        )
    return row
