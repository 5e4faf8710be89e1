"""All or none: the waiting jobs of a group whose user says `partial=no` are held until there is room for all of them.

1. Who asks for it, and waits, is held by a plan of its own kind as long as there is no room for all: in `enforce` and
   in `approve`, because its user wants it and nobody else is touched. In `shadow` it is only told.
2. When there is room, or others are to be stopped, an ordinary plan puts all of them first in line; it is that plan's
   turn that lets them go, together and right before the stops (`actions.letting_go`). Where a person decides on plans,
   room that is free needs no decision: they are let go as they are.
3. The hold is over as well when fewer than two of them wait, when their words have changed, and after a day at the
   latest. A group that was let go because of the time, or that could not be held, is not held again for another day.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import Q

from console.core import clock
from console.steering.ledger import request_undo
from console.steering.models import BEGUN_STATES, ActionState, Plan, PlanKind
from console.steering.plans.new_plans import NewPlans
from console.steering.served import jobs_served
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.plan import MAKES_ROOM, Decision, DecisionKind
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import Sentence, say
from scheduler.preemption.units.groups import whole_groups

NOT_AGAIN = timedelta(days=1)
"""How long a group is left alone that could not be held, or was held for too long."""

Tasks = tuple[SnapshotJob, ...]


def settle_holds(new: NewPlans, open_plans: Sequence[Plan]) -> int:
    """Begin, extend and end the holds of one partition; returns how many were begun. Must run inside a transaction."""
    verdicts = new.verdicts
    name = verdicts.facts.row.name
    served = _served(open_plans)
    wanted = _wanted(new)
    tasks_of = {task.id: tasks for tasks in wanted for task in tasks}
    settled = set(served)
    decisions = {decision.job: decision for decision in verdicts.decisions}
    for hold in open_plans:
        if hold.kind != PlanKind.WHOLE or hold.partition != name:
            continue
        ids = jobs_served(hold)
        tasks = next((tasks_of[job_id] for job_id in ids if job_id in tasks_of), ())
        settled.update(ids, (task.id for task in tasks))
        if hold.undo_reason or not served.isdisjoint(ids):
            continue
        if why := _why_over(new, tasks, decisions):
            request_undo(hold, why)
        else:
            new.hold_more(hold, tasks)
    made = 0
    for tasks in wanted:
        decision = decisions[tasks[0].id]
        if settled.isdisjoint(task.id for task in tasks) and _may_hold(new, tasks, decision):
            new.hold_together(tasks, decision)
            made += 1
    return made


def _served(plans: Iterable[Plan]) -> set[str]:
    """The jobs for which room is being made, or that are put first in line."""
    return {
        job_id
        for plan in plans
        if plan.kind == PlanKind.PREEMPT and plan.state in BEGUN_STATES and not plan.undo_reason
        for job_id in jobs_served(plan)
    }


def _wanted(new: NewPlans) -> list[Tasks]:
    """The groups that want all or none; who is put off after a plan that came to nothing still belongs to its group."""
    snapshot = new.verdicts.snapshot
    jobs = tuple(replace(job, blocked="") if _is_put_off(job) else job for job in snapshot.jobs)
    return whole_groups(replace(snapshot, jobs=jobs))


def _is_put_off(job: SnapshotJob) -> bool:
    return isinstance(job.blocked, Sentence) and job.blocked.code.startswith("put_off.")


def _why_over(new: NewPlans, tasks: Tasks, decisions: dict[str, Decision]) -> str:
    """Why some tasks are to be held no longer, in words; empty when they are."""
    if not tasks:
        return say("whole.over")
    asks = new.verdicts.facts.policy.enforcement == Enforcement.APPROVE
    if asks and decisions[tasks[0].id].action is DecisionKind.START:
        return say("whole.room")
    return ""


def _may_hold(new: NewPlans, tasks: Tasks, decision: Decision) -> bool:
    policy = new.verdicts.facts.policy
    if new.is_held or policy.enforcement == Enforcement.SHADOW or decision.action is DecisionKind.START:
        return False
    if any(task.state is not JobState.PENDING for task in tasks):
        return False
    at_once = policy.enforcement == Enforcement.ENFORCE and not (policy.grace_s and policy.checkpoint_signal)
    if decision.action in MAKES_ROOM and at_once:
        return False  # The others are stopped in this very cycle.
    return not _was_in_vain(new, tasks[0].group)


def _was_in_vain(new: NewPlans, group: str) -> bool:
    """Whether the group was held for too long, or could not be held, a short time ago."""
    before = Plan.objects.filter(
        cluster=new.cluster, kind=PlanKind.WHOLE, group=group, created_at__gte=clock.now() - 2 * NOT_AGAIN
    )
    failed = Q(actions__kind=ActionKind.HOLD, actions__state=ActionState.FAILED)
    return before.filter(failed | Q(not_started=True), ended_at__gte=clock.now() - NOT_AGAIN).exists()
