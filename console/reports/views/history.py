"""The whole history of a job or a project on one page."""

from datetime import datetime
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.fields import within_time
from console.reports.histories import History, HistorySpan, job_history, project_history

EACH = 50
"""Things of each kind that a page shows at most; each may have a list of what it has changed."""


@require_safe
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """What is kept of a job, also when Slurm has forgotten it."""
    history = job_history(request.user, shown_cluster(), job_id, _span(request))
    back, filters = reverse("job", args=[job_id]), urlencode({"job": job_id})
    return _page(request, history, title=_("Job %s") % job_id, back=back, filters=filters)


@require_safe
def project(request: HttpRequest, code: str) -> HttpResponse:
    """Changes of a project, and what became of its jobs."""
    history = project_history(request.user, shown_cluster(), code, _span(request))
    back, filters = reverse("project", args=[code]), urlencode({"project": code})
    return _page(request, history, title=_("Project %s") % code, back=back, filters=filters)


def _page(
    request: HttpRequest, history: History | None, *, title: str, back: str, filters: str
) -> HttpResponse:
    if history is None:
        raise Http404(_("There is no such page, or it is not yours to see."))
    audit = request.user.has_perm(Permission.AUDIT_VIEW)
    context = {
        "history": history,
        "subject": title,
        "back": back if history.there else "",
        "in_log": f"{reverse('audit')}?{filters}" if audit else "",
        "sees_all": request.user.has_perm(Permission.AUDIT_VIEW_ALL),
    }
    return render(request, "reports/history.html", context)


def _span(request: HttpRequest) -> HistorySpan:
    return HistorySpan(until=_until(request), each=EACH)


def _until(request: HttpRequest) -> datetime | None:
    """`?until=` as the pages write it; the newest page for anything else."""
    try:
        until = parse_datetime(request.GET.get("until", ""))
        return within_time(until) if until is not None and until.tzinfo is not None else None
    except ValueError:
        return None
