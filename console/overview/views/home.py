"""The overview of all partitions, and the help."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged
from console.needs.rows import NeedKind, by_kind
from console.needs.selectors import needs_of
from console.overview.days import day_plots
from console.overview.selectors import STALE_S, is_stale, listed_partitions, partition_states
from console.reports.seen import see
from console.steering.models import Plan

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
    days = day_plots(cluster, names)
    needs = needs_of(person(request), cluster, partitions, seen)
    context = live_context(cluster) | {
        "needs": by_kind(needs),
        "needed_incidents": {need.number for need in needs if need.kind == NeedKind.INCIDENT},
        "states": [
            replace(state, day=days.get(state.partition.name, []))
            for state in partition_states(cluster, partitions, seen)
        ],
        "latest": Plan.objects.filter(cluster=cluster).defer("passed_over", "alternatives")[:LATEST_PLANS],
    }
    return render_page(request, "overview/overview.html", context)


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """The words of the console, briefly, and the keyboard."""
    return render(request, "overview/help.html")
