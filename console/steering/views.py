"""Plans: who was stopped for whom, why, and how it went; and a person's decision where the partition asks for one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Job
from console.cluster.selectors import shown_cluster
from console.core.fields import add_errors
from console.core.htmx import STOP_POLLING, UNPROCESSABLE, render_page, unchanged, wants_part
from console.core.l10n_format import in_a_row
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, visible_partitions
from console.steering import pausing, selectors
from console.steering.approvals import (
    OutOfDateError,
    approve,
    partition_of,
    reject,
    shown_input,
    since_opened,
    since_read,
    why_not_now,
)
from console.steering.forms import APPROVE, INSTEAD, REJECT, CloseForm, DecisionForm, PauseForm
from console.steering.models import OPEN_STATES, Incident, Plan, PlanState
from console.steering.requests import (
    ApprovalRequest,
    close_incident,
    group_of,
    mark_of,
    oldest_requests,
    request_of,
    standing_on,
)
from console.steering.selectors import OPENED, fold_anchor, loss_rows, work_short, work_words
from console.steering.sentences import ways_of

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


# The switch: one click to stop nobody, one to go on.


@require_POST
def pause(request: HttpRequest, name: str = "") -> HttpResponse:
    """Pause a partition, or everything."""
    partition = _switched(request, name)
    form = PauseForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The reason is too long."))
        return _back(partition)
    pausing.pause(
        actor=person(request).username,
        cluster=shown_cluster(),
        partition=partition,
        reason=form.cleaned_data["reason"],
        request_id=request_id(request),
    )
    return _back(partition)


@require_POST
def resume(request: HttpRequest, name: str = "") -> HttpResponse:
    """Lift the pause of a partition, or that of everything."""
    partition = _switched(request, name)
    lifted = pausing.resume(
        actor=person(request).username,
        cluster=shown_cluster(),
        partition=partition,
        request_id=request_id(request),
    )
    if lifted:
        messages.success(request, _("The pause is lifted: from the next cycle on, plans are made again."))
    return _back(partition)


def _switched(request: HttpRequest, name: str) -> Partition | None:
    """The partition that the switch is about, if this person may pull it."""
    if not name:
        require_write(request, Permission.PAUSE_ALL)
        return None
    rows = visible_partitions(person(request)).filter(cluster=shown_cluster(), revision__isnull=False)
    partition = get_object_or_404(rows, name=name)
    require_write(request, Permission.PAUSE_PARTITION, partition)
    return partition


def _back(partition: Partition | None) -> HttpResponse:
    return redirect("partition", name=partition.name) if partition else redirect("overview")


# Approvals: the plans that wait for the person who looks.

MOST_SHOWN = 50
DECIDED_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits, with what matters for deciding which to open first."""

    plan: Plan
    beneficiary: Job | None
    consequence: str
    jobs: Sequence[Job | str]
    """The tasks of an array or group that it is about, those the mirror no longer has by id; none for one job."""
    group: str
    """What those tasks belong to, as the address has it that unfolds them."""
    is_open: bool
    not_now: str
    changes: list[str]
    """Since it was opened."""

    @property
    def anchor(self) -> str:
        """An id for an element."""
        return fold_anchor(self.group)


@require_safe
def approvals(request: HttpRequest) -> HttpResponse:
    """The inbox of who administers partitions, live; and what was decided lately."""
    require_read(request, Permission.PLAN_DECIDE)
    cluster = shown_cluster()
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    user = person(request)
    waiting, total = oldest_requests(selectors.waiting_for(user, cluster.name), MOST_SHOWN)
    opened = request.GET.getlist(OPENED)
    context = {
        "cluster": cluster,
        "opened": opened,
        "asked": _requests_asked(cluster, waiting, opened),
        "total": total,
        "decided": selectors.decided_lately(user, cluster.name, DECIDED_SHOWN),
    }
    return render_page(request, "steering/approvals.html", context)


def _requests_asked(cluster: Cluster, waiting: list[ApprovalRequest], opened: Collection[str]) -> list[Asked]:
    unfolded = {each.lead.pk for each in waiting if each.group and group_of(each.lead) in opened}
    wanted = {each.lead.job_id for each in waiting}
    wanted |= {job_id for each in waiting if each.lead.pk in unfolded for job_id in each.jobs}
    rows = Job.objects.filter(cluster=cluster, job_id__in=wanted)
    jobs = {(row.job_id, row.partition): row for row in rows}
    return [_one(each, jobs, is_open=each.lead.pk in unfolded) for each in waiting]


def _one(each: ApprovalRequest, jobs: dict[tuple[str, str], Job], *, is_open: bool) -> Asked:
    lead, changed = each.lead, since_opened(each)
    tasks = [jobs.get((job_id, lead.partition), job_id) for job_id in each.jobs] if each.group else []
    return Asked(
        plan=lead,
        beneficiary=jobs.get((lead.job_id, lead.partition)),
        consequence=selectors.consequence(each),
        jobs=tasks,
        group=group_of(lead) if each.group else "",
        is_open=is_open,
        not_now="" if each.possible else lead.not_now,
        changes=changed.sentences if changed else [],
    )


# Incidents: jobs that were stopped and did not come back; and closing one, with a reason.

INCIDENTS_PAGE = 50


@require_safe
def incidents(request: HttpRequest) -> HttpResponse:
    """All of them, the latest first, by partition and state."""
    require_read(request, Permission.PLAN_VIEW)
    cluster = shown_cluster()
    rows = Incident.objects.filter(cluster=cluster)
    partition, state = request.GET.get("partition", ""), request.GET.get("state", "")
    if partition:
        rows = rows.filter(partition=partition)
    if state in {"open", "closed"}:
        rows = rows.filter(closed_at__isnull=state == "open")
    context = {
        "page": Paginator(rows, INCIDENTS_PAGE).get_page(request.GET.get("page")),
        "partition": partition,
        "state": state,
        "cluster": cluster,
        "target": "incident-list",
    }
    return render(request, "steering/incidents.html", context)


@require_safe
def incident(request: HttpRequest, pk: int) -> HttpResponse:
    """One: what happened, and for whom it is the form that closes it."""
    return _show_incident(request, _incident(request, pk), CloseForm())


@require_POST
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """Close it."""
    row = _incident(request, pk)
    require_write(request, Permission.INCIDENT_CLOSE, row)
    form = CloseForm(request.POST)
    if not form.is_valid():
        return _show_incident(request, row, form, status=UNPROCESSABLE)
    try:
        close_incident(
            actor=person(request).username,
            incident=row,
            reason=form.cleaned_data["reason"],
            request_id=request_id(request),
        )
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
        return _show_incident(request, row, form, status=UNPROCESSABLE)
    messages.success(request, _("Incident %(n)d is closed.") % {"n": row.pk})
    return redirect("incident", pk=row.pk)


def _incident(request: HttpRequest, pk: int) -> Incident:
    require_read(request, Permission.PLAN_VIEW)
    return get_object_or_404(Incident.objects.select_related("cluster"), pk=pk, cluster=shown_cluster())


def _show_incident(
    request: HttpRequest, row: Incident, form: CloseForm, *, status: int = 200
) -> HttpResponse:
    may_close = request.user.has_perm(Permission.INCIDENT_CLOSE, row)
    context = {"incident": row, "form": form, "may_close": may_close, "cluster": row.cluster}
    return render(request, "steering/incident.html", context, status=status)
