"""Incidents: jobs that were stopped and did not come back; and closing one, with a reason."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.fields import add_errors
from console.core.htmx import UNPROCESSABLE
from console.steering.forms import CloseForm
from console.steering.models import Incident
from console.steering.operations.closing import close_incident

PAGE_SIZE = 50


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
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
        "partition": partition,
        "state": state,
        "cluster": cluster,
        "target": "incident-list",
    }
    return render(request, "steering/incidents.html", context)


@require_safe
def incident(request: HttpRequest, pk: int) -> HttpResponse:
    """One: what happened, and for whom it is the form that closes it."""
    return _show(request, _incident(request, pk), CloseForm())


@require_POST
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """Close it."""
    row = _incident(request, pk)
    require_write(request, Permission.INCIDENT_CLOSE, row)
    form = CloseForm(request.POST)
    if not form.is_valid():
        return _show(request, row, form, status=UNPROCESSABLE)
    try:
        close_incident(
            actor=person(request).username,
            incident=row,
            reason=form.cleaned_data["reason"],
            request_id=request_id(request),
        )
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
        return _show(request, row, form, status=UNPROCESSABLE)
    messages.success(request, _("Incident %(n)d is closed.") % {"n": row.pk})
    return redirect("incident", pk=row.pk)


def _incident(request: HttpRequest, pk: int) -> Incident:
    require_read(request, Permission.PLAN_VIEW)
    return get_object_or_404(Incident.objects.select_related("cluster"), pk=pk, cluster=shown_cluster())


def _show(request: HttpRequest, row: Incident, form: CloseForm, *, status: int = 200) -> HttpResponse:
    may_close = request.user.has_perm(Permission.INCIDENT_CLOSE, row)
    context = {"incident": row, "form": form, "may_close": may_close, "cluster": row.cluster}
    return render(request, "steering/incident.html", context, status=status)
