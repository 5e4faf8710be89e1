"""A processor that stands out: what is known of it, and what a person does about it."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, require_read, require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.audit.services import Context
from console.core.htmx import UNPROCESSABLE
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, visible_partitions
from console.power import deciding
from console.power.forms import StandoutForm
from console.power.incidents import incidents_of
from console.power.models import DrainState, NodeDrain, PowerIncident, StandoutState

_Act = Callable[..., Any]
_WORDS = {
    "drain": gettext_lazy("The node is being drained. It is drained when it is seen so here."),
    "put_back": gettext_lazy("The node is being put back. It is when it is seen so here."),
    "leave": gettext_lazy("It is left as it is, until it gets clearly worse."),
}


@require_safe
def incident(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One: what stands out, whether its node is drained, and for whom it is the forms."""
    partition, row = _incident(request, name, pk)
    return _show(request, partition, row, StandoutForm())


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

    def valid(form: StandoutForm, _rows: object) -> bool:
        if form.is_valid() and not deciding.may_act_on(request.user, row):
            form.add_error(None, _("The node is also in partitions that others look after."))
        return form.is_valid()

    def save(_form: StandoutForm, _rows: object, by: dict[str, str]) -> Saved:
        act(row, context=Context(request_id=by.pop("request_id")), **by)
        return Saved(reverse("power-incident", args=[name, pk]), str(_WORDS[word]))

    def show(form: StandoutForm, _rows: object, *, invalid: bool) -> HttpResponse:
        return _show(request, partition, row, form, status=UNPROCESSABLE)

    return audited_form(request, StandoutForm, save, show, valid=valid)


def _incident(request: HttpRequest, name: str, pk: int) -> tuple[Partition, PowerIncident]:
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.PARTITION_VIEW, partition)
    return partition, get_object_or_404(incidents_of(partition).select_related("cluster"), pk=pk)


def _show(
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
