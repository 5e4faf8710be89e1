"""Projects, what is asked for and proposed, and the rules for them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.accounts.access import person, require_read, require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.audit.models import AuditEntry
from console.audit.registry import ACTIONS
from console.audit.selectors import first_differences, visible_entries
from console.cluster.selectors import shown_cluster
from console.core import clock
from console.core.diff import differences
from console.core.htmx import render_page
from console.core.rows import Rows, make_rows
from console.core.templatetags.cut import LISTED
from console.projects.changing import (
    ProjectChange,
    ceiling,
    change_as,
    change_rules,
    decide_request,
    rules_row,
    withdraw_request,
)
from console.projects.curve import curve_of
from console.projects.forms import (
    PATTERNS,
    STEPS,
    TASKS,
    DeleteForm,
    ProjectForm,
    ProposalForm,
    RequestDecisionForm,
    RulesForm,
    StepForm,
    data_initial,
    project_data,
    project_initial,
    rules_from,
    rules_initial,
)
from console.projects.models import (
    MemberRole,
    Membership,
    Project,
    ProjectProposal,
    RequestState,
    UrgencyBy,
    UrgencyRequest,
    rules_in_force,
)
from console.projects.proposals import accept, points_of, propose, proposed_data, take_back, turn_down
from console.projects.rulebook import decode_rules
from console.projects.selectors import (
    names_by_project,
    visible_projects,
    visible_proposals,
    visible_requests,
    with_rules,
)
from console.projects.services import URGENCY, By, create_project, delete_project
from console.projects.services import project_data as present_data

READ_OR_WRITE = ("GET", "HEAD", "POST")
LISTED_REQUESTS = 50
CHANGES_PER_PAGE = 30
REVISIONS = 30
APPROVE, SHORTEN = "approve", "shorten"
ACCEPT, REJECT = "accept", "reject"


@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """The projects that one may see, the highest score first."""
    require_read(request, Permission.PROJECT_VIEW)
    text = request.GET.get("q", "").strip().lower()
    seen = with_rules(visible_projects(person(request)).prefetch_related(None))
    rows = [p for p in seen if text in p.code.lower() or text in p.name.lower()]
    people = Membership.objects.filter(project__in=[project.pk for project in rows])
    waiting = visible_requests(person(request)).filter(state=RequestState.WAITING)
    context = {
        "waiting": waiting.count(),
        "projects": sorted(rows, key=lambda project: (-project.score, project.code)),
        "members": names_by_project(people.filter(role=MemberRole.MEMBER)),
        "managers": names_by_project(people.filter(role=MemberRole.MANAGER)),
        "text": text,
        "proposed": visible_proposals(person(request)).filter(state=RequestState.WAITING).count(),
        "may_create": request.user.has_perm(Permission.PROJECT_CREATE),
        "may_propose": request.user.has_perm(Permission.PROJECT_PROPOSE),
    }
    return render_page(request, "projects/project_list.html", context)


@require_http_methods(READ_OR_WRITE)
def new_project(request: HttpRequest) -> HttpResponse:
    """Create a project."""
    require_write(request, Permission.PROJECT_CREATE)
    if request.method == "POST":
        return _take_project(request, None)
    return _show_project(request, None, ProjectForm(), make_rows(PATTERNS))


@require_http_methods(READ_OR_WRITE)
def project(request: HttpRequest, code: str) -> HttpResponse:
    """One project: its form for those who may change it, the same without buttons for the others."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    if request.method == "POST":
        require_write(request, Permission.PROJECT_CHANGE, found)
        return _take_project(request, found)
    initial, tasks = project_initial(found)
    return _show_project(
        request, found, ProjectForm(initial=initial), make_rows(PATTERNS, initial={TASKS: tasks})
    )


def _take_project(request: HttpRequest, found: Project | None) -> HttpResponse:
    def make(data: Any = None, **kwargs: Any) -> ProjectForm:
        if data and found:  # a project's code stays what it is
            data = data.copy()
            data["code"] = found.code
        return ProjectForm(data, **kwargs)

    def save(form: ProjectForm, rows: dict[str, Rows], by: dict[str, str]) -> Saved:
        if found is None:
            data = project_data(form, rows[TASKS])
            made = ProjectChange(create_project(cluster=shown_cluster(), data=data, **by))
            return _saved_project(made, same=False)
        version, data = form.cleaned_data["version"], project_data(form, rows[TASKS], found.code)
        why = {"reason": by["reason"], "request_id": by["request_id"]}
        outcome = change_as(person=person(request), project=found, data=data, version=version or 0, **why)
        return _saved_project(outcome, same=outcome.project.version == version)

    def show(form: ProjectForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        return _show_project(request, found, form, rows, invalid=invalid)

    return audited_form(request, make, save, show, rows=PATTERNS)


def _saved_project(outcome: ProjectChange, *, same: bool) -> Saved:
    words, level = _("Project %(code)s has been saved."), messages.SUCCESS
    if outcome.request:
        words = _("The urgency of %(code)s waits for an administrator's approval; the rest has been saved.")
        level = messages.WARNING
    elif same:
        words, level = _("Nothing was different: project %(code)s stays as it was."), messages.INFO
    code = outcome.project.code
    return Saved(reverse("project", args=[code]), words % {"code": code}, level)


def _show_project(
    request: HttpRequest,
    found: Project | None,
    form: ProjectForm,
    rows: dict[str, Rows],
    *,
    invalid: bool = False,
) -> HttpResponse:
    may_change = found is None or request.user.has_perm(Permission.PROJECT_CHANGE, found)
    if may_change and not request.user.has_perm(Permission.PROJECT_RULES):
        form.mark_limits(rules_in_force().limits)
    context = {
        "form": form,
        "tasks": rows[TASKS],
        "project": found,
        "may_change": may_change,
        "may_decide": request.user.has_perm(Permission.REQUEST_DECIDE),
        "may_delete": found is not None and request.user.has_perm(Permission.PROJECT_DELETE, found),
        "numbers": [form["size"], form["grade"], form["urgency"]],
    }
    return render_page(request, "projects/project_form.html", context, invalid=invalid)


@require_http_methods(READ_OR_WRITE)
def delete(request: HttpRequest, code: str) -> HttpResponse:
    """Delete a project: a page that says what follows, and asks why."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_write(request, Permission.PROJECT_DELETE, found)

    def save(form: DeleteForm, _rows: object, by: dict[str, str]) -> Saved:
        delete_project(project=found, version=form.cleaned_data["version"] or 0, **by)
        return Saved(reverse("projects"), _("Project %(code)s has been deleted.") % {"code": found.code})

    def show(form: DeleteForm, _rows: object = None, *, invalid: bool = False) -> HttpResponse:
        error = " ".join(str(each) for errors in form.errors.values() for each in errors)
        context = {"project": found, "error": error, "reason": request.POST.get("reason", "")}
        return render(request, "projects/project_delete.html", context)

    return audited_form(request, DeleteForm, save, show) if request.method == "POST" else show(DeleteForm())


@require_safe
def project_history(request: HttpRequest, code: str) -> HttpResponse:
    """The changes, the newest first; `?before=<row>` pages on from there."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    rows = visible_entries(person(request)).filter(cluster=found.cluster.name, project=found.code)
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        rows = rows.filter(sequence__lt=int(before))
    shown = list(rows.order_by("-sequence")[: CHANGES_PER_PAGE + 1])
    lines = [
        {
            "entry": entry,
            "label": ACTIONS[entry.action].label if entry.action in ACTIONS else entry.action,
            "differences": first_differences(entry, LISTED),
        }
        for entry in shown[:CHANGES_PER_PAGE]
    ]
    context = {
        "project": found,
        "lines": lines,
        "next_before": shown[CHANGES_PER_PAGE - 1].sequence if len(shown) > CHANGES_PER_PAGE else None,
        "paged": bool(before),
    }
    return render(request, "projects/project_history.html", context)


# --- What managers ask for: the administrators decide; a manager sees the own requests and may withdraw them ---


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits, the oldest first, and what was decided lately."""
    require_read(request, Permission.PROJECT_VIEW)
    rows, proposals = visible_requests(person(request)), visible_proposals(person(request))
    context = {
        "waiting": rows.filter(state=RequestState.WAITING).order_by("id")[:LISTED_REQUESTS],
        "ended": rows.exclude(state=RequestState.WAITING).order_by("-decided_at", "-id")[:LISTED_REQUESTS],
        "proposed": proposals.filter(state=RequestState.WAITING).order_by("id")[:LISTED_REQUESTS],
        "judged": proposals.exclude(state=RequestState.WAITING).order_by("-decided_at", "-id")[
            :LISTED_REQUESTS
        ],
        "may_decide": request.user.has_perm(Permission.REQUEST_DECIDE),
        "may_propose": request.user.has_perm(Permission.PROJECT_PROPOSE),
    }
    return render(request, "projects/request_list.html", context)


@require_http_methods(READ_OR_WRITE)
def decide_urgency(request: HttpRequest, number: int) -> HttpResponse:
    """One request: what it comes to, and the decision with its reason."""
    asked = get_object_or_404(visible_requests(person(request)), pk=number)
    require_write(request, Permission.REQUEST_DECIDE)

    def save(form: RequestDecisionForm, _rows: object, by: dict[str, str]) -> Saved | None:
        decision, until = request.POST.get("decision"), form.cleaned_data["until"]
        if (decision == SHORTEN) != bool(until) and decision in (APPROVE, SHORTEN):
            empty = _("Leave this empty to approve all of it, or choose “Approve until that day”.")
            form.add_error("until", empty if until else _("Say until which day."))
            return None
        approve = decision in (APPROVE, SHORTEN)
        decide_request(request=asked, approve=approve, until=until if approve else None, **by)
        words = _("Approved: %(code)s has it now.") if approve else _("Rejected: %(code)s keeps its urgency.")
        return Saved(reverse("project-requests"), words % {"code": asked.project.code})

    return _end_request(request, asked, save, withdrawing=False)


@require_http_methods(READ_OR_WRITE)
def withdraw_urgency(request: HttpRequest, number: int) -> HttpResponse:
    """Take a request back: whoever may change the project."""
    asked = get_object_or_404(visible_requests(person(request)), pk=number)
    require_write(request, Permission.PROJECT_CHANGE, asked.project)

    def save(_form: object, _rows: object, by: dict[str, str]) -> Saved:
        withdraw_request(request=asked, **by)
        return Saved(reverse("project", args=[asked.project.code]), _("The request has been withdrawn."))

    return _end_request(request, asked, save, withdrawing=True)


def _end_request(
    request: HttpRequest, asked: UrgencyRequest, save: Any, *, withdrawing: bool
) -> HttpResponse:
    def show(form: RequestDecisionForm, _rows: object = None, *, invalid: bool = False) -> HttpResponse:
        [found] = with_rules([asked.project])
        schedule, present = found.rules.schedule, present_data(found)
        wanted = replace(present, **{field: getattr(asked, field) for field in URGENCY})
        by_deadline = asked.urgency_by == UrgencyBy.DEADLINE
        context = {
            "asked": asked,
            "project": found,
            "form": form,
            "withdrawing": withdrawing,
            "most_now": ceiling(present, schedule),
            "most_then": ceiling(wanted, schedule),
            "shortens": not withdrawing and by_deadline,
            "curve": curve_of(schedule, asked.urgency, asked.deadline, clock.today())
            if by_deadline and asked.deadline
            else None,
        }
        return render_page(request, "projects/request.html", context, invalid=invalid)

    if request.method == "POST":
        return audited_form(request, RequestDecisionForm, save, show)
    return show(RequestDecisionForm())


# --- Projects that managers propose: an administrator decides, with all of it in the same form ---


@require_http_methods(READ_OR_WRITE)
def propose_project(request: HttpRequest) -> HttpResponse:
    """The form of a project that one would like to have."""
    require_read(request, Permission.PROJECT_VIEW)
    require_write(request, Permission.PROJECT_PROPOSE)

    def save(form: ProposalForm, rows: dict[str, Rows], by: dict[str, str]) -> Saved:
        made = propose(
            person=person(request),
            cluster=shown_cluster(),
            data=project_data(form, rows[TASKS]),
            share=form.cleaned_data["share"],
            by=By(**by),
        )
        words = _("Project %(code)s has been proposed.") % {"code": made.code}
        return Saved(reverse("project-proposal", args=[made.pk]), words)

    def show(form: ProposalForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        return _show_proposal(request, None, form, rows, invalid=invalid)

    if request.method == "POST":
        return audited_form(request, ProposalForm, save, show, rows=PATTERNS)
    return show(ProposalForm(initial={"managers": [person(request).username]}), make_rows(PATTERNS))


@require_http_methods(READ_OR_WRITE)
def proposal(request: HttpRequest, number: int) -> HttpResponse:
    """One proposal: for who decides, a form that can be changed before it is accepted."""
    found = get_object_or_404(visible_proposals(person(request)), pk=number)
    decision, to = request.POST.get("decision"), reverse("project-requests")

    def valid(form: ProposalForm, rows: dict[str, Rows]) -> bool:
        """To reject, only the reason has to be right."""
        if decision not in (ACCEPT, REJECT):
            form.add_error(None, _("Say whether it is accepted or rejected."))
        fits = all([form.is_valid(), rows[TASKS].is_valid()])
        return fits or (decision == REJECT and "reason" not in form.errors)

    def save(form: ProposalForm, rows: dict[str, Rows], by: dict[str, str]) -> Saved:
        if decision == REJECT:
            turn_down(proposal=found, by=By(**by))
            return Saved(to, _("Rejected: there is no project %(code)s.") % {"code": found.code})
        require_write(request, Permission.PROJECT_CREATE)
        made = accept(proposal=found, data=project_data(form, rows[TASKS]), by=By(**by))
        return Saved(to, _("Accepted: project %(code)s has been made.") % {"code": made.code})

    def show(form: ProposalForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        return _show_proposal(request, found, form, rows, invalid=invalid)

    if request.method == "POST":
        require_write(request, Permission.REQUEST_DECIDE)
        return audited_form(request, ProposalForm, save, show, rows=PATTERNS, valid=valid)
    initial, tasks = data_initial(proposed_data(found))
    form = ProposalForm(initial={**initial, "share": found.share})
    return show(form, make_rows(PATTERNS, initial={TASKS: tasks}))


@require_http_methods(READ_OR_WRITE)
def withdraw_proposal(request: HttpRequest, number: int) -> HttpResponse:
    """Take a proposal back: whoever proposed it."""
    found = get_object_or_404(visible_proposals(person(request)), pk=number)
    require_write(request, Permission.PROJECT_PROPOSE)
    if found.asked_by != person(request).username:
        require_write(request, Permission.REQUEST_DECIDE)

    def save(_form: object, _rows: object, by: dict[str, str]) -> Saved:
        take_back(proposal=found, by=By(**by))
        return Saved(reverse("project-requests"), _("The proposal has been withdrawn."))

    def show(form: RequestDecisionForm, _rows: object = None, *, invalid: bool = False) -> HttpResponse:
        context = {"proposal": found, "form": form}
        return render_page(request, "projects/proposal_withdraw.html", context, invalid=invalid)

    if request.method == "POST":
        return audited_form(request, RequestDecisionForm, save, show)
    return show(RequestDecisionForm())


def _show_proposal(
    request: HttpRequest,
    found: ProjectProposal | None,
    form: ProposalForm,
    rows: dict[str, Rows],
    *,
    invalid: bool,
) -> HttpResponse:
    waits = found is not None and found.state == RequestState.WAITING
    may_decide = waits and request.user.has_perm(Permission.REQUEST_DECIDE)
    context = {
        "form": form,
        "tasks": rows[TASKS],
        "project": None,
        "proposal": found,
        "proposing": found is None,
        "may_change": found is None or may_decide,
        "may_decide": may_decide,
        "may_withdraw": waits and found is not None and found.asked_by == person(request).username,
        "points": points_of(found, proposed_data(found)) if found is not None and may_decide else [],
        "changed": differences(found.document, found.became) if found is not None and found.became else [],
        "numbers": [form["size"], form["grade"], form["urgency"]],
    }
    return render_page(request, "projects/proposal.html", context, invalid=invalid)


# --- The rules for projects: the schedule of urgency with its curve, the limits for managers, earlier revisions ---


@require_http_methods(READ_OR_WRITE)
def project_rules(request: HttpRequest) -> HttpResponse:
    """The rules: a form for those who may set them, the same without buttons for the others."""
    require_read(request, Permission.PROJECT_VIEW)

    def save(form: RulesForm, rows: dict[str, Rows], by: dict[str, str]) -> Saved:
        version = form.cleaned_data["version"] or 0
        try:
            change_rules(rules=rules_from(form, rows[STEPS]), version=version, **by)
        except ValidationError as error:
            form.step_faults = error.message_dict.get(STEPS, [])
            error.error_dict.pop(STEPS, None)
            raise
        words = _("The rules have been saved; they count from the next cycle on.")
        return Saved(reverse("project-rules"), words)

    def show(form: RulesForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        schedule = decode_rules(rules_row().document).schedule
        farthest = max((step.days_left for step in schedule.steps), default=14)
        today = clock.today()
        log = AuditEntry.objects.filter(action="project_rules.changed").order_by("-sequence")[:REVISIONS]
        context = {
            "form": form,
            "steps": rows[STEPS],
            "may_change": request.user.has_perm(Permission.PROJECT_RULES),
            "curve": curve_of(schedule, 1.0, today + timedelta(days=farthest + 1), today),
            "revisions": [(entry, first_differences(entry, LISTED)) for entry in log],
        }
        return render_page(request, "projects/rules.html", context, invalid=invalid)

    if request.method == "POST":
        require_write(request, Permission.PROJECT_RULES)
        return audited_form(request, RulesForm, save, show, rows={STEPS: StepForm})
    row = rules_row()
    initial, steps = rules_initial(decode_rules(row.document))
    form = RulesForm(initial={**initial, "version": row.version})
    return show(form, make_rows({STEPS: StepForm}, initial={STEPS: steps}))
