"""Standing requests: where a person is asked, a job's proposal keeps its number, its page and its place in the list.

1. When facts change, it is renewed in place, no more often than `proposals` replaces one elsewhere. What was shown
   before is kept (`versions`).
2. While nothing can be done for its job it stands, with the reason. It can be approved again as soon as that is over.
3. It ends when its job starts or leaves the queue, when somebody decides, or when the partition no longer asks.
"""

from typing import Any

from console.core import clock
from console.steering.decisions.deciding import Verdicts
from console.steering.journal import tell_plan
from console.steering.models import Plan, PlanState
from console.steering.plans.new_plans import LONGEST_USER, NewPlans, still_runs, victims_of
from console.steering.plans.proposals import Proposals
from console.steering.plans.versions import keep_version
from console.steering.served import runs_served
from scheduler.model.jobs import JobState
from scheduler.model.plan import Decision
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import say

RENEWED = (
    "cycle", "mode", "policy_revision", "job_id", "job_restarts", "job_submit", "job_name", "tasks", "whole", "group",
    "likeness", "reason", "explain", "placement", "victims", "passed_over", "stored_snapshot",
)  # fmt: skip


def settle_request(new: NewPlans, decision: Decision, plan: Plan, proposals: Proposals) -> Plan | None:
    """Bring a standing request up to date; returned if it can be carried out now."""
    if not new.makes_room(decision):
        _not_now(plan, decision.explain)
        return None
    victims = victims_of(decision, new.verdicts)
    why = proposals.why_replaced(plan, decision, victims)
    if not why:
        _not_now(plan, "")
        return plan
    return plan if proposals.one_more() and _renew(new, decision, plan, victims, why) else None


def why_over(plan: Plan, verdicts: Verdicts) -> str:
    """Why a standing request is over although its job waits, in words; empty when it is not."""
    enforcement = verdicts.facts.policy.enforcement
    if enforcement != Enforcement.APPROVE:
        return say("plan.asked_no_more", enforcement=say(f"enforcement.{enforcement.value}"))
    runs = [(verdicts.jobs.get(job_id), restarts) for job_id, restarts in runs_served(plan)]
    if not any(job is not None and job.user[:LONGEST_USER] == plan.user for job, _restarts in runs):
        return say("plan.left", job=plan.job_id)  # Another user's job has its number by now.
    if not any(job is not None and job.restarts == restarts for job, restarts in runs):
        return say("plan.ran_meanwhile", job=plan.job_id)
    return ""


def why_departed(plan: Plan, verdicts: Verdicts) -> str:
    """Why a job no longer waits, in words."""
    job = verdicts.jobs.get(plan.job_id)
    if job is not None and job.state is JobState.RUNNING:
        return say("plan.started_alone", job=plan.job_id)
    return say("plan.left", job=plan.job_id)


def _not_now(plan: Plan, why: str) -> None:
    """Nothing is written down of this in the audit log: nobody is asked for anything new."""
    if plan.not_now != why and Plan.objects.filter(pk=plan.pk, state=PlanState.PROPOSED).update(not_now=why):
        plan.not_now = why


def _renew(new: NewPlans, decision: Decision, plan: Plan, victims: list[dict[str, Any]], why: str) -> bool:
    """The request as it is now. False when somebody decided at this moment."""
    before = {"version": plan.version, "victims": plan.victims}
    ended = [victim["job"] for victim in plan.victims if not still_runs(victim, new.verdicts)]
    keep_version(plan)  # of a plan that an earlier release made
    fresh = new.worked_out(decision, victims)
    changes: dict[str, Any] = {name: getattr(fresh, name) for name in RENEWED}
    changes |= {"alternatives": [], "not_now": "", "version": plan.version + 1, "renewed_at": clock.now()}
    fresh.pk = plan.pk  # its number is part of its place in line
    changes["priority"] = new.priority_of(fresh)
    if not Plan.objects.filter(pk=plan.pk, state=PlanState.PROPOSED).update(**changes):
        return False
    for name, value in changes.items():
        setattr(plan, name, value)
    keep_version(plan, ended)
    tell_plan(
        plan, "plan.renewed", before=before, after={"version": plan.version, "victims": victims}, reason=why
    )
    return True
