"""The steps of the first minutes, for administrators. Every one can be put off and come back to."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.fields import add_errors
from console.projects.services import ProjectData
from console.setup import selectors
from console.setup.asking import ask, put_off
from console.setup.forms import InviteForm, ProjectRow, ProjectRows, ReasonForm, WithdrawForm
from console.setup.importing import give_levels, import_project
from console.setup.inviting import Guest, SpentError, invite, withdraw
from console.setup.mailing import mail

MOST_PROPOSED = 100
"""Accounts on one page; Django takes a thousand fields in a form."""


def _context(request: HttpRequest, step: str = "") -> dict[str, Any]:
    """The steps with where one is; 404 for everybody but administrators."""
    require_read(request, Permission.INSTALLATION_SET_UP)
    cluster = shown_cluster()
    return {"cluster": cluster, "steps": selectors.steps(cluster), "step": step}


def _by(request: HttpRequest, form: Any) -> dict[str, str]:
    return {
        "actor": person(request).username,
        "reason": form.cleaned_data["reason"],
        "request_id": request_id(request),
    }


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """All steps, and which is next."""
    return render(request, "setup/setup.html", _context(request))


@require_POST
def later(request: HttpRequest) -> HttpResponse:
    """Put a step off, or take it up again."""
    require_write(request, Permission.INSTALLATION_SET_UP)
    step = request.POST.get("step", "")
    if step in {key for key, _title, _about in selectors.STEPS}:
        put_off(step, person(request).username)
    return redirect("setup")


@require_http_methods(["GET", "HEAD", "POST"])
def cluster(request: HttpRequest) -> HttpResponse:
    """What the worker finds when it looks at the cluster and at itself, and what to do about it."""
    context = _context(request, "cluster")
    if request.method == "POST":
        ask(context["cluster"])
        messages.success(request, _("The worker has been asked; it answers within seconds."))
        return redirect("setup-cluster")
    found = selectors.examination(context["cluster"])
    levels = {"FAIL": 0, "WARN": 1, "OK": 2}
    findings = sorted(found.findings if found else [], key=lambda each: levels[each["level"]])
    return render(request, "setup/cluster.html", context | {"examination": found, "findings": findings})


@require_http_methods(["GET", "HEAD", "POST"])
def import_(request: HttpRequest) -> HttpResponse:
    """Levels to begin with, and projects for the Slurm accounts that are seen."""
    context = _context(request, "import")
    where = context["cluster"]
    form, rows = ReasonForm(request.POST or None), None
    if request.method == "POST" and "levels" in request.POST and form.is_valid():
        chosen = set(request.POST.getlist("partition"))
        partitions = [each for each in selectors.without_levels(where) if each.name in chosen]
        count = give_levels(partitions=partitions, **_by(request, form))
        messages.success(request, _("%(n)d partitions have levels now, still in shadow.") % {"n": count})
        return redirect("setup-import")
    if request.method == "POST" and "projects" in request.POST:
        rows = ProjectRows(request.POST, prefix="projects")
        if all([form.is_valid(), rows.is_valid()]) and _import_projects(request, form, rows, where):
            return redirect("setup-import")
    told = selectors.accounting(where)
    found = selectors.unknown_accounts(where, told)
    if rows is None:
        rows = ProjectRows(prefix="projects", initial=_proposals(found[:MOST_PROPOSED]))
    known = {each.name: each for each in found}
    for row in rows.forms:
        row.found = known.get(row["account"].value())
    more = {
        "told": told,
        "left": max(0, len(found) - MOST_PROPOSED),
        "form": form,
        "rows": rows,
        "partitions": selectors.partitions(where),
        "bare": selectors.without_levels(where),
    }
    return render(request, "setup/import.html", context | more)


def _proposals(found: list[selectors.Account]) -> list[dict[str, Any]]:
    """A row for each account; the numbers are everybody's to begin with."""
    return [
        {
            "account": each.name,
            "code": each.name,
            "size": 1.0,
            "grade": 1.0,
            "urgency": 1.0,
            "members": ", ".join(each.users),
        }
        for each in found
    ]


def _import_projects(request: HttpRequest, form: ReasonForm, rows: Any, where: Any) -> bool:
    """Create all that was chosen, or nothing: what is at fault stands beside its field then."""
    chosen = [row for row in rows.forms if row.cleaned_data.get("take")]
    if not chosen:
        form.add_error(None, _("Nothing was chosen."))
        return False
    with transaction.atomic():
        for row in chosen:
            try:
                import_project(cluster=where, data=_data(row), **_by(request, form))
            except ValidationError as error:
                add_errors(row, error.message_dict.items())
        if any(row.errors for row in chosen):
            transaction.set_rollback(True)
            return False
    messages.success(request, _("%(n)d projects were created.") % {"n": len(chosen)})
    return True


def _data(row: ProjectRow) -> ProjectData:
    values = row.cleaned_data
    missing = [name for name in ("size", "grade", "urgency") if values.get(name) is None]
    if missing:
        raise ValidationError({name: [_("Enter a number.")] for name in missing})
    return ProjectData(
        code=values["code"] or values["account"],
        name=values["code"] or values["account"],
        size=values["size"],
        grade=values["grade"],
        urgency=values["urgency"],
        slurm_account=values["account"],
        members=values["members"],
    )


@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """Invite somebody; the link is shown once."""
    context = _context(request, "people")
    form = InviteForm(request.POST or None, cluster=context["cluster"])
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        guest = Guest(
            values["username"], values["role"], values["email"], values["days"],
            tuple(values["partitions"]), tuple(values["projects"]),
        )  # fmt: skip
        try:
            row, key = invite(guest=guest, **_by(request, form))
        except ValidationError as error:
            add_errors(form, error.message_dict.items())
        else:
            link = request.build_absolute_uri(f"/invitation/?key={key}")
            context |= {"invited": row, "link": link, "mailed": mail(row, link)}
            form = InviteForm(cluster=context["cluster"])
    context |= {"form": form, "invitations": selectors.open_invitations()}
    return render(request, "setup/people.html", context)


@require_POST
def withdraw_invitation(request: HttpRequest) -> HttpResponse:
    """Take an invitation back."""
    require_write(request, Permission.INSTALLATION_SET_UP)
    form = WithdrawForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Say why; it stands in the audit log."))
        return redirect("setup-people")
    try:
        withdraw(invitation=form.cleaned_data["invitation"], **_by(request, form))
    except SpentError:
        messages.error(request, _("This invitation was used or has ended already."))
    else:
        messages.success(request, _("The link counts no more."))
    return redirect("setup-people")


@require_safe
def shadow(request: HttpRequest) -> HttpResponse:
    """What runs in shadow, and what to look at before anything is enforced."""
    context = _context(request, "shadow")
    more = {"partitions": selectors.partitions(context["cluster"])}
    return render(request, "setup/shadow.html", context | more)
