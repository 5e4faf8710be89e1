"""All jobs, and the story of one."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Job, JobPhase
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged
from console.overview import joblists
from console.overview.selectors import open_plans
from console.overview.stories import tell
from console.overview.views.home import live_context, observed
from console.partitions.selectors import visible_partitions

KEPT_PARAMETERS = ("q", "phase", "j_sort", "j_page")


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """Jobs of all partitions; a search for exactly one job's number leads straight to it."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    wanted = joblists.JobFilter.read(request.GET)
    rows = Job.objects.filter(cluster=cluster, partition__in=_visible_names(request))
    if wanted.text and "phase" not in request.GET and rows.filter(job_id=wanted.text).exists():
        return redirect("job", job_id=wanted.text)
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    phase = request.GET.get("phase", "")
    rows = rows.filter(phase=phase) if phase in JobPhase.values else rows
    context = live_context(cluster) | {
        "jobs": joblists.read_list(request.GET, joblists.EVERY, wanted.apply(rows, "user_level")),
        "open_plans": open_plans(cluster),
        "filter": wanted,
        "phase": phase,
        "phases": JobPhase.choices,
        "global_search": wanted.text,
        "target": "job-list",
        "kept": [(key, request.GET[key]) for key in KEPT_PARAMETERS if request.GET.get(key)],
    }
    return render_page(request, "overview/jobs.html", context)


def _visible_names(request: HttpRequest) -> list[str]:
    return list(visible_partitions(person(request)).values_list("name", flat=True))


@require_safe
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """One job, in every partition it is in: levels, why it waits, and its story."""
    cluster = shown_cluster()
    rows = list(Job.objects.filter(cluster=cluster, job_id=job_id, partition__in=_visible_names(request)))
    if not rows:
        raise Http404(_("No such job, or it ended long ago."))
    for row in rows:
        require_read(request, Permission.JOB_VIEW, row)
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    context = live_context(cluster) | {
        "rows": rows,
        "job": rows[0],
        "story": tell(cluster, job_id, rows),
        "open_plans": open_plans(cluster),
    }
    return render_page(request, "overview/job.html", context)
