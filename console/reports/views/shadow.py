"""What enforcing would have done in a partition, and the step to going live."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.partitions.selectors import policy_of, visible_partitions
from console.reports.tally import DAYS, MOST_PLANS, shadow_tally


@require_safe
def shadow(request: HttpRequest, name: str) -> HttpResponse:
    """The tally of the plans made in shadow."""
    rows = visible_partitions(person(request)).filter(revision__isnull=False)
    partition = get_object_or_404(rows, name=name)
    require_read(request, Permission.PLAN_VIEW)
    context = {
        "partition": partition,
        "policy": policy_of(partition),
        "tab": "shadow",
        "tally": shadow_tally(partition),
        "days": DAYS,
        "most": MOST_PLANS,
        "may_see_policy": request.user.has_perm(Permission.POLICY_VIEW, partition),
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
    }
    return render(request, "reports/shadow.html", context)
