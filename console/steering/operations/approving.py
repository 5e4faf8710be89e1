"""A person's yes or no to a request, in partitions that ask for it.

1. Yes carries out what is true now, if it costs no more than what the person has read: not more jobs, none of a higher
   level, no more work. Else it is refused with the difference; whoever has read that may say yes to it.
2. It is also refused when it cannot be done now (`up_to_date`), with the reason, and the request goes on standing.
3. Yes: compare-and-set proposed → approved, and each plan gets its actions; the next cycle carries it out as one of a
   partition that enforces. No: proposed → rejected, which `rejections` heeds for a while.
4. An alternative that is approved instead becomes the plan's last version.
5. The same click twice counts once. Tasks of an array that are asked about together are decided in one transaction.
"""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from console.audit.services import reason_of
from console.cluster.services import show_change
from console.core import clock
from console.core.failpoints import failpoint
from console.partitions.selectors import policy_of
from console.steering.journal import tell_plan
from console.steering.models import CycleLease, Plan, PlannedAction, PlanState
from console.steering.operations.differences import since_read
from console.steering.operations.instead import choosing
from console.steering.operations.requests import ApprovalRequest, request_of, standing_on
from console.steering.operations.up_to_date import partition_of, why_decided, why_not_now
from console.steering.plans.actions_of_plans import actions_for, deadline_for
from console.steering.plans.versions import keep_version
from console.steering.states import move_plan
from scheduler.model.sentence import say

CARRIED_OUT = (PlanState.APPROVED, PlanState.EXECUTING, PlanState.VERIFIED)


class OutOfDateError(Exception):
    """The request is not what the person decided on, or cannot be carried out: nothing was done.

    `changes`: why, in sentences. `not_now`: it stands, and can be approved later. `costs_more`: it can be approved by
    whoever reads what it is now.
    """

    def __init__(
        self, plan: Plan, changes: Sequence[str], *, not_now: bool = False, costs_more: bool = False
    ) -> None:
        self.plan = plan
        self.changes = list(changes)
        self.costs_more = costs_more
        head = _("Plan %(id)d is out of date.")
        if costs_more:
            head = _("Plan %(id)d costs more now than what you have read.")
        elif not_now:
            head = _("Plan %(id)d cannot be approved now.")
        super().__init__(" ".join([head % {"id": plan.pk}, *self.changes]))


def approve(
    *, actor: str, plan: Plan, reason: str, seen: str, instead: str = "", request_id: str = ""
) -> Plan:
    """Have the request that a plan belongs to carried out; returns its lead. `instead`: the mark of an alternative.

    Raises `OutOfDateError`, or `ValidationError` without a reason.
    """
    reason = reason_of(actor, reason)
    with transaction.atomic():
        request = _locked(plan)
        if request.lead.decided_by == actor and request.lead.state in CARRIED_OUT:
            return request.lead
        plans = _allowed(request, seen, instead)
        policy = policy_of(partition_of(request.lead))
        read = request.read(seen) or {}
        for each in plans:
            decided = {"decided_version": _number_of(read.get(each.pk)), "deadline": deadline_for(policy)}
            _decide(each, PlanState.APPROVED, actor, reason, **decided, **_chosen(each))
            PlannedAction.objects.bulk_create(actions_for(each, policy))
            _tell(each, actor, reason, request_id)
        failpoint("web.approving")
    failpoint("web.approved")
    return plans[0]


def reject(*, actor: str, plan: Plan, reason: str, seen: str, request_id: str = "") -> Plan:
    """Turn a request down. Facts that have changed do not matter then. Returns and raises as `approve` does."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        request = _locked(plan)
        lead = request.lead
        if lead.decided_by == actor and lead.state == PlanState.REJECTED:
            return lead
        if not lead.awaits_decision:
            raise OutOfDateError(lead, list(why_decided(lead)))
        read = request.read(seen)
        if read is None:
            raise OutOfDateError(lead, [_("It is not the plan that you looked at.")])
        outcome = say("plan.rejected", who=actor, why=reason)
        for each in request.plans:
            over = {"ended_at": clock.now(), "outcome": outcome}
            decided = {"decided_version": _number_of(read.get(each.pk))}
            _decide(each, PlanState.REJECTED, actor, reason, **over, **decided)
            _tell(each, actor, reason, request_id)
        failpoint("web.rejecting")
    failpoint("web.rejected")
    return lead


def _allowed(request: ApprovalRequest, seen: str, instead: str) -> Sequence[Plan]:
    """The plans to be carried out. Raises `OutOfDateError`."""
    lead = request.lead
    if lead.awaits_decision and request.read(seen) is None:
        raise OutOfDateError(lead, [_("It is not the plan that you looked at.")])
    if instead:
        chosen = choosing(request, instead)
        if chosen is None:
            gone = [_("There is no such alternative any more.")]
            raise OutOfDateError(lead, why_not_now(request) or gone, not_now=lead.awaits_decision)
        request = ApprovalRequest((chosen,))
    changes = why_not_now(request)
    if changes:
        raise OutOfDateError(lead, changes, not_now=lead.awaits_decision)
    difference = None if instead else since_read(request, seen)
    if difference is not None and difference.costs_more(policy_of(partition_of(lead))):
        raise OutOfDateError(lead, difference.sentences, costs_more=True)
    return request.possible


def _locked(plan: Plan) -> ApprovalRequest:
    """The request as it is, with its plans locked.

    The lease's row comes first, as in a cycle: that renews requests and writes to the audit log in another order.
    """
    list(CycleLease.objects.select_for_update().filter(cluster=plan.cluster_id))
    pks = [each.pk for each in request_of(standing_on(plan)).plans]
    list(
        Plan.objects.select_for_update().filter(pk__in=[*pks, plan.pk])
    )  # no join: PostgreSQL would lock that, too
    return request_of(standing_on(Plan.objects.select_related("cluster", "cycle").get(pk=plan.pk)))


def _number_of(version: Any) -> int | None:
    return getattr(version, "number", None) or getattr(version, "version", None)


def _chosen(plan: Plan) -> dict[str, Any]:
    """What an alternative puts in the place of the plan's own; kept as a version of it."""
    if not plan.chosen:
        return {}
    keep_version(plan)
    names = ("victims", "placement", "tasks", "explain", "chosen", "version", "renewed_at")
    return {name: getattr(plan, name) for name in names}


def _decide(plan: Plan, state: PlanState, actor: str, reason: str, **changes: Any) -> None:
    decision = {"decided_by": actor, "decided_at": clock.now(), "decision_reason": reason}
    if not move_plan(plan, state, **decision, **changes):
        raise OutOfDateError(plan, [_("Something else was decided about it at the same moment.")])


def _tell(plan: Plan, actor: str, reason: str, request_id: str) -> None:
    before, after = {"state": PlanState.PROPOSED.value}, {"state": str(plan.state)}
    if plan.chosen:
        after |= {"instead": plan.chosen, "victims": plan.victims}
    tell_plan(
        plan,
        f"plan.{plan.state}",
        before=before,
        after=after,
        reason=reason,
        actor=actor,
        request_id=request_id,
    )
    show_change(plan.cluster)
