"""Writing a new plan down: the plan itself and the whole input of its decision; its actions are `actions_of_plans`."""

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from console.cluster.models import LONGEST_GROUP, Cluster
from console.core import clock
from console.core.bulk_update import update_rows
from console.steering.decisions.deciding import Verdicts
from console.steering.decisions.putting_off import likeness
from console.steering.journal import tell_plan
from console.steering.models import Cycle, Plan, PlanKind, PlannedAction, PlanState, StoredSnapshot
from console.steering.plans.actions_of_plans import actions_for, deadline_for, planned_action
from console.steering.plans.versions import keep_version
from console.steering.served import Tasks, jobs_served, new_tasks
from console.steering.work import Work, add_work, work_of
from scheduler.contracts.snapshot_text import SnapshotText
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.line import front
from scheduler.model.plan import MAKES_ROOM, DecidedVictim, Decision, DecisionKind, How, Shrinking
from scheduler.model.policy import Enforcement, Mode
from scheduler.model.resources import Amounts, total
from scheduler.model.sentence import say
from scheduler.model.words import amounts
from scheduler.preemption.units.groups import label_of_jobs
from scheduler.priority.order import natural

# --- Of a plan that takes workers from elastic jobs: what they give up, and the work of those that stay, which would
# have been lost by a stop.


def keep_of_shrunk(victims: Iterable[dict[str, Any]], jobs: Collection[SnapshotJob], now: int) -> None:
    """Note it, as `kept`, with the first worker that each elastic job loses. `now`: the cluster's clock."""
    victims = list(victims)
    _keep_in_place([victim for victim in victims if victim.get("by") == Shrinking.INPLACE], jobs, now)
    first: dict[str, dict[str, Any]] = {}
    gone = set()
    for victim in victims:
        if group := victim.get("worker_of"):
            first.setdefault(group, victim)
        gone.add(victim["job"])
    kept: dict[str, Work] = {group: {} for group in first}
    for job in jobs if first else ():
        if job.group in first and job.state is JobState.RUNNING and job.id not in gone:
            ran = now - (job.start or now)
            add_work(kept[job.group], work_of({"amounts": total(job.alloc.values()), "ran_s": ran}))
    for group, victim in first.items():
        victim["kept"] = kept[group]


def _keep_in_place(victims: Iterable[dict[str, Any]], jobs: Collection[SnapshotJob], now: int) -> None:
    by_id = {job.id: job for job in jobs} if victims else {}
    for victim in victims:
        job = by_id[victim["job"]]
        stays = total(job.alloc[node] for node in victim["keeps"])
        victim["kept"] = work_of({"amounts": stays, "ran_s": now - (job.start or now)})


def smaller(victim: DecidedVictim, job: SnapshotJob) -> dict[str, Any]:
    """Of a job that gives up `nodes`: those, `by` which way, the ones that it `keeps`, what it has on `each` of
    these, and the `least` that it needs. Of one that exchanges nodes: `exchanged`.

    Empty for any other victim.
    """
    if victim.how is How.SWAP:
        return exchanged(victim, job)
    if victim.how is not How.NODES or victim.by is None:
        return {}
    keeps = sorted(job.alloc.keys() - set(victim.nodes), key=natural)
    each = {node: dict(job.alloc[node]) for node in keeps}
    return {
        "nodes": list(victim.nodes),
        "keeps": keeps,
        "each": each,
        "by": victim.by.value,
        "least": victim.least,
    }


def exchanged(victim: DecidedVictim, job: SnapshotJob) -> dict[str, Any]:
    """Of a job that exchanges `nodes` for those that it `gets`: these, and what it is to have on `each` node then."""
    instead = dict(zip(victim.nodes, victim.gets, strict=True))
    each = {instead.get(node, node): dict(held) for node, held in job.alloc.items()}
    return {"nodes": list(victim.nodes), "gets": list(victim.gets), "each": each}


def lost_of(job: SnapshotJob, less: Mapping[str, Any]) -> Mapping[str, Amounts]:
    """What a victim loses of what it holds: all, but of one that gives up nodes while it runs only these."""
    if less.get("by") != Shrinking.INPLACE:
        return job.alloc
    return {node: job.alloc[node] for node in less["nodes"]}


LONGEST_HOLD = timedelta(days=1)
"""How long jobs are held until all of their group fit: Slurm keeps no room for a job that is held."""
BATCH = 200
"""Plans per statement."""
LEVEL = 3
"""Of compression: the next ones take up to twice as long, in every cycle that plans, and save a seventh."""
LONGEST_USER = 64
"""As the mirror keeps it. PostgreSQL refuses what is longer."""
_TEXTS: dict[tuple[int, str], SnapshotText] = defaultdict(SnapshotText)
"""By cluster and partition. Saves work and nothing else: the text is the same without it."""


@dataclass
class NewPlans:
    """Makes the plans of one partition in one cycle. Must be used inside a transaction.

    `cycle` makes the cycle's row at its first use: a cycle in which nothing is planned is not kept. `is_held`: nothing
    may be begun in the partition. `starts`: jobs that get a plan although nobody has to be stopped (`starting`).
    `held`: jobs that are held until all of their group fit. `saved`: those that `keep` has saved.
    """

    cluster: Cluster
    cycle: Callable[[], Cycle]
    verdicts: Verdicts
    is_held: bool = False
    starts: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    saved: list[Plan] = field(init=False, default_factory=list)
    _made: list[tuple[Plan, list[str]]] = field(init=False, default_factory=list)

    def makes_room(self, decision: Decision) -> bool:
        """Whether a decision gets a plan: others are to be stopped, or the job is to be put first in its line."""
        if decision.lead:
            return False  # The first of its tasks has the plan.
        return decision.action in MAKES_ROOM or decision.job in self.starts or self._lets_go(decision)

    def _lets_go(self, decision: Decision) -> bool:
        """Whether jobs that are held until all fit have free room: a plan lets them go, first in line."""
        enforced = self.verdicts.facts.policy.enforcement == Enforcement.ENFORCE
        there = decision.action == DecisionKind.START and bool(decision.tasks)
        return enforced and there and any(task.job in self.held for task in decision.tasks)

    def make_room(self, decision: Decision, victims: list[dict[str, Any]]) -> Plan:
        """A plan that stops `victims`; approved at once where the policy enforces. `keep` saves it."""
        policy = self.verdicts.facts.policy
        plan = self.worked_out(decision, victims)
        if policy.enforcement == Enforcement.ENFORCE:
            plan.state = PlanState.APPROVED
            plan.deadline = deadline_for(policy)
        self._made.append((plan, list(decision.nodes)))
        return plan

    def keep(self) -> None:
        """Save the plans that were made, with their actions: many in one statement, and then each is told."""
        made, self._made = self._made, []
        self.saved += [plan for plan, _ in made]
        Plan.objects.bulk_create([plan for plan, _ in made], batch_size=BATCH)
        for plan, _ in made:
            # Its own number is part of its place in line.
            plan.priority = self.priority_of(plan)
        update_rows(Plan, ["priority"], [(plan.priority, plan.pk) for plan, _ in made])
        for plan, nodes in made:
            if plan.awaits_decision:
                keep_version(plan)
            after = {"state": plan.state, "victims": plan.victims, "nodes": nodes, "mode": plan.mode}
            if plan.tasks:
                after["tasks"] = jobs_served(plan)
            tell_plan(plan, "plan.proposed", after=after, reason=plan.explain)
            if plan.state == PlanState.APPROVED:
                PlannedAction.objects.bulk_create(actions_for(plan, self.verdicts.facts.policy))

    def hold(self, decision: Decision) -> Plan:
        """A plan that holds a job whose user is over quota, and lets it go when a place is free."""
        job = self.verdicts.jobs[decision.job]
        plan = self._plan(decision)
        plan.kind = PlanKind.QUOTA
        plan.state = PlanState.APPROVED
        plan.save()
        after = {"state": plan.state, "hold": job.id}
        tell_plan(plan, "plan.proposed", after=after, reason=plan.explain)
        steps = [
            planned_action(plan, 1, ActionKind.HOLD, job.run),
            planned_action(plan, 2, ActionKind.RELEASE, job.run),
        ]
        for step in steps:
            step.job_name, step.user = job.name, job.user[:LONGEST_USER]
        PlannedAction.objects.bulk_create(steps)
        return plan

    def hold_together(self, tasks: Sequence[SnapshotJob], decision: Decision) -> Plan:
        """A plan that holds tasks until all of them fit."""
        plan = self._plan(decision)
        plan.kind, plan.state = PlanKind.WHOLE, PlanState.APPROVED
        plan.deadline = clock.now() + LONGEST_HOLD
        names = label_of_jobs([task.id for task in tasks])
        plan.explain = say("whole.held", jobs=names, n=len(tasks), why=decision.explain)
        plan.save()
        self.hold_more(plan, tasks)
        tell_plan(
            plan, "plan.proposed", after={"state": plan.state, "hold": jobs_served(plan)}, reason=plan.explain
        )
        return plan

    def hold_more(self, plan: Plan, tasks: Sequence[SnapshotJob]) -> None:
        """Hold those of some tasks, too, that such a plan does not hold yet."""
        known = {(task["job"], task["restarts"]) for task in plan.tasks}
        more = [task for task in tasks if (task.id, task.restarts) not in known]
        if not more:
            return
        plan.tasks = [
            *plan.tasks,
            *(
                {**each, "name": task.name}
                for task in more
                for each in new_tasks([(task.id, task.restarts, "")])
            ),
        ]
        plan.save(update_fields=["tasks"])
        steps = []
        for task in more:
            for order, kind in ((1, ActionKind.HOLD), (2, ActionKind.RELEASE)):
                step = planned_action(plan, order, kind, task.run)
                step.job_name, step.user = task.name, task.user[:LONGEST_USER]
                steps.append(step)
        PlannedAction.objects.bulk_create(steps)

    def worked_out(self, decision: Decision, victims: list[dict[str, Any]]) -> Plan:
        """What is to be kept of a decision that stops `victims`; not saved, and without its place in line."""
        plan = self._plan(decision)
        plan.placement = {node: dict(taken) for node, taken in decision.placement.items()}
        plan.tasks = tasks_in(decision, self.verdicts)
        plan.whole = bool(plan.tasks) and _wants_all(self.verdicts.jobs[decision.job])
        plan.victims = victims
        plan.passed_over = [
            {"job": other.job, "reason": other.reason.value} for other in decision.passed_over
        ]
        plan.stored_snapshot = self.stored_snapshot
        return plan

    def priority_of(self, plan: Plan) -> int:
        """The place of a plan's job in Slurm's line; the plan must be saved."""
        return _priority(plan, self.verdicts.jobs[plan.job_id])

    @cached_property
    def stored_snapshot(self) -> StoredSnapshot:
        """The input of this cycle's decisions; encoded once, shared by all plans."""
        writer = _TEXTS[self.cluster.pk, self.verdicts.facts.row.name]
        text = writer.of(self.verdicts.snapshot).encode()
        stored, _ = StoredSnapshot.objects.get_or_create(
            digest=hashlib.sha256(text).hexdigest(), defaults={"body": zlib.compress(text, LEVEL)}
        )
        return stored

    def _plan(self, decision: Decision) -> Plan:
        """What all kinds of plans share; not saved."""
        job = self.verdicts.jobs[decision.job]
        policy = self.verdicts.facts.policy
        return Plan(
            cluster=self.cluster,
            cycle=self.cycle(),
            partition=self.verdicts.facts.row.name,
            enforcement=policy.enforcement.value,
            mode=policy.mode.value,
            policy_revision=self.verdicts.facts.revision,
            job_id=job.id,
            job_restarts=job.restarts,
            job_submit=job.submit,
            job_name=job.name,
            user=job.user[:LONGEST_USER],
            group=job.group[:LONGEST_GROUP],
            likeness=likeness(job),
            reason=decision.reason.value,
            explain=say("start.late", why=decision.explain)
            if decision.job in self.starts
            else decision.explain,
            created_at=clock.now(),
        )


def victims_of(decision: Decision, verdicts: Verdicts) -> list[dict[str, Any]]:
    """The victims with what people want to know about them, as the plan keeps them."""
    policy, now = verdicts.facts.policy, verdicts.snapshot.now
    result = []
    for victim in decision.victims:
        job, standing = verdicts.jobs[victim.job], verdicts.standings[victim.job]
        less = smaller(victim, job)
        result.append(
            {
                "job": job.id,
                "name": job.name,
                "user": job.user[:LONGEST_USER],
                "how": victim.how.value,
                "start": job.start or 0,
                "restarts": job.restarts,
                "user_level": policy.level_name(job.user_level),
                "task_level": policy.level_name(job.task_level),
                "user_origin": standing.user_origin,
                "task_origin": standing.task_origin,
                "resources": amounts(held := total(lost_of(job, less).values())),
                "amounts": dict(held),
                "ran_s": now - (job.start or now),
                **({"worker_of": victim.worker_of, "least": victim.least} if victim.worker_of else {}),
                **less,
            }
        )
    keep_of_shrunk(result, verdicts.jobs.values(), now)
    return result


def tasks_in(decision: Decision, verdicts: Verdicts) -> Tasks:
    """The tasks that a decision makes room for together, as a plan keeps them; empty when it is for one job."""
    jobs = verdicts.jobs
    tasks = new_tasks((task.job, jobs[task.job].restarts, task.node) for task in decision.tasks)
    return [{**task, "name": jobs[task["job"]].name} for task in tasks]


def still_runs(victim: Mapping[str, Any], verdicts: Verdicts) -> bool:
    """Whether a victim, as a plan keeps it, is still in the same run."""
    job = verdicts.jobs.get(victim["job"])
    return job is not None and (job.run.start, job.run.restarts) == (victim["start"], victim["restarts"])


def _wants_all(job: SnapshotJob) -> bool:
    return job.request is not None and not job.request.partial


def _priority(plan: Plan, job: SnapshotJob) -> int:
    """Several beneficiaries keep our own order in Slurm's: by the mode's first level, its second, then plan."""
    user_first = plan.mode in {Mode.USER, Mode.USER_THEN_TASK}
    levels = (job.user_level, job.task_level) if user_first else (job.task_level, job.user_level)
    return front(levels, plan.pk)
