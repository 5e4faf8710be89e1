"""All jobs, one with its story, and those of a user: one's own (`my-jobs`), or anybody's."""

from dataclasses import replace
from typing import TypeGuard
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.elastic import WorkerCounter
from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged, without_version
from console.core.lazy import lazy
from console.overview import job_lists
from console.overview.finding import find
from console.overview.job_lists import MY_RUNNING, MY_WAITING, STATES, JobFilter, fixed_list, kept_parameters
from console.overview.selectors import listed_partitions, open_plans
from console.overview.stories import life_of, tell
from console.overview.views.home import live_context, observed
from console.overview.workers import missing_for, workers_plot
from console.partitions.selectors import task_types_in
from console.power.selectors import set_of
from console.projects.models import MemberRole, Membership
from console.projects.selectors import elastic_patterns
from console.reports.mine import my_jobs
from console.starts.queue_replay import MOST_WAITING
from console.starts.selectors import expected_starts, forecast_and_risk
from console.steering.explanations import explain, read, rows_of, tasks_of

KEPT_PARAMETERS = ("j_sort", "j_page", "j_col", "j_open")


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """Jobs of all partitions; a search for exactly one job's number leads straight to it."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    wanted = JobFilter.read(request.GET)
    listed = listed_partitions(person(request))
    names = [row.name for row in listed]
    rows = Job.objects.filter(cluster=cluster, partition__in=names)
    if wanted.text and "phase" not in request.GET and rows.filter(job_id=wanted.text).exists():
        return redirect("job", job_id=wanted.text)
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    context = live_context(cluster) | {
        "jobs": job_lists.read_list(request.GET, job_lists.EVERY, wanted.apply(rows, "user_level")),
        "open_plans": open_plans(cluster),
        "filter": wanted,
        "phases": [(value, label) for value, (label, _jobs) in STATES.items()],
        "names": names,
        "global_search": wanted.text,
        "found": find(person(request), cluster, wanted.text, listed) if wanted.text else [],
        "target": "job-list",
        "kept": kept_parameters(request.GET, *KEPT_PARAMETERS),
    }
    return render_page(request, "overview/jobs.html", context)


@require_safe
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """One job, for whoever it concerns: why it waits or was stopped, its levels, and its story.

    What Giveway has kept is shown also when Slurm and the mirror have forgotten the job.
    """
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    partitions = listed_partitions(person(request))
    rows, visible = rows_of(cluster, job_id), {row.name for row in partitions}
    if rows and not any(row.partition in visible for row in rows):
        raise Http404(_("There is no such page, or it is not yours to see."))
    for row in rows:
        require_read(request, Permission.JOB_VIEW, row)
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    known = read(cluster, job_id, rows, partitions)
    if not known.anything:
        return _array_or_nothing(request, cluster, job_id)
    counter = WorkerCounter(cluster, task_types_in(partitions), elastic_patterns(cluster))
    said = counter.said_of(known.row) if known.row else None
    forecast, risk = forecast_and_risk(cluster, known.row) if _is_there(known.row) else (None, None)
    context = live_context(cluster) | {
        "rows": known.rows,
        "job": known.row,
        "said": said,
        "workers": workers_plot(said, cluster) if said else None,
        "missing": missing_for(cluster, [said]).get(said.job.group or job_id, "") if said else "",
        "forecast": forecast,
        "start": expected_starts(cluster, [known.row]).get(job_id) if _is_there(known.row) else None,
        "risk": risk,
        "job_set": set_of(cluster, known.row.partition, known.row.alloc) if _is_there(known.row) else None,
        "most_forecast": MOST_WAITING,
        "answer": explain(known),
        "life": life_of(known),
        "events": tell(known),
        "open_plans": known.open_plans,
    }
    return render_page(request, "overview/job.html", context)


def _is_there(row: Job | None) -> TypeGuard[Job]:
    return row is not None and row.phase != JobPhase.ENDED


def _array_or_nothing(request: HttpRequest, cluster: Cluster, job_id: str) -> HttpResponse:
    """The number of an array leads to its tasks."""
    if tasks_of(cluster, job_id):
        return redirect(f"{reverse('jobs')}?{urlencode({'q': f'{job_id}_'})}")
    raise Http404(_("Giveway knows no such job."))


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
