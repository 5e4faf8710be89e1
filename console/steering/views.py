"""Plans: who was stopped for whom, why, and how it went."""

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.core.htmx import STOP_POLLING, render_page, unchanged
from console.partitions.selectors import policy_of, visible_partitions
from console.steering.models import OPEN_STATES, Plan, PlanState

PAGE_SIZE = 50


def _visible(request: HttpRequest) -> QuerySet[Plan]:
    require_read(request, Permission.PLAN_VIEW)
    partitions = visible_partitions(person(request))
    return Plan.objects.filter(
        partition__in=partitions.values("name"), cluster__in=partitions.values("cluster")
    )


@require_safe
def plans(request: HttpRequest) -> HttpResponse:
    """All plans, newest first, by partition and state."""
    rows = _visible(request)
    partition, state = request.GET.get("partition", ""), request.GET.get("state", "")
    if partition:
        rows = rows.filter(partition=partition)
    if state == "open":
        rows = rows.filter(state__in=OPEN_STATES)
    elif state in PlanState.values:
        rows = rows.filter(state=state)
    context = {
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
        "partition": partition,
        "state": state,
        "states": PlanState.choices,
        "target": "plan-list",
    }
    return render_page(request, "steering/plans.html", context)


@require_safe
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """One plan: beneficiary, victims, steps with their states and times, and how it ended."""
    row = get_object_or_404(_visible(request).select_related("cluster", "cycle"), pk=pk)
    require_read(request, Permission.PLAN_VIEW, row)
    cluster = row.cluster
    observed = {
        "at": cluster.observed_at.isoformat() if cluster.observed_at else None,
        "cycle": cluster.cycle,
    }
    over = row.state not in OPEN_STATES
    nothing_new = None if over else unchanged(request, cluster.version, observed)
    if nothing_new:
        return nothing_new
    context = {
        "plan": row,
        "cluster": cluster,
        "over": over,
        "steps": list(row.actions.all()),
        "ranks": _level_ranks(request, row),
    }
    status = STOP_POLLING if over and "since" in request.GET else 200
    return render_page(request, "steering/plan.html", context, status=status)


def _level_ranks(request: HttpRequest, row: Plan) -> dict[str, int]:
    """The ranks of the partition's levels by name: a plan keeps names only, colours follow the rank."""
    partition = visible_partitions(person(request)).filter(cluster=row.cluster_id, name=row.partition).first()
    if partition is None or partition.revision is None:
        return {}
    return {rule.name: rank for rank, rule in enumerate(policy_of(partition).levels)}


@require_safe
def snapshot(request: HttpRequest, pk: int) -> HttpResponse:
    """The decision's whole input (contract A): `python -m scheduler plan` decides it again."""
    row = get_object_or_404(_visible(request).select_related("stored_snapshot"), pk=pk)
    require_read(request, Permission.PLAN_VIEW, row)
    if row.stored_snapshot is None:
        raise Http404(_("This plan's snapshot has not been kept."))
    response = JsonResponse(
        row.stored_snapshot.document, json_dumps_params={"indent": 1, "ensure_ascii": False}
    )
    response["Content-Disposition"] = f'attachment; filename="plan-{row.pk}-snapshot.json"'
    return response
