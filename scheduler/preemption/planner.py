"""From a snapshot to a plan (contract A), by the core (`deciding`) and every planning method.

This is the one place that names the methods. In their order: which notes first what a running job may lose, and whose
step comes first of one stage.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.plan import STOPPED, DecidedVictim, Decision, How, PlanningResult
from scheduler.model.resources import Amounts, subtract
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption import collector
from scheduler.preemption.balance.method import EvenSetsMethod
from scheduler.preemption.deciding import decide_all
from scheduler.preemption.elastic.method import ElasticMethod
from scheduler.preemption.methods import Method, Planning
from scheduler.preemption.ranking import Ranking
from scheduler.preemption.reservation.method import ReservationMethod
from scheduler.preemption.units.method import UnitsMethod

# --- No chain of stops: nobody is stopped who would be the next to have others stopped for it ---
# 1. A plan is looked at as if it had been carried out: who starts runs, who was stopped waits, what was taken is gone.
# 2. That is planned once more. A job that was stopped, and for which others would be stopped now, was stopped in vain:
#    they could have been stopped instead of it, or it keeps its room.
# 3. The plan is made again without stopping these. That may take several looks. After the last, only such jobs are
#    stopped as no other running job ranks below.
# Where a stopped job has a cool-down, nobody is stopped for it anyway: then there is nothing to look at.


MOST_LOOKS = 6

PlansAgain = Callable[[Snapshot, frozenset[str]], PlanningResult]
"""Makes a plan in which some running jobs, by their ids, are left alone."""


def without_chains(snapshot: Snapshot, made: PlanningResult, planning: PlansAgain) -> PlanningResult:
    """The plan, or another one in which nobody is stopped who would be the next to have others stopped for it."""
    rules = snapshot.partition
    if not rules.rest_s or rules.cool_down_s:
        return made
    alone: frozenset[str] = frozenset()
    for _ in range(MOST_LOOKS):
        found = _next_in_turn(snapshot, made, planning)
        if not found:
            return made
        alone |= found
        made = planning(snapshot, alone)
    return planning(snapshot, _above_others(snapshot)) if _next_in_turn(snapshot, made, planning) else made


def _next_in_turn(snapshot: Snapshot, made: PlanningResult, planning: PlansAgain) -> frozenset[str]:
    """Those whom the plan stops and for whom the next one would stop others."""
    victims = {victim.job for decision in made.decisions for victim in decision.victims if _stops(victim)}
    if not victims:
        return frozenset()
    after = planning(carried_out(snapshot, made), frozenset())
    served = {decision.job for decision in after.decisions if any(map(_stops, decision.victims))}
    return frozenset(victims & served)


def _stops(victim: DecidedVictim) -> bool:
    return victim.how in STOPPED


def _above_others(snapshot: Snapshot) -> frozenset[str]:
    """The running jobs that may have others stopped for them, going by their ranks."""
    ranking = Ranking.of(snapshot.partition)
    running = [job for job in snapshot.jobs if job.state is JobState.RUNNING]
    weights = {ranking.weights(job) for job in running}
    above = {
        own for own in weights if any(ranking.scope(*own).class_of(*other) is not None for other in weights)
    }
    return frozenset(job.id for job in running if ranking.weights(job) in above)


# --- A plan as if it had been carried out -----------------------------------------------------------------------


def carried_out(snapshot: Snapshot, made: PlanningResult) -> Snapshot:
    """The snapshot as it is once a plan has been carried out, at the same moment."""
    gets = {
        decision.job: decision for decision in made.decisions if decision.placement and decision.at is None
    }
    loses = {victim.job: victim for decision in made.decisions for victim in decision.victims}
    jobs = tuple(_after(job, gets.get(job.id), loses.get(job.id), snapshot.now) for job in snapshot.jobs)
    stopped = [job.user for job in snapshot.jobs if job.id in loses and _stops(loses[job.id])]
    return replace(snapshot, jobs=jobs, partition=_counted(snapshot.partition, stopped))


def _after(job: SnapshotJob, gets: Decision | None, loses: DecidedVictim | None, now: int) -> SnapshotJob:
    if loses is not None:
        return _as_pending(job, now) if _stops(loses) else replace(job, alloc=_left(job, loses))
    if gets is None or job.state is not JobState.PENDING:
        return job
    alloc = {node: dict(taken) for node, taken in gets.placement.items()}
    return replace(
        job, state=JobState.RUNNING, start=now, alloc=alloc, request=None, promised={}, stopped_at=None
    )


def _as_pending(job: SnapshotJob, now: int) -> SnapshotJob:
    """A job that was stopped: it asks for what it held."""
    return replace(
        job,
        state=JobState.PENDING,
        start=None,
        alloc={},
        request=_request(job),
        restarts=job.restarts + 1,
        stopped_at=now,
        beneficiary=False,
        preemptable=True,
        protected="",
    )


def _request(job: SnapshotJob) -> Request:
    """As many nodes as it was on; of each as much as it had on the one on which it had least."""
    parts = list(job.alloc.values())
    if not parts:
        return Request()
    least = {name: min(part.get(name, 0) for part in parts) for name in parts[0]}
    return Request(nodes=len(parts), per_node={name: amount for name, amount in least.items() if amount})


def _left(job: SnapshotJob, loses: DecidedVictim) -> dict[str, Amounts]:
    """What a job holds that only gave up a part."""
    alloc = {node: dict(held) for node, held in job.alloc.items()}
    for node, units in loses.on:
        subtract(alloc[node], {name: amount * units for name, amount in job.unit.items()})
    given = [alloc.pop(node) for node in loses.nodes if node in alloc]
    if loses.how is How.SWAP:
        alloc |= dict(zip(loses.gets, given, strict=False))
    return {node: held for node, held in alloc.items() if any(held.values())}


def _counted(rules: PartitionRules, stopped: list[str]) -> PartitionRules:
    """The rules with these stops, by their users, in the hour."""
    by_user = dict(Counter(stopped) + Counter(rules.stopped_by_user))
    return replace(rules, stopped=rules.stopped + len(stopped), stopped_by_user=by_user)


METHODS: Sequence[Method] = (UnitsMethod(), ElasticMethod(), EvenSetsMethod(), ReservationMethod())


def plan(snapshot: Snapshot) -> PlanningResult:
    """The plan for a snapshot: one decision per pending job, in the order in which they were made.

    Where stopped jobs have a rest, nobody is stopped who would be the next to have others stopped for it.
    """
    planning: Planning = _without_chains
    for method in METHODS:
        planning = partial(method.around, planning=planning)
    with collector.paused():
        return planning(snapshot)


def _without_chains(snapshot: Snapshot) -> PlanningResult:
    return without_chains(snapshot, _made(snapshot), _made)


def _made(snapshot: Snapshot, alone: frozenset[str] = frozenset()) -> PlanningResult:
    return decide_all(snapshot, METHODS, alone)
