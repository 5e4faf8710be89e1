"""The whole history of a job or a project on one page."""

from datetime import datetime
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Job
from console.cluster.selectors import shown_cluster
from console.partitions.selectors import visible_partitions
from console.projects.selectors import visible_projects
from console.steering.histories import History, job_history, project_history


@require_safe
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """What is kept of a job, also when Slurm has forgotten it."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    rows = Job.objects.filter(cluster=cluster, job_id=job_id)
    visible = set(visible_partitions(person(request)).values_list("name", flat=True))
    seen = list(rows.values_list("partition", flat=True))
    if seen and not visible.intersection(seen):
        raise Http404(_("There is no such page, or it is not yours to see."))
    history = job_history(request.user, cluster, job_id, _until(request))
    if not seen and not history.moments:
        raise Http404(_("Giveway knows no such job."))
    back = reverse("job", args=[job_id]) if seen else ""
    return _page(request, history, title=_("Job %s") % job_id, back=back, filters=urlencode({"job": job_id}))


@require_safe
def project(request: HttpRequest, code: str) -> HttpResponse:
    """Changes of a project, and what became of its jobs; of one that was deleted, for those who read the whole log."""
    found = visible_projects(person(request)).filter(code=code).first()
    require_read(request, Permission.PROJECT_VIEW if found else Permission.AUDIT_VIEW_ALL, found)
    history = project_history(request.user, shown_cluster(), code, _until(request))
    if found is None and not history.moments:
        raise Http404(_("There is no such project, and never was."))
    back = reverse("project", args=[code]) if found else ""
    return _page(
        request, history, title=_("Project %s") % code, back=back, filters=urlencode({"project": code})
    )


def _page(request: HttpRequest, history: History, *, title: str, back: str, filters: str) -> HttpResponse:
    audit = request.user.has_perm(Permission.AUDIT_VIEW)
    context = {
        "history": history,
        "subject": title,
        "back": back,
        "in_log": f"{reverse('audit')}?{filters}" if audit else "",
        "sees_all": request.user.has_perm(Permission.AUDIT_VIEW_ALL),
    }
    return render(request, "steering/history.html", context)


def _until(request: HttpRequest) -> datetime | None:
    """`?until=` as the pages write it; the newest page for anything else."""
    try:
        until = parse_datetime(request.GET.get("until", ""))
    except ValueError:
        return None
    return until if until is not None and until.tzinfo is not None else None
