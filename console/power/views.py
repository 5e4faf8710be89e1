"""A partition's page of compute power, the table of what was lost, and the page of a processor that stands out."""

import csv
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.audit.exporting import BOM, safe_cell
from console.audit.services import Context
from console.core.fields import add_errors
from console.core.htmx import UNPROCESSABLE
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, visible_partitions
from console.power import deciding, services
from console.power.forms import FiguresForm, RuleForm, StandoutForm
from console.power.incidents import incidents_of, standing_in
from console.power.losses import DAYS, visible_losses
from console.power.models import DrainState, NodeDrain, PowerIncident, Source, StandoutState
from console.power.overview import power_of
from console.power.selectors import nodes_of

NODES_PER_PAGE = 50
LOSS_COLUMNS = ("project", "resource", "runs", "hours", "lost", "share")
_Act = Callable[..., Any]
_WORDS = {
    "drain": gettext_lazy("The node is being drained. It is drained when it is seen so here."),
    "put_back": gettext_lazy("The node is being put back. It is when it is seen so here."),
    "leave": gettext_lazy("It is left as it is, until it gets clearly worse."),
}


def _partition(request: HttpRequest, name: str) -> Partition:
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.PARTITION_VIEW, partition)
    return partition


@require_safe
def power(request: HttpRequest, name: str) -> HttpResponse:
    """The figures in force, what stands out, and what is being measured."""
    return _show(request, _partition(request, name))


def _show(request: HttpRequest, partition: Partition, status: int = 200, **forms: Any) -> HttpResponse:
    shown = power_of(partition)
    context = {
        "partition": partition,
        "policy": policy_of(partition),
        "tab": "power",
        "incidents": standing_in(partition),
        "losses": visible_losses(person(request), partition),
        "loss_days": DAYS,
        "power": shown,
        "nodes": Paginator(shown.nodes, NODES_PER_PAGE).get_page(request.GET.get("page")),
        "rule_form": RuleForm.of(services.rule_of(partition)),
        "figures_form": FiguresForm(),
        "may_see_policy": request.user.has_perm(Permission.POLICY_VIEW, partition),
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
        **forms,
    }
    return render(request, "power/power.html", context, status=status)


@require_POST
def change_rule(request: HttpRequest, name: str) -> HttpResponse:
    """Change how the partition is measured."""
    partition = _writable(request, name)

    def save(form: RuleForm, _rows: object, by: dict[str, str]) -> Saved:
        values = {key: form.cleaned_data[key] for key in RuleForm.NAMES}
        context = Context(request_id=by.pop("request_id"))
        services.change_rule(partition, values, context=context, **by)
        return Saved(reverse("partition-power", args=[name]), _("Saved."))

    def show(form: RuleForm, _rows: object, *, invalid: bool) -> HttpResponse:
        return _show(request, partition, 422, rule_form=form)

    return audited_form(request, RuleForm, save, show)


@require_POST
def measure_now(request: HttpRequest, name: str) -> HttpResponse:
    """Measure one node (`node`), or all of them, as soon as they are idle."""
    partition = _writable(request, name)
    nodes = nodes_of(partition)
    wanted = request.POST.get("node", "")
    chosen = [node for node in nodes if wanted in ("", node.name)]
    try:
        asked = services.ask_now(
            partition, chosen, actor=person(request).username, context=Context(request_id=request_id(request))
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        told = ngettext("%(n)s node is to be measured.", "%(n)s nodes are to be measured.", len(asked))
        messages.success(request, told % {"n": len(asked)})
    return redirect("partition-power", name)


@require_POST
def set_figures(request: HttpRequest, name: str) -> HttpResponse:
    """Put figures in force that somebody knows: one is typed, several are imported."""
    partition = _writable(request, name)

    def save(form: FiguresForm, _rows: object, by: dict[str, str]) -> Saved:
        table, context = form.cleaned_data["table"], Context(request_id=by.pop("request_id"))
        source = Source.TYPED if len(table) == 1 else Source.IMPORTED
        try:
            services.set_figures(partition, table, source, context=context, **by)
        except ValidationError as error:
            raise ValidationError({"table": error.messages}) from None
        return Saved(reverse("partition-power", args=[name]), _("The figures are in force."))

    def show(form: FiguresForm, _rows: object, *, invalid: bool) -> HttpResponse:
        return _show(request, partition, 422, figures_form=form)

    return audited_form(request, FiguresForm, save, show)


def _writable(request: HttpRequest, name: str) -> Partition:
    partition = _partition(request, name)
    require_write(request, Permission.POLICY_CHANGE, partition)
    return partition


@require_safe
def losses(request: HttpRequest, name: str) -> HttpResponse:
    """Project by project, the most first."""
    partition = _partition(request, name)
    answer = HttpResponse(BOM, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="lost-hours.csv"'
    writer = csv.writer(answer, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(LOSS_COLUMNS)
    for row in visible_losses(person(request), partition):
        writer.writerow(
            [
                safe_cell(row.project),
                row.resource,
                row.runs,
                *(round(each, 4) for each in (row.hours, row.lost, row.share)),
            ]
        )
    return answer


# --- A processor that stands out: what is known of it, and what a person does about it ---


@require_safe
def incident(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One: what stands out, whether its node is drained, and for whom it is the forms."""
    partition, row = _incident(request, name, pk)
    return _show_incident(request, partition, row, StandoutForm())


@require_POST
def drain(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Have its node drained."""
    return _act(request, name, pk, "drain", deciding.drain)


@require_POST
def put_back(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Have its node put back."""
    return _act(request, name, pk, "put_back", deciding.put_back)


@require_POST
def leave(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Leave it as it is."""
    return _act(request, name, pk, "leave", deciding.leave)


def _act(request: HttpRequest, name: str, pk: int, word: str, act: _Act) -> HttpResponse:
    partition, row = _incident(request, name, pk)
    require_write(request, Permission.NODE_DRAIN, partition)
    form = StandoutForm(request.POST)
    if form.is_valid() and not deciding.may_act_on(request.user, row):
        form.add_error(None, _("The node is also in partitions that others look after."))
    if form.is_valid():
        try:
            act(
                row, actor=person(request).username, reason=form.cleaned_data["reason"],
                context=Context(request_id=request_id(request)),
            )  # fmt: skip
        except ValidationError as error:
            add_errors(form, {"": error.messages}.items())
        else:
            messages.success(request, str(_WORDS[word]))
            return redirect("power-incident", name, pk)
    return _show_incident(request, partition, row, form, status=UNPROCESSABLE)


def _incident(request: HttpRequest, name: str, pk: int) -> tuple[Partition, PowerIncident]:
    partition = _partition(request, name)
    return partition, get_object_or_404(incidents_of(partition).select_related("cluster"), pk=pk)


def _show_incident(
    request: HttpRequest, partition: Partition, row: PowerIncident, form: StandoutForm, *, status: int = 200
) -> HttpResponse:
    now = deciding.open_drain(row)
    context = {
        "partition": partition,
        "policy": policy_of(partition),
        "incident": row,
        "drain": now,
        "drains": NodeDrain.objects.filter(incident=row),
        "form": form,
        "may_act": deciding.may_act_on(request.user, row),
        "may_drain": row.state != StandoutState.CLOSED and now is None,
        "may_put_back": now is not None and now.state != DrainState.RETURNING,
        "may_leave": row.state == StandoutState.OPEN,
    }
    return render(request, "power/incident.html", context, status=status)
