"""Approvals: the plans that wait for the person who looks."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Job
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged
from console.steering import selectors
from console.steering.models import Plan
from console.steering.views.plans import observed

MOST_SHOWN = 50
DECIDED_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A plan that waits, with what matters for deciding which to open first."""

    plan: Plan
    beneficiary: Job | None
    consequence: str


@require_safe
def approvals(request: HttpRequest) -> HttpResponse:
    """The inbox of who administers partitions, live; and what was decided lately."""
    require_read(request, Permission.PLAN_DECIDE)
    cluster = shown_cluster()
    nothing_new = unchanged(request, cluster.version, observed(cluster))
    if nothing_new:
        return nothing_new
    user = person(request)
    waiting = selectors.waiting_for(user, cluster.name)
    context = {
        "cluster": cluster,
        "asked": _asked(cluster, list(waiting[:MOST_SHOWN])),
        "total": waiting.count(),
        "decided": selectors.decided_lately(user, cluster.name, DECIDED_SHOWN),
    }
    return render_page(request, "steering/approvals.html", context)


def _asked(cluster: Cluster, plans: list[Plan]) -> list[Asked]:
    rows = Job.objects.filter(cluster=cluster, job_id__in=[plan.job_id for plan in plans])
    jobs = {(row.job_id, row.partition): row for row in rows}
    return [
        Asked(plan, jobs.get((plan.job_id, plan.partition)), selectors.consequence(plan)) for plan in plans
    ]
