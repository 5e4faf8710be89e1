"""What one cycle intends in one partition: its new plans, and who is patient, with what is told of its decisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from console.cluster.models import Job as MirroredJob
from console.core import clock
from console.steering.context import CycleContext
from console.steering.cycle_report import Report
from console.steering.decisions.deciding import Verdicts
from console.steering.decisions.facts import Facts
from console.steering.decisions.looking_again import may_go_on
from console.steering.decisions.patience import remember_patience
from console.steering.decisions.rejections import declined_starts
from console.steering.journal import tell_plan
from console.steering.kept_cycle import KeptCycle
from console.steering.ledger import request_undo
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction, PlanState
from console.steering.plans.actions_of_plans import deadline_for, planned_action
from console.steering.plans.new_plans import NewPlans, still_runs, tasks_in, victims_of
from console.steering.plans.proposals import Proposals
from console.steering.plans.standing import settle_request, why_departed, why_over
from console.steering.plans.starting import left_waiting
from console.steering.plans.together import settle_holds
from console.steering.served import jobs_served
from console.steering.states import move_action, move_plan
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, RunKey, SnapshotJob
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.plan import MAKES_ROOM, DecidedVictim, Decision, DecisionKind, How, Shrinking
from scheduler.model.policy import Enforcement, PartitionPolicy, VictimOrder
from scheduler.model.reasons import Reason
from scheduler.model.sentence import say
from scheduler.model.snapshot import Snapshot
from scheduler.reconcile.decide import decide

# --- What else could be done, for the person who is asked to approve a plan: the same moment, planned again
# differently.
# 1. Waiting: when Slurm itself expects the job to start, if it does.
# 2. The other order of victims (the shortest runs first, or the least lost work).
# 3. Whom it would take if this plan's victims were spared.
#
# Planning costs time in a large partition, so each cycle does it for a few plans only; the others follow.


PER_CYCLE = 3
"""How many plans get their alternatives in one cycle."""
SPARED = say("alternative.spared")

WAIT, ORDER, SPARE = "wait", "other_order", "spare"


def add_alternatives(plans: Iterable[Plan], verdicts: Verdicts) -> None:
    """Give the plans whose alternatives are not there, or have changed, theirs: as many as a cycle has time for.

    The verdicts must be those that the plans rest on: of the cycle that made them, or of one that left them alone.
    """
    for plan in [plan for plan in plans if _wants_some(plan, verdicts)][:PER_CYCLE]:
        plan.alternatives = [_waiting(plan), _other_order(plan, verdicts), _sparing(plan, verdicts)]
        plan.save(update_fields=["alternatives"])


def _wants_some(plan: Plan, verdicts: Verdicts) -> bool:
    """There are none yet, or a job that one of them would stop no longer runs."""
    return not plan.alternatives or any(
        not still_runs(victim, verdicts) for each in plan.alternatives for victim in each["victims"]
    )


def _waiting(plan: Plan) -> dict[str, Any]:
    row = MirroredJob.objects.filter(cluster=plan.cluster_id, job_id=plan.job_id, partition=plan.partition)
    expected = row.values_list("estimated_start", flat=True).first()
    return {"kind": WAIT, "possible": True, "starts_at": expected, "victims": [], "nodes": [], "explain": ""}


def _other_order(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    rules = verdicts.snapshot.partition
    least = rules.victim_order is VictimOrder.LEAST_LOST_WORK
    order = VictimOrder.SHORTEST_RUNTIME if least else VictimOrder.LEAST_LOST_WORK
    snapshot = replace(
        verdicts.snapshot,
        partition=replace(rules, victim_order=order),
        jobs=tuple(_until(plan.job_id, verdicts)),
    )
    return {"kind": ORDER, "order": order.value, **_outcome(plan, snapshot, verdicts)}


def _sparing(plan: Plan, verdicts: Verdicts) -> dict[str, Any]:
    spared = {victim["job"] for victim in plan.victims}
    jobs = (
        replace(job, preemptable=False, protected=SPARED) if job.id in spared else job
        for job in _until(plan.job_id, verdicts)
    )
    return {"kind": SPARE, **_outcome(plan, replace(verdicts.snapshot, jobs=tuple(jobs)), verdicts)}


def _until(beneficiary: str, verdicts: Verdicts) -> Iterable[SnapshotJob]:
    """The jobs without the pending ones that are decided after the beneficiary: they change nothing for it."""
    order = [decision.lead or decision.job for decision in verdicts.decisions]
    # Its array's tasks stand behind it, with those of them that get no room now.
    place = max(n for n, job in enumerate(order) if job == beneficiary)
    array = verdicts.jobs[beneficiary].group
    after = {
        decision.job
        for decision in verdicts.decisions[place + 1 :]
        if not array or verdicts.jobs[decision.job].group != array
    }
    return (job for job in verdicts.snapshot.jobs if job.state is not JobState.PENDING or job.id not in after)


def _outcome(plan: Plan, snapshot: Snapshot, verdicts: Verdicts) -> dict[str, Any]:
    decision = next(each for each in decide(snapshot).decisions if each.job == plan.job_id)
    possible = decision.action in MAKES_ROOM
    return {
        "possible": possible,
        "victims": victims_of(decision, verdicts) if possible else [],
        "nodes": list(decision.nodes),
        "placement": {node: dict(taken) for node, taken in decision.placement.items()} if possible else {},
        "tasks": tasks_in(decision, verdicts) if possible else [],
        "explain": decision.explain,
    }


# --- Which open plan is about which decision, where plans and decisions may be about several tasks of an array.
# An array changes while its request stands: a task starts in free room, others are added to those that get room. So a
# plan follows its tasks:
# 1. it goes to the decision that makes room for its first task, as the first one;
# 2. else to the one that makes room for any of its tasks; if that has a plan already, the plan has joined that one;
# 3. else to the first decision about any of its tasks.
# A plan that is being carried out comes before a proposal: nothing new is begun for its tasks until it is over.


class PlanClaims:
    """The open plans of one partition in one cycle, each with the decision that it is about.

    `left`: plans about whose jobs nothing was decided: they no longer wait. `joined`: proposals for tasks that are now
    planned together with others, with the id of the first of these.
    """

    def __init__(self, verdicts: Verdicts, open_plans: Sequence[Plan]) -> None:
        name = verdicts.facts.row.name
        plans = [plan for plan in open_plans if plan.partition == name]
        self._of: dict[str, Plan] = {}
        self.joined: list[tuple[Plan, str]] = []
        self._claimed: set[int] = set()
        own = {plan.job_id: plan for plan in plans}
        serving: dict[str, list[Plan]] = {}
        for plan in plans:
            for job_id in jobs_served(plan):
                serving.setdefault(job_id, []).append(plan)
        making_room = [decision for decision in verdicts.decisions if decision.victims]
        for decision in making_room:
            self._claim(decision, filter(None, [own.get(decision.job)]))
        for decision in making_room:
            jobs = [task.job for task in decision.tasks] or [decision.job]
            self._claim(decision, (plan for job_id in jobs for plan in serving.get(job_id, ())))
        for decision in verdicts.decisions:
            if not decision.victims and not decision.lead:
                self._claim(decision, serving.get(decision.job, ()))
        self.left = [plan for plan in plans if plan.pk not in self._claimed]

    def of(self, decision: Decision) -> Plan | None:
        """The open plan that a decision is about, if there is one."""
        return self._of.get(decision.job)

    def _claim(self, decision: Decision, plans: Iterable[Plan]) -> None:
        found = {plan.pk: plan for plan in plans if plan.pk not in self._claimed}
        self._claimed.update(found)
        for plan in sorted(found.values(), key=lambda plan: (plan.state == PlanState.PROPOSED, plan.pk)):
            if decision.job not in self._of:
                self._of[decision.job] = plan
            elif plan.state == PlanState.PROPOSED:
                self.joined.append((plan, decision.job))


# --- Plans by which a job that was made smaller starts again on more nodes ---
# Such a plan is for the job itself, which is its own victim. Its steps: checkpoint signal; once the job has said that
# it has saved its state, requeue (held); the larger number of nodes; release to the front of the line. Where a person
# approves plans there is none: nobody is asked about it.


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


# --- From verdicts to written intents: plans and their actions, in one transaction, before anything is done ---
# 1. A pending job whose verdict is `preempt` gets a plan; proposals that stand (`proposals`) are kept as they are.
# 2. In `shadow` a proposed plan whose job no longer needs it expires; one that would no longer work is superseded.
#    In `approve` it stands until its job does not wait any more, and is renewed in place (`standing`).
# 3. In `enforce` the plan is approved at once and gets its actions; in `shadow` and `approve` it stays proposed.
# 4. An approved plan that has not begun yet does not begin if its job left the queue, the partition was paused or its
#    policy no longer stops anybody.
# 5. A job over quota, where the policy holds such jobs, gets a plan of one action: hold it.
# 6. Jobs whose user wants all of their group or none are held until there is room for all (`together`).
# While a failure holds the partition (`streaks`) there is no new plan that would be carried out without being asked
# for.


OVER_QUOTA = frozenset({Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED})


def intend(new: NewPlans, open_plans: Sequence[Plan]) -> int:
    """Write the intents of one partition; returns how many plans were made. Must run inside a transaction."""
    verdicts = new.verdicts
    claims = PlanClaims(verdicts, [plan for plan in open_plans if plan.kind != PlanKind.WHOLE])
    for other, joined in claims.joined:
        _close_proposal(other, PlanState.SUPERSEDED, say("plan.asked_together", job=joined))
    for start in open_plans:
        if verdicts.starts_given_up.intersection(jobs_served(start)):
            request_undo(start, say("start.given_up", job=start.job_id))
    made = 0
    asked: list[Plan] = []
    proposals = Proposals(verdicts)
    for decision in verdicts.decisions:
        if decision.lead:
            continue  # The first of its tasks speaks for it.
        plan = claims.of(decision)
        if grows(decision):
            made += settle_growth(new, decision, plan)
        elif (plan is not None and plan.kind == PlanKind.QUOTA) or _wants_hold(decision, verdicts):
            made += _settle_quota(new, decision, plan)
        else:
            now_open = _settle_preemption(new, decision, plan, proposals)
            made += now_open is not None and now_open is not plan
            if now_open is not None and now_open.enforcement == Enforcement.APPROVE:
                asked.append(now_open)
    new.keep()
    _settle_departed(claims.left, verdicts)
    add_alternatives(asked, verdicts)
    return made + settle_holds(new, open_plans)


def _settle_quota(new: NewPlans, decision: Decision, plan: Plan | None) -> bool:
    """Hold a job over quota, or no more; whether a plan was made for that."""
    wanted = _wants_hold(decision, new.verdicts)
    if plan is not None and plan.kind == PlanKind.QUOTA:
        if not wanted:
            request_undo(plan, say("plan.quota_kept", user=plan.user))
        return False
    if new.is_held or (plan is not None and not _close_proposal(plan, PlanState.EXPIRED, decision.explain)):
        return False
    new.hold(decision)
    return True


def _settle_preemption(
    new: NewPlans, decision: Decision, plan: Plan | None, proposals: Proposals
) -> Plan | None:
    """The job's proposal from now on, new or kept, if it is to have one."""
    if plan is not None and plan.state != PlanState.PROPOSED:
        _withdraw_what_may_not_begin(plan, new.verdicts)
        return None  # It is being carried out: `verifying` looks after it.
    if plan is not None and plan.awaits_decision:
        why = why_over(plan, new.verdicts)
        if not why:
            return settle_request(new, decision, plan, proposals)
        _close_proposal(plan, PlanState.EXPIRED, why)
        return None  # If its job still needs room, the next cycle says so.
    if not new.makes_room(decision):
        if plan is not None:
            _close_proposal(plan, PlanState.EXPIRED, decision.explain)
        return None
    if plan is not None:
        why = proposals.why_replaced(plan, decision, victims_of(decision, new.verdicts))
        if not why:
            return plan
        if not _close_proposal(plan, PlanState.SUPERSEDED, why):
            return None  # Somebody decided on it at this moment.
    if new.is_held and new.verdicts.facts.policy.enforcement == Enforcement.ENFORCE:
        return None
    return new.make_room(decision, victims_of(decision, new.verdicts)) if proposals.one_more() else None


def _withdraw_what_may_not_begin(plan: Plan, verdicts: Verdicts) -> None:
    if plan.state != PlanState.APPROVED:
        return
    if not may_go_on(plan, verdicts.facts):
        _withdraw(plan, say("plan.not_carried_out"))
    elif verdicts.facts.paused:
        _withdraw(plan, say("plan.none_to_stop", why=verdicts.facts.paused))


def _withdraw(plan: Plan, why: str) -> None:
    """An approved plan that has not begun: nothing of it is done."""
    if not move_plan(plan, PlanState.EXPIRED, ended_at=clock.now(), outcome=why):
        return
    for action in plan.actions.all():
        move_action(action, ActionState.EXPIRED, detail=why)
    tell_plan(plan, "plan.expired", before={"state": "approved"}, after={"state": "expired"}, reason=why)


def _settle_departed(plans: Iterable[Plan], verdicts: Verdicts) -> None:
    """Plans of jobs that no longer wait in the partition."""
    for plan in plans:
        why = say("again.waits_no_more", job=plan.job_id)
        if plan.kind == PlanKind.GROW:
            # What is carried out is looked after by `actions.growing`; its job runs, and nothing is decided of it.
            _close_proposal(plan, PlanState.EXPIRED, say("plan.victim_differs", job=plan.job_id))
        elif plan.kind != PlanKind.PREEMPT:
            request_undo(plan, why)
        elif plan.state == PlanState.APPROVED:
            _withdraw(plan, why)
        else:
            over = why_departed(plan, verdicts) if plan.awaits_decision else why
            _close_proposal(plan, PlanState.EXPIRED, over)


def _close_proposal(plan: Plan, state: PlanState, why: str) -> bool:
    """Whether the plan was a proposal until now and is none any more."""
    if plan.state != PlanState.PROPOSED or not move_plan(plan, state, ended_at=clock.now(), outcome=why):
        return False
    before, after = {"state": "proposed"}, {"state": state.value}
    tell_plan(plan, f"plan.{state.value}", before=before, after=after, reason=why)
    return True


def _wants_hold(decision: Decision, verdicts: Verdicts) -> bool:
    return decision.reason in OVER_QUOTA and verdicts.facts.policy.enforcement == Enforcement.ENFORCE


def intend_in_partition(
    context: CycleContext,
    facts: Facts,
    verdict: Verdicts,
    report: Report,
    kept: KeptCycle,
    before: Mapping[tuple[str, str], int],
) -> None:
    """Write the intents of one partition, in the caller's transaction. `before`: as `startable` tells it."""
    observation, name = context.observation, verdict.facts.row.name
    starts = left_waiting(verdict, observation.jobs_by_id, before)
    starts -= declined_starts(name, facts.rejections)
    remember_patience(
        kept.cluster,
        verdict.facts.policy,
        verdict.decisions,
        observation.jobs,
        facts.foresight,
        observation.taken_at,
    )
    new = NewPlans(kept.cluster, kept.row, verdict, context.failures.holds(name), starts, facts.held_together)
    report.planned += intend(new, facts.plans)
    kept.plans.add(new.saved)
    report.lines.extend(
        f"{name} {decision.job} {decision.action.value}: {decision.explain}" for decision in verdict.decisions
    )
