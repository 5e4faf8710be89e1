"""What was changed in a project, when, by whom and why, in words: the rows of the audit log about it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.audit.registry import ACTIONS
from console.audit.selectors import first_differences, visible_entries
from console.core.templatetags.cut import LISTED
from console.projects.selectors import visible_projects

PAGE_SIZE = 30


@require_safe
def project_history(request: HttpRequest, code: str) -> HttpResponse:
    """The changes, the newest first; `?before=<row>` pages on from there."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    rows = visible_entries(person(request)).filter(cluster=found.cluster.name, project=found.code)
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        rows = rows.filter(sequence__lt=int(before))
    shown = list(rows.order_by("-sequence")[: PAGE_SIZE + 1])
    lines = [
        {
            "entry": entry,
            "label": ACTIONS[entry.action].label if entry.action in ACTIONS else entry.action,
            "differences": first_differences(entry, LISTED),
        }
        for entry in shown[:PAGE_SIZE]
    ]
    context = {
        "project": found,
        "lines": lines,
        "next_before": shown[PAGE_SIZE - 1].sequence if len(shown) > PAGE_SIZE else None,
        "paged": bool(before),
    }
    return render(request, "projects/project_history.html", context)
