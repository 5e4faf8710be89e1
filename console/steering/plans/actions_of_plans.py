"""The actions that carry a plan out.

Their order: the beneficiary first in Slurm's line, then checkpoint signals, then the stops after the grace time, then
(when the beneficiary runs, or the plan is undone) the releases. Who becomes smaller by a restart gets its number of
nodes as soon as it waits held; who does so in place gives back nodes instead of being stopped. Who exchanges a node is
not held when it is stopped, and starts again at once (`exchanging`).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from console.core import clock
from console.steering.models import ActionState, Plan, PlannedAction
from console.steering.served import runs_served
from scheduler.model.actions import FIRST_ALLOW, NOT_HELD, ActionKind
from scheduler.model.jobs import RunKey
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.plan import How, Shrinking
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
    grace = timedelta(seconds=policy.grace_s) if policy.checkpoint_signal else timedelta()
    stops = any(victim.get("by") != Shrinking.INPLACE for victim in plan.victims)
    for victim in plan.victims:
        if victim.get("by") == Shrinking.INPLACE:
            steps = [_shrink(plan, victim, now + grace if grace and stops else None)]
        else:
            steps = _stop(plan, victim, policy, grace)
        for step in steps:
            step.job_name, step.user = victim["name"], victim["user"]
        actions += steps
    return actions


def _shrink(plan: Plan, victim: Mapping[str, Any], at: datetime | None) -> PlannedAction:
    """Nothing of the job is stopped but what runs on the nodes that it gives up: it gets no signal."""
    step = planned_action(plan, 3, ActionKind.SHRINK, _run(victim), value=",".join(victim["keeps"]))
    step.not_before = at
    return step


def _stop(
    plan: Plan, victim: Mapping[str, Any], policy: PartitionPolicy, grace: timedelta
) -> list[PlannedAction]:
    """Signal, stop after the grace time, and the way back."""
    run, now, steps = _run(victim), clock.now(), list[PlannedAction]()
    if grace and not _signalled(plan, run):
        order = 1 if plan.whole else 2
        steps.append(planned_action(plan, order, ActionKind.SIGNAL, run, value=policy.checkpoint_signal))
        steps[0].not_before = now
    kind = ActionKind.CANCEL if victim["how"] == How.CANCEL else ActionKind.REQUEUE_HOLD
    swaps = victim["how"] == How.SWAP
    stop = planned_action(plan, 3, kind, run, value=NOT_HELD if swaps else _first(kind, policy))
    stop.not_before = now + grace if grace else None
    steps.append(stop)
    if kind == ActionKind.REQUEUE_HOLD:
        restarts = victim.get("by") == Shrinking.RESTART
        if restarts:
            steps.append(_resize(plan, victim, len(victim["keeps"])))
        # Who only becomes smaller goes on at once, before everybody for whom no room was made.
        first = str(LAST_OF_FRONT) if restarts or swaps else ""
        steps.append(planned_action(plan, 4, ActionKind.RELEASE, run, value=first))
    return steps


def _run(victim: Mapping[str, Any]) -> RunKey:
    return RunKey(victim["job"], victim["start"], victim["restarts"])


def _resize(plan: Plan, victim: Mapping[str, Any], nodes: int) -> PlannedAction:
    """Another number of nodes for a job that was put back: the action is aimed at the run that it waits for."""
    run = RunKey(victim["job"], 0, victim["restarts"] + 1)
    return planned_action(plan, 4, ActionKind.RESIZE, run, value=str(nodes))


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
