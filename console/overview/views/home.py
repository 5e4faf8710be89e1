"""The overview of all partitions, one node, the preview of a project's levels, and the help."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Node
from console.cluster.selectors import shown_cluster
from console.core import clock
from console.core.htmx import render_page, unchanged
from console.core.lazy import lazy
from console.needs.rows import NeedKind, by_kind
from console.needs.selectors import needs_of
from console.overview import nodepage
from console.overview.forms import read_curve, read_inputs, read_tasks
from console.overview.plots import day_plots
from console.overview.selectors import STALE_S, PartitionState, is_stale, listed_partitions, partition_states
from console.partitions.models import Partition
from console.power.incidents import standing_on
from console.projects.selectors import visible_projects
from console.reports.levels import Inputs, preview
from console.reports.seen import Seen, see
from console.steering.models import Plan
from console.steering.requests import standing_for

LATEST_PLANS = 6


def observed(cluster: Cluster) -> dict[str, Any]:
    """When and in which cycle the cluster was last seen, for the page's script."""
    return {"at": cluster.observed_at.isoformat() if cluster.observed_at else None, "cycle": cluster.cycle}


def live_context(cluster: Cluster) -> dict[str, Any]:
    """What every live page says about the age of what it shows."""
    return {"cluster": cluster, "stale": is_stale(cluster), "stale_s": STALE_S}


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """What needs the person; then each partition as a card."""
    require_read(request, Permission.PARTITION_VIEW)
    cluster = shown_cluster()
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    partitions = [row for row in listed_partitions(person(request)) if row.cluster_id == cluster.pk]
    names = [row.name for row in partitions]
    seen = see(cluster, names)
    needs = needs_of(person(request), cluster, partitions, seen)
    context = live_context(cluster) | {
        "needs": by_kind(needs),
        "needed_incidents": {need.number for need in needs if need.kind == NeedKind.INCIDENT},
        "looks_like": _looks_like(request, cluster, partitions),
        "states": lazy(_states, cluster, partitions, seen),
        "latest": Plan.objects.filter(cluster=cluster).defer("passed_over", "alternatives")[:LATEST_PLANS],
    }
    return render_page(request, "overview/overview.html", context)


def _looks_like(request: HttpRequest, cluster: Cluster, partitions: Sequence[Partition]) -> str:
    """What the cards and the latest plans hang on: they are the same for all of whom this is the same."""
    holds = standing_for(person(request), cluster.name)
    seen = [
        (cluster.pk, cluster.version),
        [(row.pk, row.revision_id) for row in partitions],
        [(each.partition, "paused") for each in holds.pauses],
        [(each.partition, "failing") for each in holds.streaks],
        clock.now().replace(second=0, microsecond=0).isoformat(),
        person(request).has_perm(Permission.INSTALLATION_SET_UP),
    ]
    return f"{seen} {get_language()}"


def _states(cluster: Cluster, partitions: Sequence[Partition], seen: Seen) -> list[PartitionState]:
    days = day_plots(cluster, [row.name for row in partitions])
    return [
        replace(state, day=days.get(state.partition.name, []))
        for state in partition_states(cluster, partitions, seen)
    ]


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """The words of the console, briefly, and the keyboard."""
    return render(request, "overview/help.html")


@require_safe
def node(request: HttpRequest, node_name: str) -> HttpResponse:
    """What it has, who is there and who is expected, for whoever sees one of its partitions."""
    require_read(request, Permission.PARTITION_VIEW)
    cluster = shown_cluster()
    row = Node.objects.filter(cluster=cluster, name=node_name).first()
    visible = {partition.name for partition in listed_partitions(person(request))}
    partitions = [each for each in row.partitions if each in visible] if row else []
    if row is None or not partitions:
        raise Http404(_("There is no such page, or it is not yours to see."))
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    context = live_context(cluster) | {
        "node": row,
        "partitions": partitions,
        "units": nodepage.units(row, partitions),
        "capacities": nodepage.capacities(row),
        "there": nodepage.jobs_there(cluster, node_name, partitions),
        "coming": nodepage.coming(cluster, node_name, partitions),
        "incidents": standing_on(cluster, [node_name]),
        "processors": nodepage.processors(cluster, node_name),
    }
    return render_page(request, "overview/node.html", context)


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
