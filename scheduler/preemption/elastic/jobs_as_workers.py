"""Elastic jobs whose workers are jobs of their own: tasks of an array, or jobs of a group (spec 4.1, the main way).

1. The running workers of one elastic job that hold the same are planned as one job in units, each worker a unit. It may
   lose those beyond its minimum. Who may not be stopped now (protected, young, resting) stays a job of its own, and
   counts for the minimum.
2. A victim that loses units becomes so many victims as workers go, each of which is requeued; a victim that is stopped
   becomes all of its workers. Limits count each of these: where they are more than the hour has left, none is stopped.
3. Workers that wait and are beyond the minimum grow: nobody is stopped or shrunk for them.
Levels with a quota count every job: workers there stay jobs of their own, and are stopped like any other.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scheduler.model.jobs import Elastic, JobState, SnapshotJob
from scheduler.model.plan import STOPPED, DecidedVictim, Decision, How, PassedOver, PlanningResult
from scheduler.model.sentence import say
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.sparing import why_spared
from scheduler.preemption.units.groups import label_of_jobs
from scheduler.priority.order import natural

MOST_LOOKS = 3
"""How often it is planned again because a job has more workers than may be stopped; then none of those is stopped."""


@dataclass(frozen=True, slots=True)
class WorkerSet:
    """Running workers, planned as `job`. `group` and `least`: what they say of themselves."""

    job: SnapshotJob
    group: str
    least: int


# --- Workers that wait ------------------------------------------------------------------------------------------


def with_growing(snapshot: Snapshot) -> Snapshot:
    """The snapshot in which waiting workers beyond the minimum are marked (point 3)."""
    if not snapshot.partition.elastic:
        return snapshot
    waiting: dict[str, list[SnapshotJob]] = {}
    there = Counter[str]()
    for job in snapshot.jobs:
        if _least(job) is None:
            continue
        if job.state is JobState.RUNNING or job.promised:
            there[job.group] += 1
        elif job.state is JobState.PENDING and not job.blocked:
            waiting.setdefault(job.group, []).append(job)
    growing = set[str]()
    for group, jobs in waiting.items():
        jobs.sort(key=lambda job: (job.submit, natural(job.id)))
        least = max(_least(job) or 0 for job in jobs)
        growing |= {job.id for job in jobs[max(0, least - there[group]) :]}
    if not growing:
        return snapshot
    marked = (replace(job, grows=True) if job.id in growing else job for job in snapshot.jobs)
    return replace(snapshot, jobs=tuple(marked))


# --- Workers that run -------------------------------------------------------------------------------------------


def with_workers_together(
    snapshot: Snapshot, planning: Callable[[Snapshot], PlanningResult]
) -> PlanningResult:
    """The plan for a snapshot in which the running workers of an elastic job are one job (points 1 and 2)."""
    elastic = list(_elastic_jobs(snapshot))
    if not elastic:
        return planning(snapshot)
    for look in range(MOST_LOOKS):
        made = planning(_together(snapshot, elastic))
        over = _over_limits(made, elastic, snapshot.partition)
        if over and look == MOST_LOOKS - 1:
            over = {each.job.id for each in elastic}
        if not over:
            break
        elastic = [_spared(each) if each.job.id in over else each for each in elastic]
    else:
        made = planning(_together(snapshot, elastic))
    return _apart(made, elastic)


def _least(job: SnapshotJob) -> int | None:
    """The minimum of the elastic job whose worker this is; None for any other job."""
    return job.elastic.min_workers if job.elastic and job.group else None


def _elastic_jobs(snapshot: Snapshot) -> Iterator[WorkerSet]:
    rules = snapshot.partition
    if not rules.elastic:
        return
    running: dict[str, list[SnapshotJob]] = {}
    for job in snapshot.jobs:
        if job.state is JobState.RUNNING and _least(job) is not None:
            running.setdefault(job.group, []).append(job)
    taken = {job.id for job in snapshot.jobs}
    for group, jobs in running.items():
        least = max(_least(job) or 0 for job in jobs)
        alike: dict[object, list[SnapshotJob]] = {}
        for job in jobs:
            if _may_go(job, snapshot):
                alike.setdefault(_likeness(job), []).append(job)
        # Of several kinds only the most numerous gives workers: two at once might leave too few.
        kinds = sorted(alike.values(), key=lambda kind: (-len(kind), natural(kind[0].id)))
        for number, kind in enumerate(kinds):
            kept = max(0, least - (len(jobs) - len(kind))) if not number else len(kind)
            together = _as_one(kind, kept, taken)
            taken.add(together.id)
            yield WorkerSet(together, group, least)


def _may_go(job: SnapshotJob, snapshot: Snapshot) -> bool:
    """Whether a worker may be taken now: on one node, put back into the queue, and left alone by no rule."""
    rules = snapshot.partition
    limited = rules.quotas.keys() | rules.quota_amounts.keys() | rules.quota_totals.keys()
    whole = len(job.alloc) == 1 and job.how is How.REQUEUE and not job.unit
    ran = snapshot.now - (job.start or snapshot.now)
    return whole and job.task_level not in limited and not why_spared(job, ran, rules)


def _likeness(job: SnapshotJob) -> object:
    held = tuple(sorted(next(iter(job.alloc.values())).items()))
    return held, job.user, job.user_level, job.task_level, job.beneficiary


def _as_one(workers: Sequence[SnapshotJob], kept: int, taken: set[str]) -> SnapshotJob:
    """Workers as one job in units, who loses least first. It has run for as long as the one that ran longest."""
    workers = sorted(workers, key=_loses_least, reverse=True)
    label = label_of_jobs(sorted((worker.id for worker in workers), key=natural))
    first = min(workers, key=lambda job: (job.start or 0, natural(job.id)))
    ends = [worker.predicted_end for worker in workers if worker.predicted_end is not None]
    alloc: dict[str, dict[str, int]] = {}
    for worker in workers:
        for node, held in worker.alloc.items():
            there = alloc.setdefault(node, {})
            for name, amount in held.items():
                there[name] = there.get(name, 0) + amount
    return replace(
        first,
        id=label if label not in taken or len(workers) == 1 else f"{first.id}+{len(workers) - 1}",
        submit=max(worker.submit for worker in workers),
        alloc=alloc,
        unit={name: amount for name, amount in next(iter(first.alloc.values())).items() if amount},
        elastic=Elastic(min_units=kept),
        workers=tuple(workers),
        predicted_end=max(ends) if len(ends) == len(workers) else None,
        restarts=0,
        stopped=0,
        group="",
    )


def _loses_least(job: SnapshotJob) -> tuple[object, ...]:
    """Higher for who has run for less since its work was saved, or since it started; of equals the younger."""
    return max(job.start or 0, job.saved_at or 0), job.start or 0, job.submit, natural(job.id)


def _together(snapshot: Snapshot, elastic: Iterable[WorkerSet]) -> Snapshot:
    jobs = [each.job for each in elastic]
    gone = {worker.id for job in jobs for worker in job.workers}
    others = [job for job in snapshot.jobs if job.id not in gone]
    return replace(snapshot, jobs=(*others, *jobs))


# --- The plan, worker by worker ---------------------------------------------------------------------------------


def _over_limits(made: PlanningResult, elastic: Iterable[WorkerSet], rules: PartitionRules) -> set[str]:
    """The elastic jobs that the plan stops although they have more workers than the hour has left."""
    if rules.max_stops_per_hour is None and rules.max_stops_per_user_hour is None:
        return set()
    by_id = {each.job.id: each.job for each in elastic}
    stopped = [victim.job for each in made.decisions for victim in each.victims if victim.how in STOPPED]
    wholes = {job_id for job_id in stopped if job_id in by_id and len(by_id[job_id].workers) > 1}
    used, used_by = rules.stopped, Counter(rules.stopped_by_user)
    for job_id in stopped:
        used += len(by_id[job_id].workers) if job_id in by_id else 1
    for job_id in wholes:
        used_by[by_id[job_id].user] += len(by_id[job_id].workers)
    most, per_user = rules.max_stops_per_hour, rules.max_stops_per_user_hour
    if most is not None and used > most:
        return wholes
    return {job_id for job_id in wholes if per_user is not None and used_by[by_id[job_id].user] > per_user}


def _spared(each: WorkerSet) -> WorkerSet:
    job = replace(each.job, preemptable=False, protected=say("spared.workers"), workers=each.job.workers)
    return replace(each, job=job)


def _apart(made: PlanningResult, elastic: Iterable[WorkerSet]) -> PlanningResult:
    """The plan with workers as victims, and as those who were left alone."""
    by_id = {each.job.id: each for each in elastic}
    given = {worker for each in made.decisions for victim in each.victims for worker in victim.workers}
    decisions = tuple(_worker_by_worker(decision, by_id, given) for decision in made.decisions)
    return replace(made, decisions=decisions)


def _worker_by_worker(decision: Decision, by_id: dict[str, WorkerSet], given: Collection[str]) -> Decision:
    if not decision.victims and not decision.passed_over:
        return decision
    victims = tuple(
        each for victim in decision.victims for each in _victims(victim, by_id.get(victim.job), given)
    )
    passed = tuple(
        PassedOver(worker, other.reason)
        for other in decision.passed_over
        for worker in (
            [each.id for each in by_id[other.job].job.workers] if other.job in by_id else [other.job]
        )
    )
    return replace(decision, victims=victims, passed_over=passed)


def _victims(
    victim: DecidedVictim, elastic: WorkerSet | None, given: Collection[str]
) -> Iterable[DecidedVictim]:
    """`given`: workers that go for somebody else in this plan; who is stopped afterwards has only the others left."""
    if elastic is None:
        return [victim]
    if victim.how in STOPPED:
        left = (worker for worker in elastic.job.workers if worker.id not in given)
        return [DecidedVictim(worker.id, worker.how) for worker in left]
    return [
        DecidedVictim(worker, How.REQUEUE, worker_of=elastic.group, least=elastic.least)
        for worker in victim.workers
    ]
