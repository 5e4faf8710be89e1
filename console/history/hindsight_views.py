"""What the last month would have been with a partition's policy: the answer that is kept, and asking for one."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.history.hindsight.asking import (
    USUAL,
    ask_hindsight,
    asked_span,
    days_known,
    kept_for,
    spans_for,
)
from console.history.models import Study
from console.history.study_views import context_of
from console.history.what_if import NotNowError
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, visible_partitions


@require_http_methods(["GET", "HEAD", "POST"])
def hindsight(request: HttpRequest, name: str) -> HttpResponse:
    """The page; sent, it asks about the policy in force. Who may only read the policy reads what is kept."""
    rows = visible_partitions(person(request)).filter(revision__isnull=False)
    partition = get_object_or_404(rows, name=name)
    require_read(request, Permission.POLICY_VIEW, partition)
    if request.method == "POST":
        return _ask(request, partition)
    kept, known = kept_for(partition), days_known(partition)
    spans = spans_for(known)
    context = {
        "partition": partition,
        "policy": policy_of(partition),
        "tab": "hindsight",
        "may_see_policy": True,
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
        "known": known,
        "spans": spans,
        "usual": USUAL if USUAL in spans else max(spans, default=0),
        "others": kept.others,
    }
    if kept.shown is not None:
        shown = Study.objects.select_related("cluster").get(pk=kept.shown.pk)
        context |= context_of(request, shown)
    return render(request, "history/hindsight.html", context)


def _ask(request: HttpRequest, partition: Partition) -> HttpResponse:
    require_write(request, Permission.POLICY_CHANGE, partition)
    try:
        ask_hindsight(
            actor=person(request).username,
            partition=partition,
            policy=policy_of(partition),
            days=asked_span(request.POST.get("days", "")) or USUAL,
            request_id=request_id(request),
        )
    except NotNowError as error:
        messages.error(request, str(error))
    return redirect("partition-hindsight", name=partition.name)
