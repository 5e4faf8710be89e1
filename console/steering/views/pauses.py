"""The switch: one click to stop nobody, one to go on."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from console.accounts.access import person, request_id, require_write
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from console.steering.forms import PauseForm
from console.steering.operations import pausing


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
