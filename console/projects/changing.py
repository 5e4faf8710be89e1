"""The door through which people change projects: managers within the limits, administrators without.

1. Who may set the rules is not bound by them.
2. What a manager may not change is refused, all of it at once, with everything else that is wrong.
3. An urgency that needs an approval waits as a request; the project keeps its own, and the rest is changed at once.
"""

from dataclasses import dataclass, replace
from datetime import date

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.accounts.models import User
from console.accounts.permissions import Permission
from console.audit.services import Context, Subject, reason_of, record
from console.core import clock
from console.core.errors import OvertakenError
from console.projects.limits import refused, wants_approval
from console.projects.models import (
    Project,
    ProjectProposal,
    RequestState,
    UrgencyBy,
    UrgencyRequest,
    rules_in_force,
)
from console.projects.rulebook import ManagerLimits
from console.projects.services import (
    URGENCY,
    ProjectData,
    as_wanted,
    change_project,
    lock_project,
    project_data,
)
from console.projects.validation import validate


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
