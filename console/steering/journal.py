"""The audit rows of steering, and a line in the log for each: one place that knows how a plan or an action is told.

The line is written when the transaction is through; what is rolled back was never so.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from django.db import transaction

from console.audit.services import SYSTEM, Context, Subject, record
from console.cluster.models import Cluster
from console.core import clock
from console.steering.kinds.swap import is_exchange, runner_of
from console.steering.models import (
    Checkpoint,
    Incident,
    KeptPlace,
    NotRequeued,
    Plan,
    PlanKind,
    PlannedAction,
)
from scheduler.model.actions import ActionKind

LONGEST_NAME = 40
"""Of a user's name in the words that are left with a job; Slurm shows them in one line."""

NAMED_IN_LINE = 500
"""Jobs in one row about the line."""

log = structlog.get_logger(__name__)


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


def tell_plan(  # noqa: PLR0913 - as `record`
    plan: Plan,
    action: str,
    *,
    before: Any = None,
    after: Any = None,
    reason: str = "",
    actor: str = SYSTEM,
    request_id: str = "",
) -> None:
    """Write down what became of a plan."""
    record(
        actor=actor,
        action=action,
        subject=plan_subject(plan),
        before=before,
        after=after,
        reason=reason,
        context=_context(plan, request_id),
    )
    _log(action, plan, state=str(plan.state), actor=actor, reason=reason)


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
    _log(what, plan, kind=action.kind, done_to=action.job_id, outcome=action.outcome, detail=action.detail)


def tell_checkpoint(checkpoint: Checkpoint, *, actor: str = "", request_id: str = "") -> None:
    """Write down that a job has saved its state; without an actor it was read from the job's comment."""
    plan = checkpoint.plan
    run = f"{checkpoint.job_id}@{checkpoint.run_start}#{checkpoint.run_restarts}"
    record(
        actor=actor or SYSTEM,
        action="checkpoint.acknowledged",
        subject=Subject(
            type="job",
            id=run,
            label=f"{checkpoint.job_id} ({checkpoint.user})",
            cluster=plan.cluster.name,
            partition=plan.partition,
            job_id=checkpoint.job_id,
        ),
        after={"job": checkpoint.job_id, "saved": checkpoint.saved, "via": str(checkpoint.via)},
        context=replace(_context(plan), request_id=request_id),
    )


def tell_incident(
    incident: Incident, what: str, *, reason: str, actor: str = SYSTEM, request_id: str = ""
) -> None:
    """Write down that a victim did not come back, or that somebody has closed the incident; and log it."""
    record_incident(incident, what, reason=reason, actor=actor, request_id=request_id)
    where = {"cluster": incident.cluster.name, "partition": incident.partition, "job": incident.job_id}
    tell = log.error if what == "incident.opened" else log.info
    transaction.on_commit(
        partial(tell, what, **where, incident=incident.pk, plan=incident.plan, actor=actor, reason=reason)
    )


def record_incident(
    incident: Incident, what: str, *, reason: str, actor: str = SYSTEM, request_id: str = ""
) -> None:
    """The row of the audit log alone."""
    record(
        actor=actor,
        action=what,
        subject=Subject(
            type="incident",
            id=str(incident.pk),
            label=f"incident {incident.pk} of {incident.job_id} ({incident.user})",
            cluster=incident.cluster.name,
            partition=incident.partition,
            job_id=incident.job_id,
        ),
        after={
            "kind": incident.kind,
            "job": incident.job_id,
            "for": incident.beneficiary,
            "words": incident.words,
        },
        reason=reason,
        context=Context(request_id=request_id, cycle=incident.cluster.cycle, plan=incident.plan),
    )


def tell_not_requeued(row: NotRequeued, what: str, reason: str) -> None:
    """Write down that a job was made not requeueable, what Giveway did about it, or that it is requeueable again."""
    record(
        actor=SYSTEM,
        action=what,
        subject=Subject(
            type="job",
            id=row.job_id,
            label=f"{row.job_id} ({row.user})",
            cluster=row.cluster.name,
            job_id=row.job_id,
        ),
        after={"job": row.job_id, "user": row.user, "outcome": row.outcome, "detail": row.detail},
        reason=reason,
        context=Context(cycle=row.cluster.cycle),
    )
    where = {"cluster": row.cluster.name, "job": row.job_id, "outcome": row.outcome, "detail": row.detail}
    transaction.on_commit(partial(log.info, what, **where))


def words_left(action: PlannedAction) -> str:
    """What is left with a job that is stopped, held or let go on (Slurm's AdminComment); empty for the others."""
    plan = action.plan
    name = "".join(c if c.isprintable() else " " for c in plan.user)[:LONGEST_NAME]
    beneficiary = f"{plan.job_id} ({name})"
    stopped = f"giveway: plan {plan.pk} stopped this job to make room for {beneficiary}"
    if plan.kind == PlanKind.GROW or (is_exchange(plan) and not plan.undo_reason):
        return _left_with_one_that_goes_on(action, beneficiary)
    match action.kind:
        case ActionKind.REQUEUE_HOLD | ActionKind.CANCEL | ActionKind.RECOVER:
            return stopped
        case ActionKind.HOLD if plan.kind == PlanKind.WHOLE:
            return f"giveway: plan {plan.pk} holds this job until all of its group fit (partial=no)"
        case ActionKind.HOLD:
            return f"giveway: plan {plan.pk} holds this job until its user is within quota"
        case ActionKind.RELEASE if plan.kind != PlanKind.PREEMPT:
            return f"giveway: plan {plan.pk} let this job go on"
        case ActionKind.RELEASE if plan.undo_reason:
            return f"{stopped}; that was undone, and it goes on first"
        case ActionKind.RELEASE:
            return f"{stopped}, which runs; it goes on when there is room"
    return ""


def _left_with_one_that_goes_on(action: PlannedAction, beneficiary: str) -> str:
    """With a job that was not stopped to make room, but to start again at once on other nodes."""
    if action.plan.kind == PlanKind.GROW:
        return _left_with_one_that_grows(action)
    if action.kind not in (ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.RELEASE):
        return ""
    runner = runner_of(action.plan)
    nodes = f"{','.join(runner['nodes'])} for {','.join(runner['gets'])}"
    return (
        f"giveway: plan {action.plan.pk} stopped this job to exchange {nodes}, so that it and {beneficiary} have even "
        "sets; it goes on at once"
    )


def _left_with_one_that_grows(action: PlannedAction) -> str:
    (itself,) = action.plan.victims
    if action.plan.undo_reason:
        nodes = itself["before"]
    elif action.kind in (ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.RELEASE):
        nodes = itself["after"]
    else:
        return ""
    return f"giveway: plan {action.plan.pk} restarts this job, which goes on with {nodes} nodes"


def tell_cluster(cluster: Cluster, action: str, reason: str) -> None:
    """Write down that a cluster can no longer, or can again, be observed."""
    record(
        actor=SYSTEM,
        action=action,
        subject=Subject(type="cluster", id=cluster.name, label=cluster.name, cluster=cluster.name),
        reason=reason,
        context=Context(cycle=cluster.cycle),
    )


def tell_kept(place: KeptPlace, *, reason: str = "") -> None:
    """Write down which nodes are kept for a job; with a reason, that none are any more. Renewals are not told."""
    told: dict[str, Any] = {"nodes": place.nodes, "at": place.at, "until": place.until}
    if place.guest_of:
        told["guest_of"] = place.guest_of
    name = place.cluster.name
    record(
        actor=SYSTEM,
        action="nodes.let_go" if reason else "nodes.kept",
        subject=Subject(
            type="job",
            id=place.job_id,
            label=f"{place.job_id} ({place.user})",
            cluster=name,
            partition=place.partition,
            job_id=place.job_id,
        ),
        after=told,
        reason=reason,
        context=Context(cycle=place.cluster.cycle),
    )


def tell_line(cluster: Cluster, partition: str, nice: int, jobs: Sequence[str], *, ordered: bool) -> None:
    """Write down that jobs get another nice: their place in an ordered line, or their own back."""
    record(
        actor=SYSTEM,
        action="line.placed",
        subject=Subject(
            type="partition", id=partition, label=partition, cluster=cluster.name, partition=partition
        ),
        after={
            "nice": nice,
            "jobs": list(jobs[:NAMED_IN_LINE]),
            "count": len(jobs),
            "order": "levels" if ordered else "slurm",
        },
        context=Context(cycle=cluster.cycle),
    )


def _log(event: str, plan: Plan, **facts: object) -> None:
    if clock.is_made_up():
        return
    where = {"cluster": plan.cluster.name, "partition": plan.partition, "plan": plan.pk, "job": plan.job_id}
    transaction.on_commit(partial(log.info, event, **where, **facts))


def _context(plan: Plan, request_id: str = "") -> Context:
    return Context(
        request_id=request_id, cycle=plan.cycle.number, plan=plan.pk, policy_revision=plan.policy_revision
    )
