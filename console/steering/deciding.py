"""From an observation and the facts to a verdict on every pending job. Nothing is written here."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from django.db import connection
from django.db.models import QuerySet, prefetch_related_objects

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.steering.backoff import LONGEST_USER, looks_ahead
from console.steering.facts import Facts, PartitionFacts, Stops, all_let_go, heed
from console.steering.failures import Failures
from console.steering.models import OPEN_STATES, Cycle, CycleOutcome, Plan, PlanState
from scheduler.model.jobs import JobState, ObservedJob, SnapshotJob
from scheduler.model.observation import Observation
from scheduler.model.plan import Decision, DecisionKind, PlanningResult
from scheduler.model.policy import Enforcement, PartitionPolicy
from scheduler.model.reasons import Reason
from scheduler.model.sentence import line_of, say
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.priority.derive import Deriver, JobStanding, deriver_for
from scheduler.reconcile.blocking import starts_jobs
from scheduler.reconcile.build import KnownJobs, rules_of, snapshot_for
from scheduler.reconcile.decide import Outstanding, decide, overlay

# --- Room that is kept for a start for which nobody is stopped, and that others need more ---
# Slurm had left a job waiting beside free room, and Giveway has put it first in line (`plans.starting`). Until it runs
# its room counts as taken. If somebody who ranks higher comes meanwhile and needs that room, nobody is stopped
# instead of it: the start is given up, and its job waits in its own place.


def decide_with_starts(
    snapshot: Snapshot, outstanding: Outstanding
) -> tuple[Snapshot, PlanningResult, frozenset[str]]:
    """What is planned on, with all that is under way; the plan; and the jobs whose starts are given up.

    Of a start is given up what, without the room kept for it, would not be decided to start again, where fewer jobs are
    stopped then, or fewer wait for nothing.
    """
    under_way = overlay(snapshot, outstanding)
    plan = decide(under_way)
    starts = outstanding.starts & {job.id for job in snapshot.jobs}
    if not starts or not any(_costs(plan, starts)):
        return under_way, plan, frozenset()
    as_if = decide(overlay(snapshot, outstanding.without(starts)))
    start_again = {each.job for each in as_if.decisions if each.action is DecisionKind.START}
    given_up = starts - start_again
    if not given_up:
        return under_way, plan, given_up
    without = overlay(snapshot, outstanding.without(given_up))
    other = decide(without)
    if _costs(other, starts) < _costs(plan, starts):
        return without, other, given_up
    return under_way, plan, frozenset()


def _costs(plan: PlanningResult, starts: frozenset[str]) -> tuple[int, int]:
    """How many others than these stay in the queue, and how many jobs are stopped or lose something."""
    queued = sum(each.action is DecisionKind.QUEUE for each in plan.decisions if each.job not in starts)
    return queued, len({victim.job for each in plan.decisions for victim in each.victims})


REFUSED = say("action.stop_refused")
_DERIVERS: dict[int, Deriver] = {}
"""By partition. A deriver's answers depend on its policy, projects and moment alone: they are right for all."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One partition's decisions with all they rest on. `snapshot` is what was planned on: planning it again gives
    the same decisions. `is_undecided`: deciding raised, so nothing is known of its jobs but that.
    `starts_given_up`: jobs whose starts others need the room of."""

    facts: PartitionFacts
    snapshot: Snapshot
    standings: Mapping[str, JobStanding]
    decisions: tuple[Decision, ...]
    jobs: Mapping[str, SnapshotJob]
    """The snapshot's jobs, by id."""
    is_undecided: bool = False
    starts_given_up: frozenset[str] = frozenset()


def decide_all(
    observation: Observation,
    facts: Facts,
    failures: Failures | None = None,
    known: Mapping[str, KnownJobs] | None = None,
) -> list[Verdicts]:
    """Decide for every partition that has a policy and was observed, in the order of their names.

    Partitions that share nodes see what the ones before them have set aside in this cycle. Plans that are only
    proposed set nothing aside. With `failures` a partition on which deciding raises is told there, and is undecided.
    `known`: of each partition, the jobs of an earlier snapshot, whose place those of this one take.
    """
    observation = all_let_go(observation, facts.held_together)
    seen = {partition.name for partition in observation.partitions}
    verdicts: list[Verdicts] = []
    outstanding = facts.outstanding
    for name in sorted(facts.partitions.keys() & seen):
        partition = facts.partitions[name]
        decided: list[Verdicts] = []
        with failures.kept(name, only_there=True) if failures is not None else nullcontext():
            mine = known[name] if known is not None else None
            verdict, plan = _decide(observation, partition, facts, outstanding, mine)
            outstanding = outstanding.plus(_that_will_happen(plan, partition.policy), verdict.snapshot)
            decided.append(verdict)
        verdicts += decided or [_undecided(observation, partition)]
    return verdicts


def _decide(
    observation: Observation,
    partition: PartitionFacts,
    facts: Facts,
    outstanding: Outstanding,
    known: KnownJobs | None,
) -> tuple[Verdicts, PlanningResult]:
    built = snapshot_for(
        observation,
        partition.policy,
        facts.projects,
        preemptions=facts.preemptions,
        ending=outstanding.victims,
        deriver=_deriver(partition, facts, observation.taken_at),
        known=known,
    )
    jobs = _amend(partition.row.name, built.snapshot.jobs, observation.jobs, facts)
    with_past = _with_past(jobs, observation, facts)
    snapshot = replace(
        built.snapshot,
        jobs=tuple(_told(with_past, observation, partition.policy, facts)),
        partition=_rules(built.snapshot.partition, partition, facts.stops),
    )
    snapshot, plan, given_up = decide_with_starts(snapshot, outstanding)
    by_id = {job.id: job for job in snapshot.jobs}
    plan = replace(plan, decisions=heed(plan.decisions, partition.row.name, by_id, facts.rejections))
    verdicts = Verdicts(partition, snapshot, built.standings, plan.decisions, by_id, starts_given_up=given_up)
    return verdicts, plan


def _told(
    jobs: Iterable[SnapshotJob], observation: Observation, policy: PartitionPolicy, facts: Facts
) -> Iterator[SnapshotJob]:
    """The jobs with how they can be made smaller and larger, and what is forecast of them."""
    open_here = any(part.name == policy.name and starts_jobs(part.state) for part in observation.partitions)
    shrunk = facts.regrowing.jobs if open_here else {}
    observed = {job.id: job for job in observation.jobs if job.id in shrunk} if shrunk else {}
    looks = looks_ahead(policy)
    for job in jobs:
        told = job if job.elastic is None else facts.resizable.told(job)
        if job.id in observed:
            told = facts.regrowing.told(told, observed[job.id], policy, observation.taken_at)
        yield facts.foresight.told(told, policy, observation.taken_at) if looks else told


def _deriver(partition: PartitionFacts, facts: Facts, now: int) -> Deriver:
    """Jobs that were derived in the last cycle are not derived again; a deriver is what the last one was made from."""
    last = _DERIVERS.get(partition.row.pk)
    deriver = _DERIVERS[partition.row.pk] = deriver_for(partition.policy, facts.projects, now, last)
    return deriver


def _undecided(observation: Observation, partition: PartitionFacts) -> Verdicts:
    """What is told of a partition whose decisions could not be made: that, of every job that waits."""
    name = partition.row.name
    decisions = tuple(
        Decision(
            job.id,
            DecisionKind.QUEUE,
            Reason.NOT_DECIDED,
            say("cycle.not_decided", partition=name),
        )
        for job in observation.jobs
        if job.state == JobState.PENDING and name in job.partitions
    )
    nothing = Snapshot(observation.taken_at, rules_of(partition.policy), (), ())
    return Verdicts(partition, nothing, {}, decisions, {}, is_undecided=True)


def _rules(rules: PartitionRules, facts: PartitionFacts, stops: Stops) -> PartitionRules:
    """The rules with what only the database knows: the pause, and what was stopped within the hour."""
    by_user = stops.within_hour.get(facts.row.name, {})
    return replace(rules, paused=_paused(facts), stopped=sum(by_user.values()), stopped_by_user=dict(by_user))


def _with_past(jobs: Iterable[SnapshotJob], observation: Observation, facts: Facts) -> Iterable[SnapshotJob]:
    """The jobs with what was done to them, or for them, and what is behind them."""
    comments = {job.id: job.comment for job in observation.jobs if job.restarts}
    stops, past = facts.stops, facts.past
    concerned = {*stops.ago_s, *stops.of_job, *(job_id for job_id, _ in stops.beneficiaries), *past.failed}
    concerned.update(job_id for job_id, _restarts in past.saved_ago_s)
    for job in jobs:
        if job.restarts or job.id in concerned:
            comment = comments.get(job.id, "")
            yield past.told(_with_stops(job, stops, observation.taken_at), comment, observation.taken_at)
        else:
            yield job


def _with_stops(job: SnapshotJob, stops: Stops, now: int) -> SnapshotJob:
    """A job with what Giveway did to it, or for it. `now` is the cluster's clock, which the age is taken off."""
    if job.state == JobState.PENDING:
        ago = stops.ago_s.get(job.id)
        return job if ago is None else replace(job, stopped_at=max(0, now - ago))
    stopped, served = stops.of_job.get(job.id, 0), (job.id, job.restarts) in stops.beneficiaries
    return replace(job, beneficiary=served, stopped=stopped) if served or stopped else job


def _paused(facts: PartitionFacts) -> str:
    """A pause holds nothing back in shadow, where nobody is stopped anyway: the tally goes on."""
    return "" if facts.policy.enforcement == Enforcement.SHADOW else facts.paused


def _that_will_happen(plan: PlanningResult, policy: PartitionPolicy) -> PlanningResult:
    """What other partitions have to reckon with: nobody is stopped where the policy does not enforce."""
    if policy.enforcement == Enforcement.ENFORCE:
        return plan
    return replace(
        plan,
        decisions=tuple(decision for decision in plan.decisions if not (decision.victims or decision.lead)),
    )


def _amend(
    partition: str, jobs: Iterable[SnapshotJob], observed: Iterable[ObservedJob], facts: Facts
) -> Iterable[SnapshotJob]:
    """What only the database knows about the jobs: our own holds, refusals, plans undone a moment ago."""
    concerned = {*(run.job_id for run in facts.refused), *facts.quota_held, *facts.backed_off}
    if not concerned and not facts.put_off.users:
        yield from jobs
        return
    held = {job.id for job in observed if job.held}
    for job in jobs:
        if job.id not in concerned and job.user[:LONGEST_USER] not in facts.put_off.users:
            yield job
            continue
        if job.state == JobState.RUNNING and job.run in facts.refused:
            yield replace(job, preemptable=False, protected=REFUSED)
        elif job.state == JobState.PENDING and job.id in facts.quota_held and job.id in held:
            yield replace(job, blocked="")
        elif job.state == JobState.PENDING and not job.blocked and (why := _put_off(job, facts, partition)):
            yield replace(job, blocked=why)
        else:
            yield job


def _put_off(job: SnapshotJob, facts: Facts, partition: str) -> str:
    """Why nobody is stopped for a waiting job now, whatever room there is."""
    return facts.backed_off.get(job.id) or facts.put_off.why(job, partition)


# The plans that are not over. A cycle asks for them again and again; of proposals there may be very many.

MOST_NAMED = 500
"""So many plans are asked for by their numbers; for more, all are read."""
_CLUSTER, _CYCLE = Plan.cluster.field, Plan.cycle.field


def open_plans(cluster: Cluster, states: Collection[str] = OPEN_STATES) -> list[Plan]:
    """Plans that are not over, oldest first, with their actions. No part of a cycle reads whom they left alone."""
    return _ready(cluster, list(_whole(cluster.pk, *states)))


class OpenPlans:
    """The open plans of a cluster, for one cycle after the other.

    A proposal that stands as it did is not read again: it is the same object, with what the cycle has made of it since.
    What has begun, or was renewed or decided on meanwhile, is read anew, and so are new plans. From one cycle to the
    next a proposal is the same only if all of its row is.
    """

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._proposals: dict[int, Plan] = {}
        self._rows: dict[int, int] = {}
        """Digests of their rows, as they were at the beginning of this cycle, or of the last."""

    def begin(self, cluster: Cluster) -> None:
        """A new cycle: nothing is taken for granted that the last one, or anybody else, may have changed."""
        self._cluster = cluster
        before, self._rows = self._rows, _digests(cluster)
        self._proposals = {
            key: plan
            for key, plan in self._proposals.items()
            if key in before and before[key] == self._rows.get(key)
        }

    def add(self, made: Iterable[Plan]) -> None:
        """Plans that this cycle has just made and saved."""
        self._proposals |= {plan.pk: plan for plan in made if plan.state == PlanState.PROPOSED}

    def now(self) -> list[Plan]:
        """As `open_plans`, at this moment."""
        marks = list(_marks(self._cluster.pk))
        there = {key: (version, state) for key, version, state in marks}
        plans = {key: plan for key, plan in self._proposals.items() if _stands(plan, there.get(key))}
        missing = there.keys() - plans.keys()
        if missing:
            asked = _whole(self._cluster.pk, *OPEN_STATES)
            asked = asked.filter(pk__in=missing) if len(missing) <= MOST_NAMED else asked
            plans |= {plan.pk: plan for plan in asked}
        self._proposals = {key: plan for key, plan in plans.items() if plan.state == PlanState.PROPOSED}
        return _ready(self._cluster, [plans[key] for key in sorted(plans)])


def _digests(cluster: Cluster) -> dict[int, int]:
    """Of each proposal its whole row as one number, without reading it into an object."""
    with connection.cursor() as cursor:
        cursor.execute(*_proposed(cluster.pk))
        return {row[0]: hash(row) for row in cursor.fetchall()}


@lru_cache(maxsize=64)
def _proposed(cluster: int) -> tuple[str, tuple[Any, ...]]:
    """The SQL and its values: they hang on the cluster alone."""
    return _whole(cluster, PlanState.PROPOSED).query.sql_with_params()


def _stands(plan: Plan, there: tuple[int, str] | None) -> bool:
    """Whether a proposal is as it was. `there`: the version and the state of its row."""
    return there == (plan.version, PlanState.PROPOSED) and plan.state == PlanState.PROPOSED


def _whole(cluster: int, *states: str) -> QuerySet[Plan]:
    return Plan.objects.filter(cluster=cluster, state__in=states).order_by("id").defer("passed_over")


def _marks(cluster: int) -> QuerySet[Plan, tuple[int, int, str]]:
    return _whole(cluster, *OPEN_STATES).values_list("pk", "version", "state")


def _ready(cluster: Cluster, plans: list[Plan]) -> list[Plan]:
    """With their cluster, their cycles, and their actions: proposals have none yet."""
    prefetch_related_objects([plan for plan in plans if plan.state != PlanState.PROPOSED], "actions")
    fresh = [plan for plan in plans if not _CYCLE.is_cached(plan)]
    cycles = Cycle.objects.in_bulk({plan.cycle_id for plan in fresh})
    # The same as setting the attributes, which asks much of each that is known here.
    for plan in fresh:
        _CYCLE.set_cached_value(plan, cycles[plan.cycle_id])
    for plan in plans:
        _CLUSTER.set_cached_value(plan, cluster)
    return plans


# A start is carried out: a job with free room that Slurm does not start is put first in its line.
#
# Slurm keeps room for the first of its line, and lets others pass only if they end in time: a job may have free room
# and wait all the same. It gets a plan without victims when there was room for it in two cycles before this one,
# Slurm has looked at it and left it (its reason says so), and nobody who stands before it, and could start, waits for
# more room: what it takes must not be what such a job needs.

STARTABLE = 2
"""So many cycles Slurm has to start a job by itself."""
NOT_STARTED = line_of("start.late").removeprefix("%(why)s ")
"""What such a plan says after the words of the decision."""
LEFT = frozenset({"priority", "resources"})
"""Slurm's reasons for a job that could start as far as it is concerned; all others are a limit or a wish."""
WAITS_ANYWAY = frozenset(
    {Reason.BLOCKED, Reason.DOES_NOT_FIT_EVER, Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED}
)
"""Of who stands before it: these would not start whatever room there is."""


def startable(cluster: Cluster) -> dict[tuple[str, str], int]:
    """In how many cycles in a row there was room for jobs, by job and partition."""
    return {(job, name): count for job, name, count in _counts(cluster.pk)}


def _counts(cluster: int) -> QuerySet[Job, tuple[str, str, int]]:
    rows = Job.objects.filter(cluster=cluster, phase=JobPhase.PENDING, startable__gt=0)
    return rows.values_list("job_id", "partition", "startable")


def left_waiting(
    verdicts: Verdicts, jobs: Mapping[str, ObservedJob], before: Mapping[tuple[str, str], int]
) -> frozenset[str]:
    """The jobs of a partition that are to be put first in line. `before`: as `startable` tells it."""
    facts = verdicts.facts
    if facts.policy.enforcement is Enforcement.SHADOW or facts.paused:
        return frozenset()
    return frozenset(
        decision.job
        for decision in _with_nobody_before(verdicts.decisions)
        if before.get((decision.job, facts.row.name), 0) >= STARTABLE and _is_left(jobs.get(decision.job))
    )


def _with_nobody_before(decisions: Iterable[Decision]) -> Iterator[Decision]:
    for decision in decisions:
        if decision.action is DecisionKind.START:
            yield decision
        elif decision.reason not in WAITS_ANYWAY:
            return


def _is_left(job: ObservedJob | None) -> bool:
    return job is not None and not job.held and not job.dependency and job.slurm_reason.lower() in LEFT


# What one cycle keeps at hand: the row that tells of it, if something happened, and the plans that are open.


class KeptReport(Protocol):
    """The part of a cycle's report that is kept."""

    phases: dict[str, float]


class KeptCycle:
    """The cycle's row, made only when something refers to it: most cycles change nothing and are not kept.

    `plans`: the open ones, to be asked for whenever they are needed.
    """

    def __init__(self, cluster: Cluster, number: int, plans: OpenPlans) -> None:
        self.cluster = cluster
        self.plans = plans
        self._number = number
        self._started_at = clock.now()
        self._row: Cycle | None = None

    def row(self) -> Cycle:
        """The row, made at first use."""
        if self._row is None:
            self._close_those_that_died()
            self._row = Cycle.objects.create(
                cluster=self.cluster, number=self._number, started_at=self._started_at
            )
        return self._row

    def _close_those_that_died(self) -> None:
        """Whoever holds the lease knows that no other cycle is under way."""
        Cycle.objects.filter(cluster=self.cluster, outcome=CycleOutcome.RUNNING).update(
            finished_at=self._started_at, outcome=CycleOutcome.FAILED, detail=say("cycle.unfinished")
        )

    def close(self, report: KeptReport, failures: Failures) -> None:
        """Say how it ended, if it is kept."""
        if self._row is not None:
            Cycle.objects.filter(pk=self._row.pk).update(
                finished_at=clock.now(),
                outcome=CycleOutcome.FAILED if failures.found else CycleOutcome.OK,
                detail=failures.found[0].what if failures.found else "",
                phases=report.phases,
            )
