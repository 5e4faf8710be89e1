"""Looking again before anybody is signalled or stopped: is it still allowed?

The grace time may be long. The policy, the switch and the projects are read anew, at most once a round of acting.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeGuard

from console.core import clock
from console.power.selectors import with_powers
from console.steering.facts import Facts, PartitionFacts, gather, partition_policies, run_of
from console.steering.kinds.swap import is_exchange, room_of_runner, why_not_exchanged
from console.steering.models import ActionState, Checkpoint, Plan, PlanKind
from console.steering.served import nodes_with_less, placement_left, waiting
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import Elastic, JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from scheduler.model.plan import Shrinking
from scheduler.model.policy import Enforcement
from scheduler.model.resources import Amounts, add
from scheduler.model.sentence import Seconds, say
from scheduler.preemption.restart_worth import restart_worth
from scheduler.priority.derive import Deriver
from scheduler.priority.groups import group_name, group_of
from scheduler.priority.task_types import TaskTypes
from scheduler.reconcile.eligible import why_spared
from scheduler.reconcile.snapshot_jobs import elastic_nodes
from scheduler.reconcile.still import at_a_limit, cannot_start, goes_elsewhere, needless, still_makes_room

STOPS = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.CANCEL, ActionKind.SHRINK})
NOT_ENFORCED = say("plan.not_enforced")


class LookAgain:
    """One round's second look. `plans`: all that are being carried out."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans

    def why_not(self, plan: Plan, observation: Observation) -> str | None:
        """Why the plan's victims may not be stopped any more, in words; empty when they may. None: nobody waits for
        it, which is for `watching` to say."""
        jobs = observation.jobs_by_id
        if plan.kind == PlanKind.GROW:
            return self._why_not_grow(plan, observation, jobs)
        served = [job for job_id in waiting(plan, jobs) if _waits(job := jobs.get(job_id))]
        if not served:
            return None
        place = placement_left(plan, jobs)
        room = {**place, **room_of_runner(plan)}
        runs = runs_going(plan)
        return (
            next(filter(None, map(cannot_start, served)), "")
            or next(filter(None, map(at_a_limit, served)), "")
            or next(filter(None, (goes_elsewhere(job, plan.partition, place) for job in served)), "")
            or still_makes_room(observation, room, runs, keeping(plan))
            or self._why_not_allowed(plan, observation, served[0].id)
            or self._why_not_exchanged(plan, observation)
        )

    def _why_not_exchanged(self, plan: Plan, observation: Observation) -> str:
        if not is_exchange(plan):
            return ""
        policy = self._facts.partitions[plan.partition].policy
        return why_not_exchanged(plan, with_powers(plan.cluster, observation), policy)

    def _why_not_grow(self, plan: Plan, observation: Observation, jobs: Mapping[str, ObservedJob]) -> str:
        partition = self._facts.partitions.get(plan.partition)
        if partition is None or not may_go_on(plan, partition):
            return NOT_ENFORCED
        if partition.paused:
            return say("plan.none_to_stop", why=partition.paused)
        job, on = jobs.get(plan.job_id), partition.policy.elastic
        words = self._elastic_of(partition, observation)
        return why_not_grow(plan, observation, words(job) if on and job is not None else None)

    def needless(self, plan: Plan, observation: Observation) -> frozenset[RunKey]:
        """Whom the plan need not stop any more, because some of its tasks have started meanwhile, or are gone.

        Only who is on the nodes where they were to start: what is free elsewhere may be meant for others.
        """
        jobs = observation.jobs_by_id
        less = nodes_with_less(plan, jobs)
        if not less:
            return frozenset()
        room: dict[str, dict[str, int]] = {node: {} for node in placement_left(plan, jobs)}
        for each in self._plans:
            if each.started_at is None and not each.undo_reason:
                for node, part in placement_left(each, jobs).items():
                    if node in room:
                        add(room[node], part)
        going = frozenset[RunKey]().union(*map(runs_going, self._plans))
        own, names = runs_going(plan), reversed(plan.victims)
        victims = (RunKey(each["job"], each["start"], each["restarts"]) for each in names)
        there = [run for run in victims if run in own and not less.isdisjoint(_alloc(jobs.get(run.job_id)))]
        return frozenset(needless(observation, room, going, there))

    def _why_not_allowed(self, plan: Plan, observation: Observation, beneficiary: str) -> str:
        partition = self._facts.partitions.get(plan.partition)
        if partition is None or not may_go_on(plan, partition):
            return NOT_ENFORCED
        if partition.paused:
            return say("plan.none_to_stop", why=partition.paused)
        if why := self._workers_too_few(plan, observation, partition):
            return why
        # What was stopped a moment ago counts as a stop already, and must not be looked at as a victim again.
        still = (a for a in plan.actions.all() if a.kind in STOPS and a.state == ActionState.PLANNED)
        return why_spared(
            observation,
            partition.policy,
            self._facts.projects,
            beneficiary=beneficiary,
            victims=frozenset(run_of(action) for action in still),
            preemptions=self._facts.preemptions,
            served=self._facts.stops.beneficiaries,
            or_equal=is_exchange(plan),
        )

    def _workers_too_few(self, plan: Plan, observation: Observation, partition: PartitionFacts) -> str:
        deriver = Deriver(partition.policy, self._facts.projects, observation.taken_at)

        def group(job: ObservedJob) -> str:
            return group_of(job, deriver.derive(job).pattern)

        elastic = self._elastic_of(partition, observation)
        on = partition.policy.elastic
        return workers_too_few(plan, observation, self._plans, group, elastic=on) or nodes_too_few(
            plan, observation, elastic, is_on=on
        )

    def _elastic_of(
        self, partition: PartitionFacts, observation: Observation
    ) -> Callable[[ObservedJob], Elastic | None]:
        """What a running job of several nodes says of itself now."""
        deriver = Deriver(partition.policy, self._facts.projects, observation.taken_at)
        types = TaskTypes(partition.policy.task_types)

        def elastic(job: ObservedJob) -> Elastic | None:
            return elastic_nodes(job, job.alloc, deriver.derive(job).pattern, types.of(job.name))

        return elastic

    @cached_property
    def _facts(self) -> Facts:
        cluster = self._plans[0].cluster
        return gather(cluster, self._plans, partition_policies(cluster))


def runs_going(plan: Plan) -> frozenset[RunKey]:
    """The runs that a plan stops, or has stopped."""
    stops = (action for action in plan.actions.all() if action.kind in STOPS)
    return frozenset(run_of(action) for action in stops if action.state != ActionState.EXPIRED)


def keeping(plan: Plan) -> dict[RunKey, list[str]]:
    """The nodes on which jobs go on that give up others while they run."""
    return {
        RunKey(victim["job"], victim["start"], victim["restarts"]): victim["keeps"]
        for victim in plan.victims
        if victim.get("by") == Shrinking.INPLACE
    }


def nodes_too_few(
    plan: Plan, observation: Observation, elastic: Callable[[ObservedJob], Elastic | None], *, is_on: bool
) -> str:
    """Why an elastic job may not give up the nodes that a plan takes from it, in words; empty when it may.

    Its owner may have said another minimum since. One whose run is over has given them up already.
    """
    jobs = observation.jobs_by_id
    for victim in plan.victims:
        job = jobs.get(victim["job"]) if victim.get("keeps") else None
        if job is None or job.run != RunKey(victim["job"], victim["start"], victim["restarts"]):
            continue
        if job.state is not JobState.RUNNING:
            continue  # Its checkpoint signal has ended it, and its last processes are still ending.
        if set(victim["keeps"]) == job.alloc.keys():
            continue
        words, stays = elastic(job), len(victim["keeps"])
        if not is_on or words is None or (victim["by"] == Shrinking.INPLACE != words.by):
            return say("again.rigid", job=job.id)
        if words.min_nodes and stays < words.min_nodes:
            return say("again.minimum", group=job.id, n=stays, least=words.min_nodes)
    return ""


def workers_too_few(
    plan: Plan,
    observation: Observation,
    plans: Sequence[Plan],
    group: Callable[[ObservedJob], str],
    *,
    elastic: bool,
) -> str:
    """Why an elastic job may not give up the workers that a plan takes from it, in words; empty when it may.

    A worker may have ended by itself since, or `elastic` jobs are not shrunk any more. `plans`: all that are being
    carried out, whose victims count as gone. `group`: that of a job.
    """
    taken = {victim["worker_of"]: victim for victim in plan.victims if victim.get("worker_of")}
    if taken and not elastic:
        return say("again.rigid", job=next(iter(taken.values()))["job"])
    going = frozenset[RunKey]().union(*map(runs_going, plans)) if taken else frozenset[RunKey]()
    stay = Counter(
        group(job)
        for job in observation.jobs
        if taken
        and job.state is JobState.RUNNING
        and plan.partition in job.partitions
        and job.run not in going
    )
    for name, victim in taken.items():
        if stay[name] < victim["least"]:
            return say("again.minimum", group=group_name(name), n=stay[name], least=victim["least"])
    return ""


def _alloc(job: ObservedJob | None) -> Mapping[str, Amounts]:
    return {} if job is None else job.alloc


def _waits(job: ObservedJob | None) -> TypeGuard[ObservedJob]:
    return job is not None and job.state is JobState.PENDING


def may_go_on(plan: Plan, facts: PartitionFacts) -> bool:
    """Whether the policy in force still lets the plan be carried out: by itself, or because a person approved it."""
    if facts.policy.enforcement == Enforcement.APPROVE:
        return bool(plan.decided_by)
    return facts.policy.enforcement == Enforcement.ENFORCE


# Looking again before a job is signalled or stopped to start again on more nodes: may it be, and is it worth it?


def checkpoint_of(plan: Plan) -> Checkpoint | None:
    """The checkpoint that the plan has asked its job for, once that has acknowledged it."""
    return Checkpoint.objects.filter(plan=plan, acknowledged_at__isnull=False).first()


def why_not_grow(plan: Plan, observation: Observation, elastic: Elastic | None) -> str:
    """Why the job must not be disturbed for it any more, in words; empty when it may. `elastic`: as it says now.

    Without a checkpoint that it has acknowledged it is not stopped; what it has done since counts as a cost.
    """
    (victim,) = plan.victims
    job = next((job for job in observation.jobs if job.id == plan.job_id), None)
    run = RunKey(victim["job"], victim["start"], victim["restarts"])
    if (
        job is None
        or job.state is not JobState.RUNNING
        or job.run != run
        or len(job.alloc) != victim["before"]
    ):
        return say("regrow.not_its_run", job=plan.job_id)
    if elastic is None or elastic.by is None:
        return say("regrow.rigid", job=plan.job_id)
    if why := still_makes_room(observation, plan.placement, frozenset()):
        return why
    asked = any(a.kind == ActionKind.SIGNAL and a.attempts for a in plan.actions.all())
    return _why_not_stopped(plan, job, observation.taken_at) if asked else ""


def _why_not_stopped(plan: Plan, job: ObservedJob, now: int) -> str:
    saved = checkpoint_of(plan)
    if saved is None or saved.acknowledged_at is None:
        return say("regrow.no_checkpoint", job=plan.job_id)
    (victim,) = plan.victims
    unsaved = max(0, int((clock.now() - saved.acknowledged_at).total_seconds()))
    worth = restart_worth(
        victim["before"], victim["after"], victim["ends_at"] - now, victim["restart_s"], unsaved
    )
    if worth.pays:
        return ""
    return say("regrow.not_worth", job=job.id, cost=Seconds(worth.cost_s), gain=Seconds(worth.gain_s))
