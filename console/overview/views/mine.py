"""What a user of the cluster asks first: my jobs, my levels, my quotas."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.elastic import WorkerCounter
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged
from console.overview.job_lists import MY_RUNNING, MY_WAITING, fixed_list
from console.overview.selectors import listed_partitions, open_plans
from console.overview.views.home import live_context, observed
from console.overview.workers import missing_for
from console.partitions.selectors import task_types_in
from console.projects.selectors import elastic_patterns
from console.reports.mine import my_jobs


@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """The page, live. Whose jobs these are follows from the account and from nothing in the address."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    user = person(request).slurm_user
    listed = listed_partitions(person(request))
    partitions = [row for row in listed if row.cluster_id == cluster.pk and row.revision_id]
    found = my_jobs(cluster, user, partitions)
    counter = WorkerCounter(cluster, task_types_in(partitions), elastic_patterns(cluster))
    said = counter.worth_telling([*found.running, *found.waiting])
    missing = missing_for(cluster, said)
    context = live_context(cluster) | {
        "user_there": user,
        "mine": found,
        "said_of_jobs": [(each, missing.get(each.job.group or each.job.job_id, "")) for each in said],
        "waiting_list": fixed_list(MY_WAITING, found.waiting, request.GET),
        "running_list": fixed_list(MY_RUNNING, found.running, request.GET),
        "open_plans": open_plans(cluster),
        "target": "my-jobs",
        "kept": [(name, value) for name in ("mw_open", "mr_open") for value in request.GET.getlist(name)],
    }
    return render_page(request, "overview/mine.html", context)
