"""From verdicts to written intents: plans and their actions, in one transaction, before anything is done.

1. A pending job whose verdict is `preempt` gets a plan; a proposed plan that says the same is kept as it is.
2. A proposed plan whose job no longer needs it expires; one that would now stop others is superseded.
3. In `enforce` the plan is approved at once and gets its actions; in `shadow` and `approve` it stays proposed.
4. A job over quota, where the policy holds such jobs, gets a plan of one action: hold it.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from console.cluster.models import Cluster
from console.core import clock
from console.steering.deciding import Verdicts
from console.steering.journal import tell_plan
from console.steering.models import (
    ActionState,
    Cycle,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
    StoredSnapshot,
)
from console.steering.states import move_plan
from scheduler.contracts.snapshot import encode_snapshot
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import Job, RunKey
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.policy import Enforcement, Mode
from scheduler.model.reasons import Reason
from scheduler.model.resources import total
from scheduler.model.snapshot import Snapshot
from scheduler.model.words import amounts

OVER_QUOTA = frozenset({Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED})
FIRST_IN_LINE = 4_294_967_293
"""The highest priority that scontrol takes. Slurm's priority/basic counts down from 4294901760: all of ours stay
above that."""
LEVELS = 20
PLANS = 160
"""How many levels on each axis, and plans of one rank, keep apart in that room; others share a place."""


NewCycle = Callable[[], Cycle]
"""Makes the cycle's row at its first use: a cycle in which nothing is planned is not kept."""


def intend(cluster: Cluster, cycle: NewCycle, verdicts: Verdicts, open_plans: Sequence[Plan]) -> int:
    """Write the intents of one partition; returns how many plans were made. Must run inside a transaction."""
    mine = [plan for plan in open_plans if plan.partition == verdicts.facts.row.name]
    by_job = {plan.job_id: plan for plan in mine}
    jobs = {job.id: job for job in verdicts.snapshot.jobs}
    made = 0
    for decision in verdicts.decisions:
        plan = by_job.pop(decision.job, None)
        job = jobs[decision.job]
        if plan is not None and plan.kind == PlanKind.QUOTA:
            _settle_quota(plan, decision, verdicts)
        elif _wants_hold(decision, verdicts):
            if plan is not None:
                _close_proposal(plan, PlanState.EXPIRED, decision.explain)
            made += _plan_hold(cluster, cycle, verdicts, decision, job)
        else:
            made += _settle_preemption(cluster, cycle, verdicts, decision, plan)
    for plan in by_job.values():
        if plan.kind == PlanKind.PREEMPT:
            _close_proposal(plan, PlanState.EXPIRED, f"{plan.job_id} no longer waits.")
        elif not plan.undo_reason:
            _take_back_hold(plan, f"{plan.job_id} no longer waits.")
    return made


def _settle_preemption(
    cluster: Cluster, cycle: NewCycle, verdicts: Verdicts, decision: Decision, plan: Plan | None
) -> int:
    if plan is not None and plan.state != PlanState.PROPOSED:
        return 0  # It is being carried out: `verifying` looks after it.
    if decision.action != DecisionKind.PREEMPT:
        if plan is not None:
            _close_proposal(plan, PlanState.EXPIRED, decision.explain)
        return 0
    victims = _victims(verdicts, decision)
    enforcement = verdicts.facts.policy.enforcement
    if plan is not None:
        if _runs(plan.victims) == _runs(victims) and plan.enforcement == enforcement.value:
            return 0
        _close_proposal(plan, PlanState.SUPERSEDED, "The facts have changed; a newer plan takes its place.")
    _plan_preemption(cluster, cycle, verdicts, decision, victims)
    return 1


def _close_proposal(plan: Plan, state: PlanState, why: str) -> None:
    if plan.state == PlanState.PROPOSED and move_plan(plan, state, ended_at=clock.now(), outcome=why):
        tell_plan(
            plan,
            f"plan.{state.value}",
            before={"state": "proposed"},
            after={"state": state.value},
            reason=why,
        )


def _runs(victims: Sequence[Mapping[str, object]]) -> set[tuple[object, object, object]]:
    return {(v["job"], v["start"], v["restarts"]) for v in victims}


def _victims(verdicts: Verdicts, decision: Decision) -> list[dict[str, object]]:
    """The victims with what people want to know about them."""
    jobs = {job.id: job for job in verdicts.snapshot.jobs}
    policy = verdicts.facts.policy
    result: list[dict[str, object]] = []
    for victim in decision.victims:
        job = jobs[victim.job]
        result.append(
            {
                "job": job.id,
                "name": job.name,
                "user": job.user,
                "how": victim.how.value,
                "start": job.start or 0,
                "restarts": job.restarts,
                "user_level": policy.level_name(job.user_level),
                "task_level": policy.level_name(job.task_level),
                "resources": amounts(total(job.alloc.values())),
                "ran_s": verdicts.snapshot.now - (job.start or verdicts.snapshot.now),
            }
        )
    return result


def _new_plan(cluster: Cluster, cycle: NewCycle, verdicts: Verdicts, decision: Decision) -> Plan:
    """A plan with what all kinds share, not saved."""
    job = next(job for job in verdicts.snapshot.jobs if job.id == decision.job)
    policy = verdicts.facts.policy
    return Plan(
        cluster=cluster,
        cycle=cycle(),
        partition=verdicts.facts.row.name,
        enforcement=policy.enforcement.value,
        mode=policy.mode.value,
        policy_revision=verdicts.facts.revision,
        job_id=job.id,
        job_restarts=job.restarts,
        job_name=job.name,
        user=job.user,
        reason=decision.reason.value,
        explain=decision.explain,
        created_at=clock.now(),
    )


def _plan_preemption(
    cluster: Cluster,
    cycle: NewCycle,
    verdicts: Verdicts,
    decision: Decision,
    victims: list[dict[str, object]],
) -> None:
    policy = verdicts.facts.policy
    plan = _new_plan(cluster, cycle, verdicts, decision)
    plan.placement = {node: dict(taken) for node, taken in decision.placement.items()}
    plan.victims = victims
    plan.stored_snapshot = _store(verdicts.snapshot)
    enforced = policy.enforcement == Enforcement.ENFORCE
    if enforced:
        plan.state = PlanState.APPROVED
        plan.deadline = plan.created_at + timedelta(seconds=policy.grace_s + policy.start_deadline_s)
    plan.save()
    after = {"state": plan.state, "victims": victims, "nodes": list(decision.nodes), "mode": plan.mode}
    tell_plan(plan, "plan.proposed", after=after, reason=plan.explain)
    if enforced:
        PlannedAction.objects.bulk_create(_actions(plan, verdicts, decision))


def _actions(plan: Plan, verdicts: Verdicts, decision: Decision) -> list[PlannedAction]:
    """First in line, then checkpoint signals, then the stops after the grace time, then (later) the releases."""
    policy = verdicts.facts.policy
    jobs = {job.id: job for job in verdicts.snapshot.jobs}
    beneficiary = jobs[decision.job]
    actions = [_action(plan, 1, ActionKind.PRIORITISE, beneficiary, value=str(_priority(plan, beneficiary)))]
    grace = bool(policy.grace_s and policy.checkpoint_signal)
    for victim in decision.victims:
        job = jobs[victim.job]
        if grace and not _signalled(plan, job.run):
            actions.append(_action(plan, 2, ActionKind.SIGNAL, job, value=policy.checkpoint_signal))
        kind = ActionKind.CANCEL if victim.how == How.CANCEL else ActionKind.REQUEUE_HOLD
        stop = _action(plan, 3, kind, job)
        stop.not_before = plan.created_at + timedelta(seconds=policy.grace_s) if grace else None
        actions.append(stop)
        if kind == ActionKind.REQUEUE_HOLD:
            actions.append(_action(plan, 4, ActionKind.RELEASE, job))
    return actions


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


def _action(plan: Plan, order: int, kind: ActionKind, job: Job, value: str = "") -> PlannedAction:
    return PlannedAction(
        plan=plan,
        cluster=plan.cluster,
        kind=kind,
        order=order,
        job_id=job.id,
        run_start=job.run.start,
        run_restarts=job.run.restarts,
        job_name=job.name,
        user=job.user,
        value=value,
    )


def _priority(plan: Plan, job: Job) -> int:
    """Several beneficiaries keep our own order in Slurm's: by the mode's first level, its second, then plan."""
    user_first = plan.mode in {Mode.USER, Mode.USER_THEN_TASK}
    first, second = (job.user_level, job.task_level) if user_first else (job.task_level, job.user_level)
    ranks = [LEVELS - 1 if level is None else min(level, LEVELS - 1) for level in (first, second)]
    return FIRST_IN_LINE - (ranks[0] * LEVELS + ranks[1]) * PLANS - plan.pk % PLANS


def _store(snapshot: Snapshot) -> StoredSnapshot:
    text = json.dumps(encode_snapshot(snapshot), separators=(",", ":"), sort_keys=True).encode()
    digest = hashlib.sha256(text).hexdigest()
    stored, _ = StoredSnapshot.objects.get_or_create(digest=digest, defaults={"body": zlib.compress(text)})
    return stored


def _wants_hold(decision: Decision, verdicts: Verdicts) -> bool:
    return decision.reason in OVER_QUOTA and verdicts.facts.policy.enforcement == Enforcement.ENFORCE


def _plan_hold(cluster: Cluster, cycle: NewCycle, verdicts: Verdicts, decision: Decision, job: Job) -> int:
    plan = _new_plan(cluster, cycle, verdicts, decision)
    plan.kind = PlanKind.QUOTA
    plan.state = PlanState.APPROVED
    plan.save()
    tell_plan(plan, "plan.proposed", after={"state": plan.state, "hold": job.id}, reason=plan.explain)
    PlannedAction.objects.bulk_create(
        [_action(plan, 1, ActionKind.HOLD, job), _action(plan, 2, ActionKind.RELEASE, job)]
    )
    return 1


def _settle_quota(plan: Plan, decision: Decision, verdicts: Verdicts) -> None:
    if not plan.undo_reason and not _wants_hold(decision, verdicts):
        _take_back_hold(plan, f"{plan.user} is no longer over quota.")


def _take_back_hold(plan: Plan, why: str) -> None:
    Plan.objects.filter(pk=plan.pk).update(undo_reason=why)
    plan.undo_reason = why
