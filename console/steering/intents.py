"""What one cycle intends in one partition: its new plans, and who is patient, with what is told of its decisions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from django.db.models import Q

from console.cluster.models import Job as MirroredJob
from console.core import clock
from console.steering.backoff import remember_patience
from console.steering.context import CycleContext
from console.steering.cycle_report import Report
from console.steering.deciding import KeptCycle, Verdicts, left_waiting
from console.steering.facts import Facts, declined_starts
from console.steering.journal import tell_plan
from console.steering.ledger import request_undo
from console.steering.lifecycle import move_action, move_plan
from console.steering.looking_again import may_go_on
from console.steering.models import BEGUN_STATES, ActionState, Plan, PlanKind, PlannedAction, PlanState
from console.steering.new_plans import (
    LONGEST_USER,
    NewPlans,
    deadline_for,
    planned_action,
    still_runs,
    tasks_in,
    victims_of,
)
from console.steering.served import jobs_served, keep_version, runs_served
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, RunKey, SnapshotJob
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.plan import MAKES_ROOM, DecidedVictim, Decision, DecisionKind, How, Shrinking
from scheduler.model.policy import Enforcement, PartitionPolicy, VictimOrder
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts, add, covers, subtract
from scheduler.model.sentence import Sentence, say
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.units.groups import whole_groups
from scheduler.reconcile.decide import decide

# Whether a proposal may stand although the planner would choose a little differently now.
#
# In a busy partition the best choice changes every second. Who is asked to approve a plan must not see it change while
# reading it, and the log must not fill with plans that nobody carried out. So a proposal stands while it would still do
# what it says and needs all of its victims, and only after a while a better choice takes its place: a longer one where
# somebody is asked and it would stop as many jobs of the same levels. In shadow that is a newer plan; where somebody is
# asked, the same one, renewed (`standing`).

STANDS_FOR = timedelta(seconds=60)
"""How long a proposal that would still work is kept although another choice would be made now."""
STANDS_FOR_READERS = timedelta(minutes=10)
"""The same where somebody is asked and it is only a matter of which jobs of a level."""
PROPOSED_PER_CYCLE = 50
"""How many proposals are made in one cycle; the others, lower in line, follow in the next ones."""


class Proposals:
    """The proposals of one partition in one cycle, in the light of its verdicts."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._policy = verdicts.facts.policy
        self._made = 0

    def one_more(self) -> bool:
        """Whether one more may be made in this cycle. What is carried out at once is never put off."""
        self._made += 1
        return self._made <= PROPOSED_PER_CYCLE or self._policy.enforcement == Enforcement.ENFORCE

    def why_replaced(self, plan: Plan, decision: Decision, victims: Sequence[Mapping[str, Any]]) -> str:
        """Why a proposal gives way to a newer choice, in words; empty when it stands. `victims`: of the newer one."""
        if plan.enforcement != self._policy.enforcement:
            return say("plan.other_enforcement")
        if plan.awaits_decision and plan.policy_revision != self._verdicts.facts.revision:
            return say("plan.other_policy")
        same = _runs(plan.victims) == _runs(victims) and plan.placement == _plain(decision.placement)
        if same and _tasks(plan) == {task.job for task in decision.tasks}:
            return ""
        why = self._why_no_longer_for(plan, decision) or self._why_it_would_fail(plan)
        if why:
            return say("plan.anew" if plan.awaits_decision else "plan.newer", why=why)
        if clock.now() - plan.worked_out_at < self._patience(plan, victims):
            return ""
        if plan.awaits_decision:
            return say("plan.other_facts")
        return say("plan.other_facts.newer")

    def _patience(self, plan: Plan, victims: Sequence[Mapping[str, Any]]) -> timedelta:
        return (
            STANDS_FOR_READERS
            if plan.awaits_decision and _levels(plan.victims) == _levels(victims)
            else STANDS_FOR
        )

    def _why_no_longer_for(self, plan: Plan, decision: Decision) -> str:
        """Which of the tasks that get room together no longer does so, in words; empty when all do."""
        for task in plan.tasks:
            job = self._verdicts.jobs.get(task["job"])
            if job is None or job.state is not JobState.PENDING or job.restarts != task["restarts"]:
                return say("again.waits_no_more", job=task["job"])
            if self._leads.get(task["job"], decision.job) != decision.job:
                return say("plan.room_with_others", job=task["job"])
        return ""

    @cached_property
    def _leads(self) -> dict[str, str]:
        """For whom room is made, with the job whose decision that is."""
        making_room = [each for each in self._verdicts.decisions if each.victims]
        return {each.job: each.job for each in making_room} | {
            task.job: each.job for each in making_room for task in each.tasks
        }

    def _why_it_would_fail(self, plan: Plan) -> str:
        """Why the plan would no longer make its room; empty when it would."""
        free = {node: dict(self._free[node]) for node in plan.placement if node in self._free}
        given: dict[str, Mapping[str, Amounts]] = {}
        for victim in plan.victims:
            job = self._verdicts.jobs.get(victim["job"])
            run = job and (job.id, job.run.start, job.run.restarts)
            if job is None or job.state is not JobState.RUNNING or run != _run(victim):
                return say("plan.victim_gone", job=victim["job"])
            levels = [self._policy.level_name(level) for level in (job.user_level, job.task_level)]
            if not job.preemptable or levels != [victim["user_level"], victim["task_level"]]:
                return say("plan.victim_differs", job=victim["job"])
            given[job.id] = job.alloc
            for node, held in job.alloc.items():
                if node in free:
                    add(free[node], held)
        for node, wanted in plan.placement.items():
            if node not in free or not covers(free[node], wanted):
                return say("plan.room_differs", node=node)
        for job_id, alloc in given.items():
            if _is_enough_without(alloc, free, plan.placement):
                return say("plan.victim_not_needed", job=job_id)
        return ""

    @cached_property
    def _free(self) -> dict[str, dict[str, int]]:
        """What is free, or coming free, on each node that is up."""
        free: dict[str, dict[str, int]] = {}
        for node in self._verdicts.snapshot.nodes:
            if node.up:
                free[node.name] = dict(node.total)
                subtract(free[node.name], node.held_elsewhere)
        ends = JobState.COMPLETING
        for job in self._verdicts.snapshot.jobs:
            # What other plans stop is coming free, and promised to the jobs that they stop it for.
            if job.state is not ends:
                for name, held in (job.alloc or job.promised).items():
                    left = free.get(name)
                    if left is not None:
                        for resource, amount in held.items():
                            left[resource] = left.get(resource, 0) - amount
        return free


def _is_enough_without(
    alloc: Mapping[str, Amounts], free: Mapping[str, Amounts], placement: Mapping[str, Amounts]
) -> bool:
    """Whether the room is there although one victim keeps what it holds."""
    for node, wanted in placement.items():
        left = dict(free[node])
        subtract(left, alloc.get(node, {}))
        if not covers(left, wanted):
            return False
    return True


def _tasks(plan: Plan) -> set[str]:
    return {task["job"] for task in plan.tasks}


def _levels(victims: Sequence[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((victim["user_level"], victim["task_level"], victim["how"]) for victim in victims)


def _runs(victims: Sequence[Mapping[str, Any]]) -> set[tuple[Any, ...]]:
    return {_run(victim) for victim in victims}


def _run(victim: Mapping[str, Any]) -> tuple[Any, ...]:
    return victim["job"], victim["start"], victim["restarts"]


def _plain(placement: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {node: dict(taken) for node, taken in placement.items()}


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


# All or none: the waiting jobs of a group whose user says `partial=no` are held until there is room for all of them.
#
# 1. Who asks for it, and waits, is held by a plan of its own kind as long as there is no room for all: in `enforce` and
#    in `approve`, because its user wants it and nobody else is touched. In `shadow` it is only told.
# 2. When there is room, or others are to be stopped, an ordinary plan puts all of them first in line; it is that plan's
# turn that lets them go, together and right before the stops (`actions.letting_go`). Where a person decides on plans,
#    room that is free needs no decision: they are let go as they are.
# 3. The hold is over as well when fewer than two of them wait, when their words have changed, and after a day at the
#    latest. A group that was let go because of the time, or that could not be held, is not held again for another day.

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


# Standing requests: where a person is asked, a job's proposal keeps its number, its page and its place in the list.
#
# 1. When facts change, it is renewed in place, no more often than `proposals` replaces one elsewhere. What was shown
#    before is kept (`versions`).
# 2. While nothing can be done for its job it stands, with the reason. It can be approved again as soon as that is over.
# 3. It ends when its job starts or leaves the queue, when somebody decides, or when the partition no longer asks.

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
