"""The inbox of what managers ask for: the administrators decide; a manager sees the own ones and may withdraw them."""

from dataclasses import replace

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.core import clock
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status
from console.projects.changing import AlreadyDecidedError, decide_request, withdraw_request
from console.projects.curve import Curve, curve_of
from console.projects.forms import RequestDecisionForm
from console.projects.limits import ceiling
from console.projects.models import RequestState, UrgencyBy, UrgencyRequest
from console.projects.selectors import visible_proposals, visible_requests, with_rules
from console.projects.services import URGENCY, project_data
from console.projects.views.project import READ_OR_WRITE
from scheduler.priority.deadline import Schedule

LISTED = 50
APPROVE, SHORTEN = "approve", "shorten"


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits, the oldest first, and what was decided lately."""
    require_read(request, Permission.PROJECT_VIEW)
    rows, proposals = visible_requests(person(request)), visible_proposals(person(request))
    context = {
        "waiting": rows.filter(state=RequestState.WAITING).order_by("id")[:LISTED],
        "ended": rows.exclude(state=RequestState.WAITING).order_by("-decided_at", "-id")[:LISTED],
        "proposed": proposals.filter(state=RequestState.WAITING).order_by("id")[:LISTED],
        "judged": proposals.exclude(state=RequestState.WAITING).order_by("-decided_at", "-id")[:LISTED],
        "may_decide": request.user.has_perm(Permission.REQUEST_DECIDE),
        "may_propose": request.user.has_perm(Permission.PROJECT_PROPOSE),
    }
    return render(request, "projects/request_list.html", context)


@require_http_methods(READ_OR_WRITE)
def decide(request: HttpRequest, number: int) -> HttpResponse:
    """One request: what it comes to, and the decision with its reason."""
    asked = get_object_or_404(visible_requests(person(request)), pk=number)
    require_write(request, Permission.REQUEST_DECIDE)
    return _end(request, asked, withdrawing=False)


@require_http_methods(READ_OR_WRITE)
def withdraw(request: HttpRequest, number: int) -> HttpResponse:
    """Take a request back: whoever may change the project."""
    asked = get_object_or_404(visible_requests(person(request)), pk=number)
    require_write(request, Permission.PROJECT_CHANGE, asked.project)
    return _end(request, asked, withdrawing=True)


def _end(request: HttpRequest, asked: UrgencyRequest, *, withdrawing: bool) -> HttpResponse:
    form = RequestDecisionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and _done(request, asked, form, withdrawing=withdrawing):
        return redirect("project", asked.project.code) if withdrawing else redirect("project-requests")
    [project] = with_rules([asked.project])
    schedule = project.rules.schedule
    present = project_data(project)
    wanted = replace(present, **{field: getattr(asked, field) for field in URGENCY})
    context = {
        "asked": asked,
        "project": project,
        "form": form,
        "withdrawing": withdrawing,
        "most_now": ceiling(present, schedule),
        "most_then": ceiling(wanted, schedule),
        "shortens": not withdrawing and asked.urgency_by == UrgencyBy.DEADLINE,
        "curve": _curve(asked, schedule),
        "invalid": form.is_bound and not form.is_valid(),
    }
    status = invalid_form_status(request) if form.errors else 200
    return render(request, "projects/request.html", context, status=status)


def _curve(asked: UrgencyRequest, schedule: Schedule) -> Curve | None:
    """The course of the urgency that is asked for, where it follows a deadline."""
    if asked.urgency_by != UrgencyBy.DEADLINE or asked.deadline is None:
        return None
    return curve_of(schedule, asked.urgency, asked.deadline, clock.today())


def _done(
    request: HttpRequest, asked: UrgencyRequest, form: RequestDecisionForm, *, withdrawing: bool
) -> bool:
    """Whether it could be done; what is wrong stands in the form."""
    told = {
        "actor": person(request).username,
        "request": asked,
        "reason": form.cleaned_data["reason"],
        "request_id": request_id(request),
    }
    try:
        if withdrawing:
            withdraw_request(**told)
            messages.success(request, _("The request has been withdrawn."))
            return True
        decision, until = request.POST.get("decision"), form.cleaned_data["until"]
        if (decision == SHORTEN) != bool(until) and decision in (APPROVE, SHORTEN):
            form.add_error("until", _day_missing(until))
            return False
        approve = decision in (APPROVE, SHORTEN)
        decide_request(approve=approve, until=until if approve else None, **told)
    except AlreadyDecidedError as error:
        form.add_error(None, str(error))
        return False
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
        return False
    words = _("Approved: %(code)s has it now.") if approve else _("Rejected: %(code)s keeps its urgency.")
    messages.success(request, words % {"code": asked.project.code})
    return True


def _day_missing(until: object) -> str:
    if until:
        return _("Leave this empty to approve all of it, or choose “Approve until that day”.")
    return _("Say until which day.")
