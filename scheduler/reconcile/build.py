"""From what was observed and what is configured to the planner's input for one partition."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from scheduler.model.jobs import JobState, ObservedJob, Request, RunKey, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.model.plan import How
from scheduler.model.policy import SETTINGS, NotRequeueable, PartitionPolicy, ProjectFacts
from scheduler.model.resources import Amounts, add, total
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.model.task_types import TaskType
from scheduler.preemption.balance.designated import designated
from scheduler.priority.derive import Deriver, JobStanding
from scheduler.priority.task_types import TaskTypes
from scheduler.reconcile.blocking import why_blocked, why_protected
from scheduler.reconcile.immunity import must_be_cancelled, not_requeued
from scheduler.reconcile.snapshot_jobs import snapshot_job, with_needs

T = TypeVar("T")


class PartitionNotObservedError(LookupError):
    """A partition that has a policy is not on the cluster (any more)."""


@dataclass(frozen=True, slots=True)
class Built:
    """A partition's snapshot, and of each of its jobs where it stands and why."""

    snapshot: Snapshot
    standings: Mapping[str, JobStanding]


@dataclass(frozen=True, slots=True)
class _Made:
    """A job of a snapshot with all that it was made from, but for what its `_JobMaker` knows. `stops`: how often we
    have stopped it. `lasts`: it stays as it is while time goes by."""

    observed: ObservedJob
    stops: int
    standing: JobStanding
    job: SnapshotJob
    lasts: bool


@dataclass(frozen=True, slots=True)
class _JobMaker:
    """Makes a partition's jobs. `nodes`: those that it has; `counted`: the resources that these have. `state`: the
    partition's."""

    deriver: Deriver
    nodes: frozenset[str]
    counted: frozenset[str]
    state: str
    now: int
    limited: str = ""
    """What its jobs want as much of as of CPUs, where the partition may use a part of its nodes."""

    def goes_on_from(self, last: "_JobMaker") -> bool:
        """Whether jobs that the last one made, and that last, would be made the same."""
        same = self.deriver is last.deriver and self.nodes == last.nodes and self.state == last.state
        return same and self.limited == last.limited and self.counted == last.counted and last.now <= self.now

    def make(self, observed: ObservedJob, stops: int) -> _Made:
        """One job, with what keeps it waiting or protects it."""
        policy, standing = self.deriver.policy, self.deriver.derive(observed)
        kind = _types_of(policy.task_types).of(observed.name)
        job, lasts = snapshot_job(observed, standing, self.nodes, kind), True
        if kind is not None:
            job = with_needs(job, observed, kind, self.counted)
        if self.limited and job.request is not None and job.state is JobState.PENDING:
            job = replace(job, request=_limited(job.request, self.limited))
        if job.state is JobState.PENDING:
            job = replace(job, blocked=why_blocked(observed, self.state, self.now))
            lasts = observed.eligible is None or observed.eligible <= self.now
        elif job.state is JobState.RUNNING:
            job = _as_victim(job, observed, policy, why_protected(observed, policy, stops, self.now))
            lasts = not_requeued(observed) is None or policy.not_requeueable is not NotRequeueable.CANCEL
        return _Made(observed, stops, standing, job, lasts)


@lru_cache(maxsize=256)
def _types_of(types: tuple[TaskType, ...]) -> TaskTypes:
    """Ready to match; most partitions have the same ones in every cycle."""
    return TaskTypes(types)


def _made_again(last: _Made | None, observed: ObservedJob, stops: int) -> _Made | None:
    """The last one, if it lasts and was made from the same. A job that was not read anew is the same object as
    before."""
    if last is None or not last.lasts or last.stops != stops:
        return None
    return last if last.observed is observed or last.observed == observed else None


class KnownJobs:
    """The jobs of the last snapshot of a partition: most are the same in the next, and are not made again."""

    def __init__(self) -> None:
        self._maker: _JobMaker | None = None
        self._made: Mapping[str, _Made] = {}

    def make(
        self, maker: _JobMaker, jobs: Sequence[ObservedJob], preemptions: Mapping[str, int]
    ) -> dict[str, _Made]:
        """The jobs by their ids, made by `maker` where they are not the same as the last ones; they are the last ones
        now."""
        before = self._made if self._maker and maker.goes_on_from(self._maker) else {}
        made: dict[str, _Made] = {}
        for observed in jobs:
            stops = preemptions.get(observed.id, 0)
            same = _made_again(before.get(observed.id), observed, stops)
            made[observed.id] = same or maker.make(observed, stops)
        self._maker, self._made = maker, made
        return made


def snapshot_for(  # noqa: PLR0913 - each is named at the call
    observation: Observation,
    policy: PartitionPolicy,
    projects: Sequence[ProjectFacts],
    *,
    preemptions: Mapping[str, int],
    ending: Set[RunKey] = frozenset(),
    deriver: Deriver | None = None,
    known: KnownJobs | None = None,
) -> Built:
    """What there is to plan in one partition: its nodes, its jobs with their levels, its rules.

    A pending job that may go to several partitions counts in each of them. What jobs of other partitions
    hold on shared nodes is `held_elsewhere`, or `coming_elsewhere` of those that are ending. `preemptions`: how often
    each job was stopped by us so far. `ending`: runs that are being stopped; of other partitions they count as ending.
    `deriver`: one of this policy, these projects and this moment, whose answers are used.
    `known`: the jobs of an earlier snapshot, whose place those of this one take.
    Raises `PartitionNotObservedError`.
    """
    observation = observation.planned
    partition = _partition(observation, policy.name)
    theirs = frozenset(partition.nodes)
    nodes = [partition.seen(node) for node in observation.nodes if node.name in theirs]
    # A partition may name a node of which nothing is told: nothing is planned there.
    names = frozenset(node.name for node in nodes)
    now = observation.taken_at
    counted = frozenset(name for node in nodes for name in node.total)
    limited = "" if partition.cpus_per_node is None else partition.limited
    maker = _JobMaker(
        deriver or Deriver(policy, projects, now), names, counted, partition.state, now, limited
    )
    own: list[ObservedJob] = []
    held: dict[str, dict[str, int]] = {}
    coming: dict[str, dict[str, int]] = {}
    for observed in observation.jobs:
        if policy.name in observed.partitions:
            own.append(observed)
        elif observed.state is not JobState.PENDING:
            leaves = observed.state is JobState.COMPLETING or observed.run in ending
            _hold(coming if leaves else held, observed.alloc)
    made = (known or KnownJobs()).make(maker, own, preemptions)
    shared = tuple(_node(node, held.get(node.name, {}), coming.get(node.name, {})) for node in nodes)
    snapshot = Snapshot(now, rules_of(policy), shared, tuple([each.job for each in made.values()]))
    return Built(designated(snapshot), {job_id: each.standing for job_id, each in made.items()})


def rules_of(policy: PartitionPolicy) -> PartitionRules:
    """The part of a policy that the planner needs; quotas by level index."""
    ranks = {rule.name: rank for rank, rule in enumerate(policy.levels)}
    return PartitionRules(
        name=policy.name,
        mode=policy.mode,
        victim_order=policy.victim_order,
        bands=policy.bands,
        exempt_s=policy.exempt_s,
        quotas=_by_rank(policy.quotas, ranks),
        quota_amounts=_by_rank(policy.quota_amounts, ranks),
        quota_totals=_by_rank(policy.quota_totals, ranks),
        over_quota=policy.over_quota,
        level_names=tuple(rule.name for rule in policy.levels),
        balance=policy.balance,
        **{key: getattr(policy, key) for key, each in SETTINGS.items() if each.is_in_snapshot},
    )


def _by_rank(limits: Mapping[str, T], ranks: Mapping[str, int]) -> dict[int, T]:
    return {ranks[level]: limit for level, limit in limits.items()}


def _partition(observation: Observation, name: str) -> ObservedPartition:
    for partition in observation.partitions:
        if partition.name == name:
            return partition
    raise PartitionNotObservedError(f"the cluster has no partition {name}")


def _as_victim(
    job: SnapshotJob, observed: ObservedJob, policy: PartitionPolicy, protected: str
) -> SnapshotJob:
    """A running job with what may be done to it."""
    if protected:
        return replace(job, preemptable=False, protected=protected)
    return replace(job, how=How.CANCEL) if must_be_cancelled(observed, policy) else job


def _hold(elsewhere: dict[str, dict[str, int]], alloc: Mapping[str, Amounts]) -> None:
    for name, part in alloc.items():
        add(elsewhere.setdefault(name, {}), part)


def _limited(request: Request, name: str) -> Request:
    """A request that wants as much of a resource as of CPUs."""

    def more(share: Amounts) -> dict[str, int]:
        return {**share, **({name: share["cpu"]} if share.get("cpu") else {})}

    return replace(
        request,
        per_node=more(request.per_node),
        spread=more(request.spread),
        # Room for both on the same node.
        parts=request.parts or request.spread.get("cpu", 0),
        unit=more(request.unit),
    )


def _node(node: SnapshotNode, held: Amounts, coming: Amounts) -> SnapshotNode:
    if held:
        node = replace(node, held_elsewhere=total((node.held_elsewhere, held)))
    if coming:
        node = replace(node, coming_elsewhere=total((node.coming_elsewhere, coming)))
    return node
