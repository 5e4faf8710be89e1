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
from console.steering.operations.differences import since_opened
from console.steering.operations.requests import ApprovalRequest, oldest_requests
from console.steering.views.plans import observed

MOST_SHOWN = 50
DECIDED_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits, with what matters for deciding which to open first."""

    plan: Plan
    beneficiary: Job | None
    consequence: str
    tasks: int
    """How many tasks of an array or group it is about; 0 when it is about one job."""
    not_now: str
    changes: list[str]
    """Since it was opened."""


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
    context = {
        "cluster": cluster,
        "asked": _asked(cluster, waiting),
        "total": total,
        "decided": selectors.decided_lately(user, cluster.name, DECIDED_SHOWN),
    }
    return render_page(request, "steering/approvals.html", context)


def _asked(cluster: Cluster, waiting: list[ApprovalRequest]) -> list[Asked]:
    rows = Job.objects.filter(cluster=cluster, job_id__in=[each.lead.job_id for each in waiting])
    jobs = {(row.job_id, row.partition): row for row in rows}
    found = []
    for each in waiting:
        changed = since_opened(each)
        found.append(
            Asked(
                plan=each.lead,
                beneficiary=jobs.get((each.lead.job_id, each.lead.partition)),
                consequence=selectors.consequence(each),
                tasks=len(each.jobs) if each.group else 0,
                not_now="" if each.possible else each.lead.not_now,
                changes=changed.sentences if changed else [],
            )
        )
    return found
