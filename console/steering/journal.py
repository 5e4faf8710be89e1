"""The audit rows of steering: one place that knows how a plan or an action is told."""

from typing import Any

from console.audit.services import SYSTEM, Context, Subject, record
from console.cluster.models import Cluster
from console.steering.models import Plan, PlannedAction


def plan_subject(plan: Plan) -> Subject:
    """A plan as the subject of an audit row."""
    return Subject(
        type="plan",
        id=str(plan.pk),
        label=f"plan {plan.pk} for {plan.job_id} ({plan.user})",
        cluster=plan.cluster.name,
        partition=plan.partition,
        job_id=plan.job_id,
    )


def tell_plan(
    plan: Plan, action: str, *, before: Any = None, after: Any = None, reason: str = "", actor: str = SYSTEM
) -> None:
    """Write down what became of a plan."""
    record(
        actor=actor,
        action=action,
        subject=plan_subject(plan),
        before=before,
        after=after,
        reason=reason,
        context=_context(plan),
    )


def tell_action(action: PlannedAction, what: str, *, reason: str = "") -> None:
    """Write down what became of one action; the row is found under the job it was done to."""
    plan = action.plan
    record(
        actor=SYSTEM,
        action=what,
        subject=Subject(
            type="job",
            id=f"{action.job_id}@{action.run_start}#{action.run_restarts}",
            label=f"{action.kind} {action.job_id} ({action.user})",
            cluster=plan.cluster.name,
            partition=plan.partition,
            job_id=action.job_id,
        ),
        after={
            "kind": action.kind,
            "job": action.job_id,
            "for": plan.job_id,
            "outcome": action.outcome,
            "detail": action.detail,
        },
        reason=reason or plan.explain,
        context=_context(plan),
    )


def tell_cluster(cluster: Cluster, action: str, reason: str) -> None:
    """Write down that a cluster can no longer, or can again, be observed."""
    record(
        actor=SYSTEM,
        action=action,
        subject=Subject(type="cluster", id=cluster.name, label=cluster.name, cluster=cluster.name),
        reason=reason,
        context=Context(cycle=cluster.cycle),
    )


def _context(plan: Plan) -> Context:
    return Context(cycle=plan.cycle.number, plan=plan.pk, policy_revision=plan.policy_revision)
