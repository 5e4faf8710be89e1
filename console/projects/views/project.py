"""Projects: the list, and one project with its inputs and what follows from them."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.concurrent_changes import ChangedSinceError
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status, render_page, wants_part
from console.core.rows import Rows, rearranged, typed_form
from console.projects.changing import ProjectChange, change_as
from console.projects.forms import TASKS, ProjectForm, TaskForm, TaskRows, project_data, project_initial
from console.projects.models import MemberRole, Membership, Project, RequestState, rules_in_force
from console.projects.selectors import (
    names_by_project,
    visible_projects,
    visible_proposals,
    visible_requests,
    with_rules,
)
from console.projects.services import create_project, delete_project

FORM = "projects/project_form.html"
READ_OR_WRITE = ("GET", "HEAD", "POST")


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
    if request.method != "POST":
        return _show(request, ProjectForm(), TaskRows(prefix=TASKS), None)
    return _take(request, None)


@require_http_methods(READ_OR_WRITE)
def project(request: HttpRequest, code: str) -> HttpResponse:
    """One project: its form for those who may change it, the same without buttons for the others."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    if request.method == "POST":
        require_write(request, Permission.PROJECT_CHANGE, found)
        return _take(request, found)
    initial, tasks = project_initial(found)
    return _show(request, ProjectForm(initial=initial), TaskRows(prefix=TASKS, initial=tasks), found)


def _take(request: HttpRequest, found: Project | None) -> HttpResponse:
    """Rearrange the rows, or save."""
    rows = rearranged(request.POST, {TASKS: TaskForm})
    if rows is not None:
        form = ProjectForm(initial=typed_form(request.POST, ProjectForm))
        return _show(request, form, TaskRows(prefix=TASKS, initial=rows[TASKS]), found)
    form = ProjectForm(_with_code(request, found))
    tasks = TaskRows(request.POST, prefix=TASKS)
    if all([form.is_valid(), tasks.is_valid()]):
        outcome = _save(request, form, tasks, found)
        if outcome:
            seen = form.cleaned_data["version"] if found else None
            _told(request, outcome, same=outcome.project.version == seen)
            return go(request, reverse("project", args=[outcome.project.code]))
    return _show(request, form, tasks, found, invalid=True)


def _told(request: HttpRequest, outcome: ProjectChange, *, same: bool) -> None:
    code = {"code": outcome.project.code}
    if outcome.request:
        messages.warning(
            request,
            _("The urgency of %(code)s waits for an administrator's approval; the rest has been saved.")
            % code,
        )
    elif same:
        messages.info(request, _("Nothing was different: project %(code)s stays as it was.") % code)
    else:
        messages.success(request, _("Project %(code)s has been saved.") % code)


def _with_code(request: HttpRequest, found: Project | None) -> Any:
    """The posted values; a project's code stays what it is."""
    data = request.POST.copy()
    if found:
        data["code"] = found.code
    return data


def _save(
    request: HttpRequest, form: ProjectForm, tasks: Rows, found: Project | None
) -> ProjectChange | None:
    """What was saved; None when the service refused, its reasons being in the form by then."""
    by = {"reason": form.cleaned_data["reason"], "request_id": request_id(request)}
    who = person(request)
    try:
        if found is None:
            data = project_data(form, tasks)
            return ProjectChange(create_project(actor=who.username, cluster=shown_cluster(), data=data, **by))
        version = form.cleaned_data["version"] or 0
        data = project_data(form, tasks, found.code)
        return change_as(person=who, project=found, data=data, version=version, **by)
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    return None


def go(request: HttpRequest, to: str) -> HttpResponse:
    """To another page, also from a form that htmx sent."""
    return HttpResponseClientRedirect(to) if wants_part(request) else redirect(to)


def _show(
    request: HttpRequest, form: ProjectForm, tasks: Rows, found: Project | None, *, invalid: bool = False
) -> HttpResponse:
    may_change = found is None or request.user.has_perm(Permission.PROJECT_CHANGE, found)
    if may_change and not request.user.has_perm(Permission.PROJECT_RULES):
        form.mark_limits(rules_in_force().limits)
    context = {
        "form": form,
        "tasks": tasks,
        "project": found,
        "may_change": may_change,
        "may_decide": request.user.has_perm(Permission.REQUEST_DECIDE),
        "may_delete": found is not None and request.user.has_perm(Permission.PROJECT_DELETE, found),
        "numbers": [form["size"], form["grade"], form["urgency"]],
        "invalid": invalid,
    }
    return render_page(request, FORM, context, status=invalid_form_status(request) if invalid else 200)


@require_http_methods(READ_OR_WRITE)
def delete(request: HttpRequest, code: str) -> HttpResponse:
    """Delete a project: a page that says what follows, and asks why."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_write(request, Permission.PROJECT_DELETE, found)
    error = ""
    if request.method == "POST":
        try:
            version = request.POST.get("version", "")
            delete_project(
                actor=person(request).username,
                project=found,
                reason=request.POST.get("reason", ""),
                version=int(version) if version.isdecimal() else 0,
                request_id=request_id(request),
            )
        except ValidationError as refused:
            error = " ".join(refused.messages)
        except ChangedSinceError as refused:
            error = refused.for_people
        else:
            messages.success(request, _("Project %(code)s has been deleted.") % {"code": found.code})
            return redirect("projects")
    context = {"project": found, "error": error, "reason": request.POST.get("reason", "")}
    return render(request, "projects/project_delete.html", context)
