"""What a project's form would come to, computed here while it is typed."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.overview.forms import read_curve, read_inputs, read_tasks
from console.projects.selectors import visible_projects
from console.reports.levels import Inputs, preview


@require_POST
def levels_preview(request: HttpRequest) -> HttpResponse:
    """The panel beside the form of a project; changes nothing (a post because it carries the whole form)."""
    require_read(request, Permission.PROJECT_VIEW)
    code = request.POST.get("code", "")
    saved = visible_projects(person(request)).filter(code=code).first() if code else None
    typed = request.POST.dict()
    found = preview(
        saved.cluster if saved else shown_cluster(),
        read_inputs(typed),
        read_tasks(typed),
        code=saved.code if saved else "",
        present=Inputs(saved.size, saved.grade, saved.urgency_now) if saved else None,
    )
    return render(request, "overview/_levels_preview.html", {"preview": found, "curve": read_curve(typed)})
