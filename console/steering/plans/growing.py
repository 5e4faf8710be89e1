"""Plans by which a job that was made smaller starts again on more nodes.

Such a plan is for the job itself, which is its own victim. Its steps: checkpoint signal; once the job has said that it
has saved its state, requeue (held); the larger number of nodes; release to the front of the line.
Where a person approves plans there is none: nobody is asked about it.
"""

from dataclasses import replace
from datetime import timedelta

from console.core import clock
from console.steering.journal import tell_plan
from console.steering.models import Plan, PlanKind, PlannedAction, PlanState
from console.steering.plans.actions_of_plans import deadline_for, planned_action
from console.steering.plans.new_plans import NewPlans, victims_of
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import RunKey
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.plan import DecidedVictim, Decision, DecisionKind, How, Shrinking
from scheduler.model.policy import Enforcement, PartitionPolicy


def settle_growth(new: NewPlans, decision: Decision, plan: Plan | None) -> bool:
    """The plan of a job that is to grow, if it is to have one and has none; whether one was made."""
    elastic = new.verdicts.jobs[decision.job].elastic
    if plan is not None or elastic is None or elastic.by is None:
        return False
    enforcement = new.verdicts.facts.policy.enforcement
    if enforcement == Enforcement.APPROVE or (new.is_held and enforcement == Enforcement.ENFORCE):
        return False
    _make(new, decision)
    return True


def grows(decision: Decision) -> bool:
    """Whether a decision is about a running job that gets nodes back."""
    return decision.action is DecisionKind.GROW


def _make(new: NewPlans, decision: Decision) -> None:
    policy = new.verdicts.facts.policy
    job = new.verdicts.jobs[decision.job]
    least = job.elastic.min_nodes or 0 if job.elastic else 0
    itself = DecidedVictim(job.id, How.NODES, gets=decision.nodes, least=least, by=Shrinking.RESTART)
    (victim,) = victims_of(replace(decision, victims=(itself,)), new.verdicts)
    before = len(job.alloc)
    victim["gets"] = list(decision.nodes)
    victim["before"], victim["after"] = before, before + len(decision.nodes)
    if job.elastic:
        victim["ends_at"], victim["restart_s"] = job.elastic.ends_at, job.elastic.restart_s
    victim["each"] |= {node: dict(part) for node, part in decision.placement.items()}
    plan = new.worked_out(decision, [victim])
    plan.kind = PlanKind.GROW
    if policy.enforcement == Enforcement.ENFORCE:
        plan.state, plan.deadline = PlanState.APPROVED, deadline_for(policy)
    plan.save()
    after = {"state": plan.state, "victims": plan.victims, "nodes": list(decision.nodes), "mode": plan.mode}
    tell_plan(plan, "plan.proposed", after=after, reason=plan.explain)
    if plan.state == PlanState.APPROVED:
        PlannedAction.objects.bulk_create(_actions(plan, job.run, timedelta(seconds=policy.grace_s), policy))


def _actions(plan: Plan, run: RunKey, grace: timedelta, policy: PartitionPolicy) -> list[PlannedAction]:
    """The stop has until the end of the grace time to be allowed by the job's own word, and is never done without."""
    (victim,) = plan.victims
    now = clock.now()
    signal = planned_action(plan, 2, ActionKind.SIGNAL, run, value=policy.checkpoint_signal)
    stop = planned_action(plan, 3, ActionKind.REQUEUE_HOLD, run)
    signal.not_before, stop.not_before = now, now + grace
    again = RunKey(run.job_id, 0, run.restarts + 1)
    steps = [
        signal,
        stop,
        planned_action(plan, 4, ActionKind.RESIZE, again, value=str(victim["after"])),
        planned_action(plan, 4, ActionKind.RELEASE, run, value=str(LAST_OF_FRONT)),
    ]
    for step in steps:
        step.job_name, step.user = victim["name"], victim["user"]
    return steps
