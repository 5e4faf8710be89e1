"""What is asked, and what plans came to: requests for approval, undone plans, victims that are late."""

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core import clock
from console.core.translate import resay
from console.needs.rows import Need, NeedKind
from console.projects.models import ProjectProposal, RequestState, UrgencyRequest
from console.projects.selectors import managed_projects, visible_proposals, visible_requests
from console.steering.models import Fate, Plan, PlanKind, PlanState, Victim
from console.steering.operations.requests import ApprovalRequest, requests_among
from console.steering.selectors import consequence, decided_partitions, waiting_for

LATELY = timedelta(days=1)
"""A plan that was undone longer ago is history; a victim that has waited so long is late."""
TOLD_FOR = timedelta(days=5)
"""So long who asked for something is told that it was rejected, if not something else is asked for meanwhile."""
UNKNOWN_FOR = timedelta(minutes=15)
"""So long it may take until it is known what became of a victim."""
MOST = 200
ENDED_BADLY = (PlanState.UNDONE, PlanState.FAILED)


def of_plans(user: Any, cluster: Cluster) -> Iterator[Need]:
    """Requests for approval, and plans that were undone lately. One query."""
    asked = waiting_for(user, cluster.name).order_by().values("pk")
    rows = Plan.objects.filter(
        Q(pk__in=asked) | Q(pk__in=_undone(user, cluster).values("pk")),
        cluster=cluster,
        state__in=(PlanState.PROPOSED, *ENDED_BADLY),
    )
    plans = rows.defer("explain", "passed_over", "alternatives").order_by("pk")[: 2 * MOST]
    waiting = [plan for plan in plans if plan.awaits_decision]
    yield from map(_approval, requests_among(waiting))
    for plan in plans:
        if not plan.awaits_decision:
            yield _was_undone(plan)


def _undone(user: Any, cluster: Cluster) -> QuerySet[Plan]:
    """Those that no later plan of the same job has made up for."""
    later = Plan.objects.filter(
        cluster=cluster, partition=OuterRef("partition"), job_id=OuterRef("job_id"), pk__gt=OuterRef("pk")
    )
    rows = Plan.objects.filter(
        cluster=cluster,
        partition__in=decided_partitions(user, cluster.name),
        kind__in=(PlanKind.PREEMPT, PlanKind.GROW),
        state__in=ENDED_BADLY,
        ended_at__gte=clock.now() - LATELY,
    )
    return rows.filter(~Exists(later))


def _approval(asked: ApprovalRequest) -> Need:
    plan = asked.lead
    text = consequence(asked) if asked.possible else resay(plan.not_now)
    return Need(
        NeedKind.APPROVAL, text, plan.created_at, plan.partition, reverse("plan", args=[plan.pk]), plan.pk
    )


def _was_undone(plan: Plan) -> Need:
    text = _("%(why)s Plan %(n)d for %(job)s (%(user)s) was undone.")
    if plan.state == PlanState.FAILED:
        text = _("%(why)s Plan %(n)d for %(job)s (%(user)s) failed.")
    why = resay(plan.undo_reason or plan.outcome)
    said = (text % {"why": why, "n": plan.pk, "job": plan.job_id, "user": plan.user}).strip()
    return Need(
        NeedKind.UNDONE, said, plan.ended_at, plan.partition, reverse("plan", args=[plan.pk]), plan.pk
    )


def late(cluster: Cluster, partitions: Collection[str]) -> Iterator[Need]:
    """Victims of which nobody knows what became of them, and those that have waited for a day. One query.

    What is lost is an incident.
    """
    now = clock.now()
    unknown = Q(fate=Fate.OPEN, sent_at__lt=now - UNKNOWN_FOR) & ~Q(plan__deadline__gt=now)
    waits = Q(fate=Fate.WAITING, sent_at__lt=now - LATELY)
    rows = Victim.objects.filter(
        unknown | waits, cluster=cluster, settled_at=None, plan__partition__in=list(partitions)
    )
    facts = rows.values_list("job_id", "user", "fate", "sent_at", "plan_id", "plan__partition")
    for job, user, fate, sent_at, plan, partition in facts[:MOST]:
        text = _("Job %(job)s (%(user)s) was stopped, and nobody knows yet what became of it.")
        if fate == Fate.WAITING:
            text = _("Job %(job)s (%(user)s) was stopped and still waits.")
        said = text % {"job": job, "user": user}
        yield Need(NeedKind.LATE, said, sent_at, partition, reverse("plan", args=[plan]), plan)


def of_projects(user: Any, *, may_decide: bool) -> Iterator[Need]:
    """What managers ask for: to decide on, for who does; else the own ones, which can be withdrawn. And what was
    rejected lately of what the person has asked for. One query."""
    later = UrgencyRequest.objects.filter(project=OuterRef("project"), pk__gt=OuterRef("pk"))
    rows = (
        visible_requests(user).filter(Q(state=RequestState.WAITING) | _rejected(user, later)).order_by("pk")
    )
    own = frozenset() if may_decide else managed_projects(user)
    for asked in rows[:MOST]:
        if asked.state == RequestState.REJECTED:
            yield _no_urgency(asked)
        elif may_decide:
            yield _asked(asked)
        elif asked.project_id in own:
            yield _waits(asked)


def of_proposals(user: Any, *, may_decide: bool) -> Iterator[Need]:
    """Projects that managers propose: to decide on, for who does; else the own ones. And the own ones that were
    rejected lately. One query."""
    later = ProjectProposal.objects.filter(code=OuterRef("code"), pk__gt=OuterRef("pk"))
    rows = (
        visible_proposals(user).filter(Q(state=RequestState.WAITING) | _rejected(user, later)).order_by("pk")
    )
    if not may_decide:
        rows = rows.filter(asked_by=user.username)
    for proposal in rows[:MOST]:
        if proposal.state == RequestState.REJECTED:
            yield _no_project(proposal)
        else:
            yield _proposed(proposal, may_decide=may_decide)


def _rejected(user: Any, later: QuerySet[Any]) -> Q:
    """What a person has asked for and not got, a few days long; `later`: what was asked for in its stead."""
    since = clock.now() - TOLD_FOR
    own = Q(state=RequestState.REJECTED, asked_by=user.username, decided_at__gte=since)
    return own & ~Q(Exists(later))


def _no_urgency(asked: UrgencyRequest) -> Need:
    text = _("%(who)s rejected urgency %(n)s for %(project)s: %(reason)s")
    facts = {"who": asked.decided_by, "n": f"{asked.urgency:g}", "project": asked.project.code}
    said = text % {**facts, "reason": asked.decision_reason}
    url = reverse("project", args=[asked.project.code])
    return Need(NeedKind.REQUEST, said, asked.decided_at, "", url, asked.pk)


def _no_project(proposal: ProjectProposal) -> Need:
    text = _("%(who)s rejected the project %(code)s: %(reason)s")
    facts = {"who": proposal.decided_by, "code": proposal.code, "reason": proposal.decision_reason}
    url = reverse("project-proposal", args=[proposal.pk])
    return Need(NeedKind.REQUEST, text % facts, proposal.decided_at, "", url, proposal.pk)


def _proposed(proposal: ProjectProposal, *, may_decide: bool) -> Need:
    kind, text = (
        NeedKind.REQUEST,
        _("No administrator has decided yet on the project %(code)s. You can withdraw it."),
    )
    if may_decide:
        kind, text = NeedKind.APPROVAL, _("%(who)s proposes the project %(code)s: %(reason)s")
    facts = {"who": proposal.asked_by, "code": proposal.code, "reason": proposal.reason}
    url = reverse("project-proposal", args=[proposal.pk])
    return Need(kind, text % facts, proposal.asked_at, "", url, proposal.pk)


def _asked(asked: UrgencyRequest) -> Need:
    text = _("%(who)s asks for urgency %(n)s in %(project)s: %(reason)s")
    facts = {"who": asked.asked_by, "n": f"{asked.urgency:g}", "project": asked.project.code}
    return Need(
        NeedKind.APPROVAL,
        text % {**facts, "reason": asked.reason},
        asked.asked_at,
        "",
        reverse("project-request", args=[asked.pk]),
        asked.pk,
    )


def _waits(asked: UrgencyRequest) -> Need:
    text = _("No administrator has decided yet on urgency %(n)s for %(project)s. You can withdraw it.")
    return Need(
        NeedKind.REQUEST,
        text % {"n": f"{asked.urgency:g}", "project": asked.project.code},
        asked.asked_at,
        "",
        reverse("project-request-withdraw", args=[asked.pk]),
        asked.pk,
    )
