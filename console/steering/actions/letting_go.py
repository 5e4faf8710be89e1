"""When jobs that are held until all of their group fit are let go: together, when their plan stops others for them.

Giveway lets them go whatever else happens to it: a cycle of any later worker does so as soon as the partition no longer
carries out plans, has no policy any more, or a day has passed. A job that its own user holds meanwhile stays held.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from console.core import clock
from console.steering.actions.orphaned_holds import HELD_BY_USER
from console.steering.actions.undoing import expire
from console.steering.decisions.facts import PartitionFacts
from console.steering.decisions.held_together import is_held_by_user
from console.steering.models import ActionState, Plan, PlanKind
from console.steering.served import jobs_served
from scheduler.model.actions import STOPPING, ActionKind
from scheduler.model.jobs import ObservedJob
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import say

Jobs = Mapping[str, ObservedJob]


def watch_hold(plan: Plan, jobs: Jobs, facts: PartitionFacts | None) -> str:
    """Why a hold is to be given up, in words; empty when it is not. Must run inside a transaction."""
    for action in plan.actions.all():
        if action.kind == ActionKind.RELEASE and is_held_by_user(jobs.get(action.job_id)):
            expire(action, HELD_BY_USER)
    if plan.undo_reason:
        return ""
    if facts is None or facts.policy.enforcement == Enforcement.SHADOW or not facts.policy.units:
        return say("plan.not_carried_out")
    if plan.deadline and clock.now() > plan.deadline:
        Plan.objects.filter(pk=plan.pk).update(not_started=True)
        plan.not_started = True
        return say("whole.too_long")
    return ""


def due_to_be_let_go(plans: Collection[Plan]) -> Iterable[tuple[Plan, Plan]]:
    """The holds whose jobs have their turn, each with the plan for which that is so."""
    holds = [plan for plan in plans if plan.kind == PlanKind.WHOLE and not plan.undo_reason]
    for plan in plans if holds else ():
        if plan.kind == PlanKind.PREEMPT and not plan.undo_reason and _stops_now(plan, clock.now()):
            served = set(jobs_served(plan))
            yield from ((hold, plan) for hold in holds if not served.isdisjoint(jobs_served(hold)))


def still_held(plans: Iterable[Plan], jobs: Iterable[ObservedJob]) -> frozenset[str]:
    """The jobs that cannot be put first in line yet, because we hold them."""
    ours = {job_id for plan in plans if plan.kind == PlanKind.WHOLE for job_id in jobs_served(plan)}
    return frozenset(job.id for job in jobs if job.id in ours and job.held) if ours else frozenset()


def _stops_now(plan: Plan, now: datetime) -> bool:
    """Whether the grace time of its victims is over, if there are any."""
    for action in plan.actions.all():
        if action.kind == ActionKind.SIGNAL and action.state in (ActionState.PLANNED, ActionState.EXECUTING):
            return False
        waits = action.kind in STOPPING and action.state == ActionState.PLANNED
        if waits and action.not_before is not None and action.not_before > now:
            return False
    return True
