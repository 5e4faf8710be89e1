"""Plans: who was stopped for whom, why, and how it went; and a person's decision where the partition asks for one."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.cluster.selectors import shown_cluster
from console.core.fields import add_errors
from console.core.htmx import STOP_POLLING, UNPROCESSABLE, render_page, unchanged, wants_part
from console.core.l10n_format import in_a_row
from console.partitions.selectors import policy_of, visible_partitions
from console.steering import selectors
from console.steering.folded_losses import OPENED, loss_rows
from console.steering.forms import APPROVE, INSTEAD, REJECT, DecisionForm
from console.steering.models import OPEN_STATES, Plan, PlanState
from console.steering.operations.approving import OutOfDateError, approve, reject
from console.steering.operations.differences import since_opened, since_read
from console.steering.operations.requests import ApprovalRequest, mark_of, request_of, standing_on
from console.steering.operations.up_to_date import partition_of, why_not_now
from console.steering.plans.shown_input import shown_input
from console.steering.ways import ways_of
from console.steering.work import work_short, work_words

PAGE_SIZE = 50
CONFLICT = 409


def visible_plans(request: HttpRequest) -> QuerySet[Plan]:
    """The plans that a person may see."""
    require_read(request, Permission.PLAN_VIEW)
    partitions = visible_partitions(person(request))
    return Plan.objects.filter(
        partition__in=partitions.values("name"), cluster__in=partitions.values("cluster")
    )


def observed(cluster: Cluster) -> dict[str, Any]:
    """When and in which cycle the cluster was last seen, for the page's script."""
    return {"at": cluster.observed_at.isoformat() if cluster.observed_at else None, "cycle": cluster.cycle}


@require_safe
def plans(request: HttpRequest) -> HttpResponse:
    """All plans, newest first, by partition and state."""
    rows = visible_plans(request)
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
        "cluster": shown_cluster(),
    }
    return render_page(request, "steering/plans.html", context)


def _with_input_named(plans: QuerySet[Plan]) -> QuerySet[Plan]:
    """With the digest of each one's input, but not the input: that is large, and a page reads it once."""
    return plans.select_related("cluster", "cycle", "stored_snapshot").defer("stored_snapshot__body")


def _plan(request: HttpRequest, pk: int) -> Plan:
    row = get_object_or_404(_with_input_named(visible_plans(request)), pk=pk)
    require_read(request, Permission.PLAN_VIEW, row)
    return row


@require_safe
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """One plan: beneficiary, victims, what it costs, steps with their states and times, and how it ended."""
    row = _plan(request, pk)
    if wants_part(request) and request.GET.get("seen"):
        row = standing_on(row)  # a form is open there, with something typed in it
    over = row.state not in OPEN_STATES
    nothing_new = None if over else unchanged(request, row.cluster.version, observed(row.cluster))
    if nothing_new:
        return nothing_new
    status = STOP_POLLING if over and "since" in request.GET else 200
    if row.awaits_decision and not wants_part(request) and request_of(row).lead != row:
        return redirect("plan", pk=request_of(row).lead.pk)
    return _show(request, row, status=status)


def _show(
    request: HttpRequest, row: Plan, *, form: DecisionForm | None = None, typed: str = "", status: int = 200
) -> HttpResponse:
    """`typed`: what somebody wrote who cannot send it any more."""
    asked_about = request_of(row)
    row = asked_about.lead
    beneficiary = selectors.beneficiary_of(row)
    may_decide = selectors.may_decide(request.user, row)
    losses = selectors.losses_of(asked_about)
    opened = request.GET.getlist(OPENED)
    context = {
        "plan": row,
        "cluster": row.cluster,
        "shown": asked_about.shown,
        "over": row.state not in OPEN_STATES,
        "steps": list(row.actions.all()),
        "checkpoints": list(row.checkpoints.all()),
        "ranks": _level_ranks(request, row),
        "beneficiary": beneficiary,
        "losses": loss_rows(losses, opened),
        "opened": opened,
        "followed": any(loss.fate for loss in losses),
        "lost": work_words(selectors.lost_of(losses)),
        "all_spared": all(loss.spared for loss in losses),
        "options": selectors.options(row, beneficiary) if len(asked_about.plans) == 1 else [],
        "array": asked_about.group,
        "tasks": asked_about.jobs if asked_about.group else (),
        "passed": selectors.passed_over(row),
        "may_decide": may_decide,
        "form": form or DecisionForm(initial={"seen": asked_about.mark if may_decide else ""}),
        "typed": typed,
        "had_form": bool(request.GET.get("seen")) and not may_decide,
        **(_asked(request, asked_about) if row.awaits_decision else {}),
    }
    return render_page(request, "steering/plan.html", context, status=status)


def _asked(request: HttpRequest, asked_about: ApprovalRequest) -> dict[str, Any]:
    """What a page says of a request that waits for somebody."""
    lead, read = asked_about.lead, request.GET.get("seen", "")
    news = since_read(asked_about, read) if read else None
    opened = since_opened(asked_about)
    return {
        "asked": selectors.asked_words(lead),
        "consequence": selectors.consequence(asked_about),
        "short": work_short(selectors.lost_by(*asked_about.shown)),
        "to_do": in_a_row(way.to_do for way in ways_of(asked_about.victims)),
        "left": selectors.tasks_left(asked_about),
        "not_now": "" if asked_about.possible else lead.not_now,
        "changes": why_not_now(asked_about),
        "since_opened": opened.sentences if opened else [],
        "since_read": news.sentences if news else [],
        "costs_more": news is not None and news.costs_more(policy_of(partition_of(lead))),
    }


@require_POST
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Approve or reject, with a reason. What is out of date is refused with what changed."""
    row = _plan(request, pk)
    require_write(request, Permission.PLAN_DECIDE, row)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _show(request, row, form=form, status=UNPROCESSABLE)
    said = form.cleaned_data
    answer = {"plan": row, "reason": said["reason"], "seen": said["seen"], "request_id": request_id(request)}
    actor = person(request).username
    try:
        if said["decision"] == REJECT:
            done = reject(actor=actor, **answer)
        else:
            instead = said["decision"].removeprefix(APPROVE).removeprefix(INSTEAD)
            done = approve(actor=actor, instead=instead, **answer)
    except OutOfDateError as error:
        messages.error(request, str(error))
        # Whoever reads this page has read what it is now.
        again = DecisionForm(initial={"seen": mark_of(error.plan), "reason": said["reason"]})
        return _show(request, error.plan, form=again, typed=said["reason"], status=CONFLICT)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
        return _show(request, row, form=form, status=UNPROCESSABLE)
    text = _("Plan %(id)d is approved: it begins with the next cycle.")
    if done.state == PlanState.REJECTED:
        text = _("Plan %(id)d is rejected: nobody is stopped.")
    messages.success(request, text % {"id": done.pk})
    return redirect("plan", pk=done.pk)


def _level_ranks(request: HttpRequest, row: Plan) -> dict[str, int]:
    """The ranks of the partition's levels by name: a plan keeps names only, colours follow the rank."""
    partition = visible_partitions(person(request)).filter(cluster=row.cluster_id, name=row.partition).first()
    if partition is None or partition.revision is None:
        return {}
    return {rule.name: rank for rank, rule in enumerate(policy_of(partition).levels)}


@require_safe
def snapshot(request: HttpRequest, pk: int) -> HttpResponse:
    """The decision's input (contract A): `python -m scheduler plan` decides it again. Whole for who sees the policy."""
    row = get_object_or_404(visible_plans(request).select_related("stored_snapshot"), pk=pk)
    require_read(request, Permission.PLAN_VIEW, row)
    if row.stored_snapshot is None:
        raise Http404(_("This plan's snapshot has not been kept."))
    shown = shown_input(person(request), row)
    response = JsonResponse(shown, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="plan-{row.pk}-snapshot.json"'
    return response
