"""A partition's page of compute power."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.audit.services import Context
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, visible_partitions
from console.power import services
from console.power.forms import FiguresForm, RuleForm
from console.power.incidents import standing_in
from console.power.loss_views import visible_losses
from console.power.losses import DAYS
from console.power.models import Source
from console.power.overview import power_of
from console.power.selectors import nodes_of

NODES_PER_PAGE = 50


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
