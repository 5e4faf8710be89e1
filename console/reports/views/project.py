"""What became of a project's jobs, and where its people and job names stand: own projects only."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.projects.models import Project
from console.projects.selectors import visible_projects
from console.reports.project_levels import project_levels
from console.reports.project_work import DAYS, project_work
from console.steering.selectors import work_words

SPANS = (1, 3, 7)


@require_safe
def levels(request: HttpRequest, code: str) -> HttpResponse:
    """The levels of members and patterns in each partition."""
    found = _found(request, code)
    context = {"project": found, "standings": project_levels(found)}
    return render(request, "projects/project_levels.html", context)


@require_safe
def work(request: HttpRequest, code: str) -> HttpResponse:
    """What it ran, waited, lost and gained in the last days, `?days=1`, 3 or 7."""
    found = _found(request, code)
    text = request.GET.get("days", "")
    days = int(text) if text in {str(span) for span in SPANS} else DAYS
    done = project_work(found, days)
    shown = {
        "ran": done.ran,
        "lost": done.stopped.lost,
        "kept": done.stopped.kept,
        "others": done.others.lost,
    }
    context = {
        "project": found,
        "work": done,
        "spans": SPANS,
        "words": {name: work_words(each) for name, each in shown.items()},
    }
    return render(request, "projects/project_work.html", context)


def _found(request: HttpRequest, code: str) -> Project:
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    return found
