"""A partition now: capacity by node, who runs, who waits and why, the latest plans."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.html import json_script
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import SeenNode, seen_nodes
from console.core.htmx import unchanged
from console.core.in_parts import render_in_parts
from console.core.lazy import lazy
from console.overview import job_lists
from console.overview.job_lists import STATES, JobFilter, kept_parameters
from console.overview.nodemap import NodeView, Squaring, held_jobs, moves_of, read_nodes
from console.overview.openplans import under_way
from console.overview.selectors import (
    HELD_PHASES,
    PartitionState,
    listed_partitions,
    partition_states,
)
from console.overview.views.home import live_context, observed
from console.overview.workers import takeable_jobs
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.reports.immune import NOBODY, immune_parts
from console.reports.lane_bars import kept_places
from console.reports.lanes import FirstLanes
from console.reports.seen import Seen, job_counts, level_field
from console.reports.squares import SquareSource
from console.steering.models import KeptPlace, Plan

LATEST_PLANS = 8
IMMUNE_USERS = 20
KEPT_PARAMETERS = (
    "n_page",
    "nodes",
    "map",
    "by",
    "w_sort",
    "w_page",
    "w_col",
    "w_open",
    "r_sort",
    "r_page",
    "r_col",
    "r_open",
)
PHASES = [(value, STATES[value][0]) for value in STATES if value != JobPhase.ENDED]


@require_safe
def partition_now(request: HttpRequest, name: str) -> HttpResponseBase:
    """The page, live: `?since=<version>` answers 204 while nothing has changed."""
    found = (row for row in listed_partitions(person(request)) if row.name == name and row.revision_id)
    partition = next(found, None)
    if partition is None:
        raise Http404(_("There is no such page, or it is not yours to see."))
    require_read(request, Permission.PARTITION_VIEW, partition)
    cluster: Cluster = partition.cluster
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    nodes = seen_nodes(cluster)
    top = _top(request, partition, nodes)
    first: FirstLanes = top["first_lanes"]
    return render_in_parts(
        request,
        "overview/partition.html",
        "partition-now",
        top=live_context(cluster) | top,
        rest=lambda: _rest(request, partition, nodes),
        # Of few nodes the lanes are asked for at once: it is all of them, and the page would wait for as many bars.
        beforehand={}
        if first.rows is None
        else {
            "lanes_in_page": lambda: json_script(first.document(partition, top["lane_nodes"]), "lanes-first")
        },
    )


def _top(request: HttpRequest, partition: Partition, nodes: list[SeenNode]) -> dict[str, Any]:
    """What stands around the part that is live: the filters, and the lanes, which ask for their own data."""
    lane_nodes = [node for node in nodes if partition.name in node.partitions]
    return {
        "partition": partition,
        "policy": policy_of(partition),
        "lane_nodes": lane_nodes,
        "first_lanes": FirstLanes.of(len(lane_nodes)),
        "tab": "now",
        "may_see_policy": request.user.has_perm(Permission.POLICY_VIEW, partition),
        "phases": PHASES,
        "filter": JobFilter.read(request.GET),
        "kept": kept_parameters(request.GET, *KEPT_PARAMETERS),
    }


def _rest(request: HttpRequest, partition: Partition, nodes: list[SeenNode]) -> dict[str, Any]:
    """What is asked for again and again."""
    seen = Seen(nodes, job_counts(partition.cluster, [partition.name]))
    [state] = partition_states(partition.cluster, [partition], seen)
    going, more = under_way(state.plans)
    plans = Plan.objects.filter(cluster=partition.cluster_id, partition=partition.name)
    return {
        "state": state,
        "under_way": going,
        "more_under_way": more,
        "target": "partition-now",
        "open_plans": {plan.pk: plan for plan in state.plans},
        "latest": plans[:LATEST_PLANS],
        **_immune(partition, state),
        **_same_for_all(request, partition, state),
    }


def _same_for_all(request: HttpRequest, partition: Partition, state: PartitionState) -> dict[str, Any]:
    """The map and the lists: the same for everybody with this address, as long as nothing has changed.

    They are most of the page. The template keeps what it makes of them by `looks_like`, so that of ten people who
    watch a partition one waits for it; what is kept already is not read again.
    """
    axis = level_field(state.policy.mode)
    jobs = Job.objects.filter(cluster=partition.cluster_id, partition=partition.name)
    wanted = JobFilter.read(request.GET)
    held, waiting = jobs.filter(phase__in=HELD_PHASES), jobs.filter(phase=JobPhase.PENDING)
    query = request.GET.copy()
    query.pop("since", None)
    kept = kept_places(partition, state.policy)

    def known(
        phases: tuple[JobPhase, ...],
        total: int,
        levels: Mapping[job_lists.Levels, int] = MappingProxyType({}),
    ) -> job_lists.KnownList:
        grouped = not state.grouped.isdisjoint(phases)
        if wanted.active:
            return job_lists.KnownList(grouped)
        return job_lists.KnownList(grouped, total, levels)

    seen = [
        partition.pk,
        partition.cluster.version,
        partition.revision_id,
        [(row.pk, row.until) for row in kept],
    ]
    return {
        "looks_like": f"{seen} {get_language()} {query.urlencode()}",
        "nodes": lazy(_nodes, request, partition, state, kept, held),
        "waiting": lazy(
            job_lists.read_list,
            request.GET,
            job_lists.WAITING,
            wanted.apply(waiting, axis),
            known((JobPhase.PENDING,), state.waiting_total),
        ),
        "running": lazy(
            job_lists.read_list,
            request.GET,
            job_lists.RUNNING,
            wanted.apply(held, axis),
            known(HELD_PHASES, state.running, state.running_levels),
        ),
    }


def _nodes(
    request: HttpRequest,
    partition: Partition,
    state: PartitionState,
    kept: list[KeptPlace],
    held: QuerySet[Job],
) -> NodeView:
    """The map, as the address asks for it."""
    axis, grouped = level_field(state.policy.mode), not state.grouped.isdisjoint(HELD_PHASES)
    return read_nodes(
        request.GET,
        state.nodes,
        lambda names: held_jobs(held, axis, names),
        names=[rule.name for rule in state.policy.levels],
        moves=lambda jobs: moves_of(
            state.plans,
            kept,
            takeable_jobs(partition, [job.job_id for job in jobs if len(job.alloc) > 1], grouped=grouped),
        ),
        squaring=Squaring(
            lambda by: SquareSource.of(partition, state.policy).scale(by, state.nodes),
            lambda node: node.unit_in(partition.name),
        ),
    )


def _immune(partition: Partition, state: PartitionState) -> dict[str, Any]:
    """What nobody can stop; asked for only where there is some."""
    immune = NOBODY
    if state.immune:
        immune = immune_parts(partition.cluster, [partition.name], state.nodes).get(partition.name, NOBODY)
    return {
        "immune": immune,
        "immune_users": immune.users[:IMMUNE_USERS],
        "immune_more": max(0, len(immune.users) - IMMUNE_USERS),
    }
