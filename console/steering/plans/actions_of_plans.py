"""The actions that carry a plan out.

Their order: the beneficiary first in Slurm's line, then checkpoint signals, then the stops after the grace time, then
(when the beneficiary runs, or the plan is undone) the releases.
"""

from datetime import datetime, timedelta

from console.core import clock
from console.steering.models import ActionState, Plan, PlannedAction
from console.steering.served import runs_served
from scheduler.model.actions import FIRST_ALLOW, ActionKind
from scheduler.model.jobs import RunKey
from scheduler.model.plan import How
from scheduler.model.policy import NotRequeueable, PartitionPolicy


def actions_for(plan: Plan, policy: PartitionPolicy) -> list[PlannedAction]:
    """What carries a plan out, in its order; not saved. The grace time begins now.

    Those who want all or none are put first in line when the grace time is over: until then they are held.
    """
    now = clock.now()
    actions = []
    names = {task["job"]: task.get("name", "") for task in plan.tasks}
    for job_id, restarts in runs_served(plan):
        first = planned_action(
            plan,
            2 if plan.whole else 1,
            ActionKind.PRIORITISE,
            RunKey(job_id, 0, restarts),
            value=str(plan.priority),
        )
        first.job_name, first.user = names.get(job_id) or plan.job_name, plan.user
        actions.append(first)
    grace = bool(policy.grace_s and policy.checkpoint_signal)
    for victim in plan.victims:
        run = RunKey(victim["job"], victim["start"], victim["restarts"])
        steps = []
        if grace and not _signalled(plan, run):
            steps.append(
                planned_action(
                    plan, 1 if plan.whole else 2, ActionKind.SIGNAL, run, value=policy.checkpoint_signal
                )
            )
            steps[0].not_before = now
        kind = ActionKind.CANCEL if victim["how"] == How.CANCEL else ActionKind.REQUEUE_HOLD
        stop = planned_action(plan, 3, kind, run, value=_first(kind, policy))
        stop.not_before = now + timedelta(seconds=policy.grace_s) if grace else None
        steps.append(stop)
        if kind == ActionKind.REQUEUE_HOLD:
            steps.append(planned_action(plan, 4, ActionKind.RELEASE, run))
        for step in steps:
            step.job_name, step.user = victim["name"], victim["user"]
        actions += steps
    return actions


def deadline_for(policy: PartitionPolicy) -> datetime:
    """By when the beneficiary of a plan that begins now must run."""
    return clock.now() + timedelta(seconds=policy.grace_s + policy.start_deadline_s)


def _first(kind: ActionKind, policy: PartitionPolicy) -> str:
    """What a stop may do first: who could make itself not requeueable until then gains nothing by it."""
    may = kind == ActionKind.REQUEUE_HOLD and policy.not_requeueable is NotRequeueable.REQUEUE
    return FIRST_ALLOW if may else ""


def planned_action(plan: Plan, order: int, kind: ActionKind, run: RunKey, value: str = "") -> PlannedAction:
    """One action aimed at a run, not saved. `order`: among the actions of its plan."""
    return PlannedAction(
        plan=plan,
        cluster=plan.cluster,
        kind=kind,
        order=order,
        job_id=run.job_id,
        run_start=run.start,
        run_restarts=run.restarts,
        value=value,
    )


def _signalled(plan: Plan, run: RunKey) -> bool:
    """Whether an earlier, undone plan sent this run its checkpoint signal already."""
    return (
        PlannedAction.objects.filter(
            cluster=plan.cluster,
            kind=ActionKind.SIGNAL,
            job_id=run.job_id,
            run_start=run.start,
            run_restarts=run.restarts,
        )
        .exclude(state=ActionState.EXPIRED)
        .exists()
    )
