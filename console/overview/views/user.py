"""One user of the cluster, for whoever may see jobs."""

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Job
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged, without_version
from console.core.lazy import lazy
from console.overview.job_lists import MY_RUNNING, MY_WAITING, fixed_list
from console.overview.selectors import listed_partitions, open_plans
from console.overview.views.home import live_context, observed
from console.projects.models import MemberRole, Membership
from console.reports.mine import my_jobs


@require_safe
def user(request: HttpRequest, user_name: str) -> HttpResponse:
    """Jobs and stops as every list of jobs shows them; levels and quotas for whom the policy is, and oneself."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    if not _is_known(cluster, user_name):
        raise Http404(_("There is no such page, or it is not yours to see."))
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    reader = person(request)
    listed = [row for row in listed_partitions(reader) if row.cluster_id == cluster.pk and row.revision_id]
    found = my_jobs(cluster, user_name, listed)
    open_to = {
        row.name
        for row in listed
        if reader.slurm_user == user_name or reader.has_perm(Permission.POLICY_VIEW, row)
    }
    seen = {row.name for row in listed}
    query = without_version(request.GET)
    context = live_context(cluster) | {
        "user_there": user_name,
        "mine": replace(found, stopped=[each for each in found.stopped if each.plan.partition in seen]),
        "partitions": [each for each in found.partitions if each.name in open_to],
        # The jobs are the same for all readers: what the template makes of them is kept by this.
        "looks_like": f"{user_name} {(cluster.pk, cluster.version)} {sorted(seen)} {query} {get_language()}",
        "waiting_list": lazy(fixed_list, MY_WAITING, found.waiting, request.GET),
        "running_list": lazy(fixed_list, MY_RUNNING, found.running, request.GET),
        "open_plans": lazy(open_plans, cluster),
        "target": "user-now",
        "kept": [(name, value) for name in ("mw_open", "mr_open") for value in request.GET.getlist(name)],
    }
    return render_page(request, "overview/user.html", context)


def _is_known(cluster: Cluster, name: str) -> bool:
    """Whether a job or a project names the user. The cluster's own list of users is not read."""
    if "\0" in name:
        return False
    members = Membership.objects.filter(project__cluster=cluster, role=MemberRole.MEMBER, username=name)
    return Job.objects.filter(cluster=cluster, user=name).exists() or members.exists()
