"""The step from Slurm's accounts and partitions to projects and levels."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import told
from console.cluster.models import Cluster
from console.core.fields import add_errors
from console.core.htmx import render_page
from console.core.rows import Rows
from console.partitions.selectors import policy_of
from console.projects.selectors import core_projects
from console.projects.services import ProjectData
from console.setup import selectors
from console.setup.forms import LevelRows, ProjectRow, ProjectRows, ReasonForm
from console.setup.levels import previewed, starting_levels, typed_levels
from console.setup.services import give_levels, import_project
from console.setup.views.steps import step_context

PAGE = "setup/import.html"
MOST_PROPOSED = 100
"""Accounts on one page; Django takes a thousand fields in a form."""


@require_http_methods(["GET", "HEAD", "POST"])
def import_(request: HttpRequest) -> HttpResponse:
    """Projects for the Slurm accounts that are seen, and levels to begin with, previewed as they are typed."""
    context = step_context(request, "import")
    where = context["cluster"]
    if request.method != "POST":
        return _show(request, context)
    if "projects" in request.POST:
        form, rows = ReasonForm(request.POST), ProjectRows(request.POST, prefix="projects")
        if all([form.is_valid(), rows.is_valid()]) and _import_projects(request, form, rows, where):
            return redirect("setup-import")
        return _show(request, context | {"form": form, "rows": rows})
    levels = LevelRows(request.POST, prefix="levels")
    if "levels" in request.POST and _give_levels(request, levels, where):
        return redirect("setup-import")
    return _show(request, context | {"levels": levels})


def _show(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    where = context["cluster"]
    accounting = selectors.accounting(where)
    found = selectors.unknown_accounts(where, accounting)
    rows = context.get("rows") or ProjectRows(prefix="projects", initial=_proposals(found[:MOST_PROPOSED]))
    known = {each.name: each for each in found}
    for row in rows.forms:
        row.found = known.get(row["account"].value())
    more = {
        "told": accounting,
        "left": max(0, len(found) - MOST_PROPOSED),
        "form": context.get("form") or ReasonForm(),
        "rows": rows,
        "partitions": selectors.partitions(where),
        "bare": selectors.without_levels(where),
        "chosen": request.POST.getlist("partition"),
        "reason": request.POST.get("reason"),
    }
    return render_page(request, PAGE, context | more | _levels(where, context.get("levels")))


def _levels(where: Cluster, typed: Rows | None) -> dict[str, Any]:
    """The rows of the levels, where everybody would stand by them, and where everybody stands where there are some."""
    projects = core_projects(where)
    if typed is None:
        rules = starting_levels(projects)
        initial = [
            {"name": rule.name, "min_score": rule.min_score, "keyword": rule.keyword} for rule in rules
        ]
        shown: Any = {
            "levels": LevelRows(prefix="levels", initial=initial),
            "preview": previewed(projects, rules),
        }
    else:
        wanted = typed_levels(typed) if typed.is_valid() else None
        shown = {"levels": typed, "preview": None if wanted is None else previewed(projects, wanted)}
    standing = [
        (row, previewed(projects, policy.levels))
        for row in selectors.partitions(where)
        if (policy := policy_of(row)).levels
    ]
    return {**shown, "standing": standing, "any_project": bool(projects)}


def _give_levels(request: HttpRequest, rows: Rows, where: Cluster) -> bool:
    """Put the typed levels in force on the chosen partitions; else what is at fault stands beside its field."""
    form = ReasonForm(request.POST)
    wanted = typed_levels(rows) if rows.is_valid() else None
    if not form.is_valid():
        messages.error(request, _("Say why; it stands in the audit log."))
    elif wanted is not None:
        chosen = set(request.POST.getlist("partition"))
        partitions = [each for each in selectors.without_levels(where) if each.name in chosen]
        if not wanted or not partitions:
            messages.error(request, _("Nothing was chosen."))
            return False
        try:
            count = give_levels(partitions=partitions, levels=wanted, **told(request, form))
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return False
        messages.success(request, _("%(n)d partitions have levels now, still in shadow.") % {"n": count})
        return True
    return False


def _proposals(found: list[selectors.UnclaimedAccount]) -> list[dict[str, Any]]:
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
                import_project(cluster=where, data=_data(row), **told(request, form))
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
