"""A person's yes or no to a plan, in partitions that ask for it.

1. What the person saw must still be so: `what_changed` compares the plan with the mirror, the policy and the switch.
   An out-of-date plan is refused with what changed, and nothing is done.
2. Yes: compare-and-set proposed → approved, and the plan gets its actions; the next cycle carries it out as one of a
   partition that enforces. No: proposed → rejected, which `rejections` heeds for a while.
3. The same click twice counts once.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from console.audit.services import reason_of
from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.services import show_change
from console.core import clock
from console.core.points import reached
from console.core.saying import duration, names
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.steering.decisions.facts import why_paused
from console.steering.journal import tell_plan
from console.steering.models import STOP_KINDS, ActionState, Plan, PlanKind, PlannedAction, PlanState
from console.steering.people.standing import standing
from console.steering.plans.new_plans import actions_for, deadline_for
from console.steering.states import move_plan
from scheduler.model.policy import Enforcement

FEW_CYCLES = 5
LEAST_FRESH_S = 10.0
"""How old the last look at the cluster may be: a few cycles, but not less than this."""
CARRIED_OUT = (PlanState.APPROVED, PlanState.EXECUTING, PlanState.VERIFIED)


class OutOfDateError(Exception):
    """The plan is not, or no longer, what the person decided on: nothing was done. `changes`: sentences."""

    def __init__(self, plan: Plan, changes: Sequence[str]) -> None:
        self.plan = plan
        self.changes = list(changes)
        head = _("Plan %(id)d is out of date.") % {"id": plan.pk}
        super().__init__(" ".join([head, *self.changes]))


def awaits_decision(plan: Plan) -> bool:
    """Whether a person is asked about this plan."""
    return (
        plan.state == PlanState.PROPOSED
        and plan.kind == PlanKind.PREEMPT
        and plan.enforcement == Enforcement.APPROVE
    )


def mark_of(plan: Plan) -> str:
    """A short mark of what a person is asked to approve: who is stopped, for whom, where, by which rules."""
    runs = sorted((v["job"], v.get("start", 0), v.get("restarts", 0)) for v in plan.victims)
    facts = [plan.pk, plan.job_id, plan.job_restarts, runs, plan.placement, plan.policy_revision]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def approve(*, actor: str, plan: Plan, reason: str, seen: str, request_id: str = "") -> Plan:
    """Have a proposed plan carried out. Raises `OutOfDateError`, or `ValidationError` without a reason."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        plan = _locked(plan)
        if plan.decided_by == actor and plan.state in CARRIED_OUT:
            return plan
        changes = what_changed(plan, seen)
        if changes:
            raise OutOfDateError(plan, changes)
        policy = policy_of(_partition(plan))
        _decide(plan, PlanState.APPROVED, actor, reason, deadline=deadline_for(policy))
        PlannedAction.objects.bulk_create(actions_for(plan, policy))
        _tell(plan, actor, reason, request_id)
        reached("web.approving")
    reached("web.approved")
    return plan


def reject(*, actor: str, plan: Plan, reason: str, seen: str, request_id: str = "") -> Plan:
    """Turn a proposed plan down. Facts that have changed do not matter then. Raises as `approve` does."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        plan = _locked(plan)
        if plan.decided_by == actor and plan.state == PlanState.REJECTED:
            return plan
        changes = [*_not_waiting(plan), *_not_the_one_seen(plan, seen)]
        if changes:
            raise OutOfDateError(plan, changes)
        # Kept in English, as all that is stored; pages say it again in the reader's language.
        outcome = gettext_noop("%(who)s rejected it: %(why)s") % {"who": actor, "why": reason}
        _decide(plan, PlanState.REJECTED, actor, reason, ended_at=clock.now(), outcome=outcome)
        _tell(plan, actor, reason, request_id)
        reached("web.rejecting")
    reached("web.rejected")
    return plan


def _locked(plan: Plan) -> Plan:
    Plan.objects.select_for_update().get(pk=plan.pk)  # no join: PostgreSQL would lock those rows too
    return Plan.objects.select_related("cluster", "cycle").get(pk=plan.pk)


def _decide(plan: Plan, state: PlanState, actor: str, reason: str, **changes: Any) -> None:
    decision = {"decided_by": actor, "decided_at": clock.now(), "decision_reason": reason}
    if not move_plan(plan, state, **decision, **changes):
        raise OutOfDateError(plan, [_("Something else was decided about it at the same moment.")])


def _tell(plan: Plan, actor: str, reason: str, request_id: str) -> None:
    before, after = {"state": PlanState.PROPOSED.value}, {"state": plan.state}
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


# --- Is it still so? -----------------------------------------------------------------------------------------


def what_changed(plan: Plan, seen: str | None = None) -> list[str]:
    """Why a plan can no longer be approved, in sentences; empty when it can. `seen`: the mark that the person had."""
    not_waiting = list(_not_waiting(plan))
    if not_waiting:
        return not_waiting
    return [
        *(_not_the_one_seen(plan, seen) if seen is not None else ()),
        *_not_seen_lately(plan.cluster),
        *_rules_changed(plan),
        *_victims_changed(plan),
        *_beneficiary_changed(plan),
    ]


def _not_waiting(plan: Plan) -> Iterator[str]:
    if awaits_decision(plan):
        return
    if plan.state in (PlanState.SUPERSEDED, PlanState.EXPIRED):
        yield plan.outcome or _("It is no longer needed.")
        newer = _newer(plan)
        if newer is not None:
            yield _difference(plan, newer)
    elif plan.decided_by:
        text = _("%(who)s rejected it.") if plan.state == PlanState.REJECTED else _("%(who)s approved it.")
        yield text % {"who": plan.decided_by}
        if plan.outcome and plan.state != PlanState.REJECTED:
            yield plan.outcome
    elif plan.state == PlanState.PROPOSED:
        yield _("It was made in %(mode)s: nobody is asked about it.") % {"mode": plan.enforcement}
    else:
        yield _("It is carried out without being asked for, as the policy said when it was made.")


def _newer(plan: Plan) -> Plan | None:
    later = Plan.objects.filter(
        cluster=plan.cluster_id, partition=plan.partition, job_id=plan.job_id, pk__gt=plan.pk
    )
    return later.order_by("-pk").first()


def _difference(plan: Plan, newer: Plan) -> str:
    """The newer plan, and whom it would stop instead."""
    old, new = ({v["job"]: v.get("user", "") for v in each.victims} for each in (plan, newer))
    more = [f"{job} ({new[job]})" for job in new.keys() - old.keys()]
    fewer = [f"{job} ({old[job]})" for job in old.keys() - new.keys()]
    facts = {"id": newer.pk, "more": names(sorted(more)), "fewer": names(sorted(fewer))}
    if more and fewer:
        return _("Plan %(id)d is newer: it stops %(more)s, and %(fewer)s no longer.") % facts
    if more:
        return _("Plan %(id)d is newer: it stops %(more)s as well.") % facts
    if fewer:
        return _("Plan %(id)d is newer: it no longer stops %(fewer)s.") % facts
    return _("Plan %(id)d is newer; it stops the same jobs.") % facts


def _not_the_one_seen(plan: Plan, seen: str) -> Iterator[str]:
    if seen != mark_of(plan):
        yield _("It is not the plan that you looked at.")


def _not_seen_lately(cluster: Cluster) -> Iterator[str]:
    if cluster.fault:
        yield _("The cluster cannot be read in full: %(fault)s") % {"fault": cluster.fault}
    elif cluster.observed_at is None:
        yield _("The cluster has not been seen yet.")
    else:
        age = clock.now() - cluster.observed_at
        if age > timedelta(seconds=max(LEAST_FRESH_S, FEW_CYCLES * settings.GIVEWAY_CYCLE_S)):
            yield _("The cluster was last seen %(time)s ago.") % {"time": duration(age.total_seconds())}


def _partition(plan: Plan) -> Partition:
    return Partition.objects.select_related("cluster", "revision").get(
        cluster=plan.cluster_id, name=plan.partition
    )


def _rules_changed(plan: Plan) -> Iterator[str]:
    stands = standing(plan.cluster.name)
    if any(each.partition in ("", plan.partition) for each in stands.streaks):
        yield _("The last cycle failed: nobody is stopped until one has ended well.")
    paused = why_paused(plan.partition, {pause.partition: pause for pause in stands.pauses})
    if paused:
        yield _("Nobody may be stopped now: %(why)s.") % {"why": paused.rstrip(".")}
    revision = _partition(plan).revision
    if revision is not None and revision.number != plan.policy_revision:
        yield _("It was made by policy revision %(old)s; revision %(new)s is in force.") % {
            "old": plan.policy_revision,
            "new": revision.number,
        }


def _victims_changed(plan: Plan) -> Iterator[str]:
    ids = [victim["job"] for victim in plan.victims]
    rows = {row.job_id: row for row in _jobs(plan).filter(job_id__in=ids)}
    stopping = _being_stopped(plan, ids)
    for victim in plan.victims:
        row, who = rows.get(victim["job"]), {"job": victim["job"], "user": victim.get("user", "")}
        run = (victim["job"], victim.get("start", 0), victim.get("restarts", 0))
        if row is None or row.phase != JobPhase.RUNNING:
            yield _("%(job)s (%(user)s) no longer runs.") % who
        elif (row.start, row.restarts) != run[1:]:
            yield _("%(job)s (%(user)s) was started again meanwhile: that is another run.") % who
        elif run in stopping:
            yield _("%(job)s (%(user)s) is being stopped by plan %(plan)d.") % {**who, "plan": stopping[run]}


def _being_stopped(plan: Plan, ids: Sequence[str]) -> dict[tuple[str, int, int], int]:
    """The runs that other plans stop, with the plan."""
    rows = PlannedAction.objects.filter(cluster=plan.cluster_id, job_id__in=ids, kind__in=STOP_KINDS).exclude(
        state=ActionState.EXPIRED
    )
    runs = rows.values_list("job_id", "run_start", "run_restarts", "plan_id")
    return {(job, start, restarts): other for job, start, restarts, other in runs if other != plan.pk}


def _beneficiary_changed(plan: Plan) -> Iterator[str]:
    row = _jobs(plan).filter(job_id=plan.job_id, partition=plan.partition).first()
    who = {"job": plan.job_id, "user": plan.user}
    if row is None or row.phase == JobPhase.ENDED:
        yield _("%(job)s (%(user)s) is no longer in the queue.") % who
    elif row.phase != JobPhase.PENDING:
        yield _("%(job)s (%(user)s) runs already.") % who
    elif row.held:
        yield _("%(job)s (%(user)s) is held.") % who
    elif row.restarts != plan.job_restarts:
        yield _("%(job)s (%(user)s) ran meanwhile and was put back into the queue.") % who


def _jobs(plan: Plan) -> QuerySet[Job]:
    return Job.objects.filter(cluster=plan.cluster_id)
