"""From what was observed and what is configured to the planner's input for one partition."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from scheduler.model.jobs import JobState, ObservedJob, RunKey, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.model.plan import How
from scheduler.model.policy import PartitionPolicy, ProjectFacts
from scheduler.model.resources import Amounts, add, total
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.priority.derive import Deriver, JobStanding
from scheduler.priority.task_types import TaskTypes
from scheduler.reconcile.blocking import why_blocked, why_protected
from scheduler.reconcile.immunity import must_be_cancelled
from scheduler.reconcile.snapshot_jobs import snapshot_job, with_needs

T = TypeVar("T")


class PartitionNotObservedError(LookupError):
    """A partition that has a policy is not on the cluster (any more)."""


@dataclass(frozen=True, slots=True)
class Built:
    """A partition's snapshot, and of each of its jobs where it stands and why."""

    snapshot: Snapshot
    standings: Mapping[str, JobStanding]


def snapshot_for(
    observation: Observation,
    policy: PartitionPolicy,
    projects: Sequence[ProjectFacts],
    *,
    preemptions: Mapping[str, int],
    ending: Set[RunKey] = frozenset(),
    deriver: Deriver | None = None,
) -> Built:
    """What there is to plan in one partition: its nodes, its jobs with their levels, its rules.

    A pending job that may go to several partitions counts in each of them. What jobs of other partitions
    hold on shared nodes is `held_elsewhere`, or `coming_elsewhere` of those that are ending. `preemptions`: how often
    each job was stopped by us so far. `ending`: runs that are being stopped; of other partitions they count as ending.
    `deriver`: one of this policy, these projects and this moment, whose answers are used.
    Raises `PartitionNotObservedError`.
    """
    partition = _partition(observation, policy.name)
    theirs = frozenset(partition.nodes)
    nodes = [node for node in observation.nodes if node.name in theirs]
    # A partition may name a node of which nothing is told: nothing is planned there.
    names = frozenset(node.name for node in nodes)
    deriver = deriver or Deriver(policy, projects, observation.taken_at)
    jobs: list[SnapshotJob] = []
    standings: dict[str, JobStanding] = {}
    held: dict[str, dict[str, int]] = {}
    coming: dict[str, dict[str, int]] = {}
    types, counted = TaskTypes(policy.task_types), {name for node in nodes for name in node.total}
    for observed in observation.jobs:
        if policy.name not in observed.partitions:
            if observed.state is not JobState.PENDING:
                leaves = observed.state is JobState.COMPLETING or observed.run in ending
                _hold(coming if leaves else held, observed.alloc)
            continue
        standing = standings[observed.id] = deriver.derive(observed)
        job = snapshot_job(observed, standing, names)
        if kind := types.of(observed.name):
            job = with_needs(job, observed, kind, counted)
        if job.state is JobState.PENDING:
            job = replace(job, blocked=why_blocked(observed, partition.state, observation.taken_at))
        elif job.state is JobState.RUNNING:
            protected = why_protected(observed, policy, preemptions.get(observed.id, 0), observation.taken_at)
            job = _as_victim(job, observed, policy, protected)
        jobs.append(job)
    shared = tuple(_node(node, held.get(node.name, {}), coming.get(node.name, {})) for node in nodes)
    return Built(Snapshot(observation.taken_at, rules_of(policy), shared, tuple(jobs)), standings)


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
        min_wait_s=policy.min_wait_s,
        cool_down_s=policy.cool_down_s,
        max_stops_per_hour=policy.max_stops_per_hour,
        max_stops_per_user_hour=policy.max_stops_per_user_hour,
        rest_s=policy.rest_s,
        max_stops_per_job_hour=policy.max_stops_per_job_hour,
        max_crashes_per_hour=policy.max_crashes_per_hour,
        units=policy.units,
        elastic=policy.elastic,
        partial=policy.partial,
        give_back=policy.give_back,
        patience_s=policy.patience_s,
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


def _node(node: SnapshotNode, held: Amounts, coming: Amounts) -> SnapshotNode:
    if held:
        node = replace(node, held_elsewhere=total((node.held_elsewhere, held)))
    if coming:
        node = replace(node, coming_elsewhere=total((node.coming_elsewhere, coming)))
    return node
