"""Projects that managers propose: the form, and what an administrator decides on, with all of it in the same form."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.diff import differences
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status, render_page
from console.core.rows import Rows, rearranged, typed_form
from console.projects.changing import AlreadyDecidedError
from console.projects.forms import (
    TASKS,
    ProposalForm,
    RequestDecisionForm,
    TaskForm,
    TaskRows,
    data_initial,
    project_data,
)
from console.projects.models import ProjectProposal, RequestState
from console.projects.notable import points_of
from console.projects.proposals import By, accept, propose, proposed_data, take_back, turn_down
from console.projects.selectors import visible_proposals
from console.projects.views.project import READ_OR_WRITE, go

PAGE = "projects/proposal.html"
ACCEPT, REJECT = "accept", "reject"


@require_http_methods(READ_OR_WRITE)
def propose_project(request: HttpRequest) -> HttpResponse:
    """The form of a project that one would like to have."""
    require_read(request, Permission.PROJECT_VIEW)
    require_write(request, Permission.PROJECT_PROPOSE)
    if request.method != "POST":
        form = ProposalForm(initial={"managers": [person(request).username]})
        return _show(request, form, TaskRows(prefix=TASKS), None)
    rows = rearranged(request.POST, {TASKS: TaskForm})
    if rows is not None:
        return _rearranged(request, rows, None)
    form, tasks = ProposalForm(request.POST), TaskRows(request.POST, prefix=TASKS)
    if all([form.is_valid(), tasks.is_valid()]) and (made := _proposed(request, form, tasks)):
        messages.success(request, _("Project %(code)s has been proposed.") % {"code": made.code})
        return go(request, reverse("project-proposal", args=[made.pk]))
    return _show(request, form, tasks, None, invalid=True)


def _proposed(request: HttpRequest, form: ProposalForm, tasks: Rows) -> ProjectProposal | None:
    try:
        return propose(
            person=person(request),
            cluster=shown_cluster(),
            data=project_data(form, tasks),
            share=form.cleaned_data["share"],
            by=_by(request, form.cleaned_data["reason"]),
        )
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    return None


@require_http_methods(READ_OR_WRITE)
def proposal(request: HttpRequest, number: int) -> HttpResponse:
    """One proposal: for who decides, a form that can be changed before it is accepted."""
    found = get_object_or_404(visible_proposals(person(request)), pk=number)
    if request.method != "POST":
        initial, kept = data_initial(proposed_data(found))
        form = ProposalForm(initial={**initial, "share": found.share})
        return _show(request, form, TaskRows(prefix=TASKS, initial=kept), found)
    require_write(request, Permission.REQUEST_DECIDE)
    rows = rearranged(request.POST, {TASKS: TaskForm})
    if rows is not None:
        return _rearranged(request, rows, found)
    form, tasks = ProposalForm(request.POST), TaskRows(request.POST, prefix=TASKS)
    if _decided(request, found, form, tasks):
        return go(request, reverse("project-requests"))
    return _show(request, form, tasks, found, invalid=True)


def _decided(request: HttpRequest, found: ProjectProposal, form: ProposalForm, tasks: Rows) -> bool:
    """Whether it could be done; what is wrong stands in the form. To reject, only the reason has to be right."""
    decision = request.POST.get("decision")
    valid, rows_valid = form.is_valid(), tasks.is_valid()
    try:
        if decision == REJECT and "reason" not in form.errors:
            turn_down(proposal=found, by=_by(request, form.cleaned_data["reason"]))
            messages.success(request, _("Rejected: there is no project %(code)s.") % {"code": found.code})
            return True
        if decision == ACCEPT and valid and rows_valid:
            require_write(request, Permission.PROJECT_CREATE)
            by = _by(request, form.cleaned_data["reason"])
            made = accept(proposal=found, data=project_data(form, tasks), by=by)
            messages.success(request, _("Accepted: project %(code)s has been made.") % {"code": made.code})
            return True
        if decision not in (ACCEPT, REJECT):
            form.add_error(None, _("Say whether it is accepted or rejected."))
    except AlreadyDecidedError as error:
        form.add_error(None, str(error))
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    return False


@require_http_methods(READ_OR_WRITE)
def withdraw(request: HttpRequest, number: int) -> HttpResponse:
    """Take a proposal back: whoever proposed it."""
    found = get_object_or_404(visible_proposals(person(request)), pk=number)
    require_write(request, Permission.PROJECT_PROPOSE)
    if found.asked_by != person(request).username:
        require_write(request, Permission.REQUEST_DECIDE)
    form = RequestDecisionForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            take_back(proposal=found, by=_by(request, form.cleaned_data["reason"]))
        except AlreadyDecidedError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("The proposal has been withdrawn."))
            return redirect("project-requests")
    context = {"proposal": found, "form": form}
    status = invalid_form_status(request) if form.errors else 200
    return render(request, "projects/proposal_withdraw.html", context, status=status)


def _by(request: HttpRequest, reason: str) -> By:
    return By(person(request).username, reason, request_id(request))


def _rearranged(
    request: HttpRequest, rows: dict[str, list[dict[str, Any]]], found: ProjectProposal | None
) -> HttpResponse:
    form = ProposalForm(initial=typed_form(request.POST, ProposalForm))
    return _show(request, form, TaskRows(prefix=TASKS, initial=rows[TASKS]), found)


def _show(
    request: HttpRequest,
    form: ProposalForm,
    tasks: Rows,
    found: ProjectProposal | None,
    *,
    invalid: bool = False,
) -> HttpResponse:
    waits = found is not None and found.state == RequestState.WAITING
    may_decide = waits and request.user.has_perm(Permission.REQUEST_DECIDE)
    context = {
        "form": form,
        "tasks": tasks,
        "project": None,
        "proposal": found,
        "proposing": found is None,
        "may_change": found is None or may_decide,
        "may_decide": may_decide,
        "may_withdraw": waits and found is not None and found.asked_by == person(request).username,
        "points": points_of(found, proposed_data(found)) if found is not None and may_decide else [],
        "changed": differences(found.document, found.became) if found is not None and found.became else [],
        "numbers": [form["size"], form["grade"], form["urgency"]],
        "invalid": invalid,
    }
    return render_page(request, PAGE, context, status=invalid_form_status(request) if invalid else 200)
