"""Approvals: the plans that wait for the person who looks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.accounts.access import person, require_read
from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Job
from console.cluster.selectors import shown_cluster
from console.core.htmx import render_page, unchanged
from console.steering import selectors
from console.steering.folded_losses import OPENED, fold_anchor
from console.steering.models import Plan
from console.steering.operations.differences import since_opened
from console.steering.operations.requests import ApprovalRequest, group_of, oldest_requests
from console.steering.views.plans import observed

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
        "asked": _asked(cluster, waiting, opened),
        "total": total,
        "decided": selectors.decided_lately(user, cluster.name, DECIDED_SHOWN),
    }
    return render_page(request, "steering/approvals.html", context)


def _asked(cluster: Cluster, waiting: list[ApprovalRequest], opened: Collection[str]) -> list[Asked]:
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
