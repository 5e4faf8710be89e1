"""From a job as the cluster tells it to a job of the snapshot: the only place where one becomes the other."""

from collections.abc import Collection
from dataclasses import replace

from scheduler.model.jobs import Elastic, JobState, ObservedJob, SnapshotJob
from scheduler.model.plan import Shrinking
from scheduler.model.policy import TaskRule
from scheduler.model.resources import Amounts
from scheduler.model.task_types import ShrinkHow, TaskType
from scheduler.priority.comment import ElasticWords, read_comment
from scheduler.priority.derive import JobStanding
from scheduler.priority.groups import group_of, is_whole
from scheduler.priority.order import natural
from scheduler.priority.task_types import request_filled, with_others

PLAIN = frozenset({"cpu", "mem"})
"""What a job may hold that gives nodes back while it runs."""


def snapshot_job(
    observed: ObservedJob,
    standing: JobStanding,
    nodes: Collection[str],
    task_type: TaskType | None = None,
) -> SnapshotJob:
    """The job with its levels in the partition that has these `nodes`.

    What is laid beside it (what protects or blocks it, its stops, how it gives way) is `replace`d in by who knows it.
    """
    pending = observed.state is JobState.PENDING
    group = group_of(observed, standing.pattern)
    elastic = (
        elastic_workers(observed, standing.pattern, task_type)
        if group
        else elastic_nodes(observed, nodes, standing.pattern, task_type)
    )
    grows = elastic is not None and elastic.by is not None
    # Of a running job it says where it may start again: on more nodes, or on another one instead of one of its own.
    request = observed.request if pending or grows or len(observed.alloc) > 1 else None
    if pending and request is not None and group and is_whole(observed):
        request = replace(request, partial=False)
    return SnapshotJob(
        id=observed.id,
        name=observed.name,
        state=observed.state,
        user=observed.user,
        user_level=standing.user_level,
        task_level=standing.task_level,
        submit=observed.submit,
        start=None if pending else observed.start,
        # A node may have left the partition while the job runs on it: what is held there is no longer ours to plan.
        alloc={} if pending else {name: part for name, part in observed.alloc.items() if name in nodes},
        request=request,
        restarts=observed.restarts,
        group=group,
        elastic=elastic,
        balanced=asks_for_even_set(observed, task_type),
    )


def asks_for_even_set(observed: ObservedJob, task_type: TaskType | None) -> bool:
    """Whether a job's comment, or its type, asks for processors of equal compute power (spec 5, point 4)."""
    if task_type is not None and task_type.balanced:
        return True
    return "balanced" in observed.comment and read_comment(observed.comment).balanced


def elastic_workers(
    observed: ObservedJob, pattern: TaskRule | None = None, task_type: TaskType | None = None
) -> Elastic | None:
    """How far the elastic job may shrink of which this job is a worker, as its comment says, else the pattern of its
    project, else its type.

    None for other jobs.

    Who wants to shrink in another way than by tasks is no such worker, and counts as not elastic.
    """
    words = _words(observed, pattern, task_type)
    if words is None or words.how not in (None, ShrinkHow.TASKS):
        return None
    return Elastic(min_workers=words.least, wish_workers=words.wish)


def elastic_nodes(
    observed: ObservedJob,
    nodes: Collection[str],
    pattern: TaskRule | None = None,
    task_type: TaskType | None = None,
) -> Elastic | None:
    """How far a running job of several nodes, or of one left, may shrink; None for other jobs, and for one that counts
    as rigid.

    By a restart, where it does not say `inplace` or that cannot be: every job that can be put back goes on from its
    checkpoint then, while a program that is not made for it dies with the first node that it loses. A restart needs a
    job that holds the same on each of its nodes; in place nothing but CPUs and memory may be held, and the first node
    stays.
    """
    words = _words(observed, pattern, task_type)
    runs = observed.state is JobState.RUNNING and observed.alloc and observed.batch
    if words is None or not runs or not observed.alloc.keys() <= set(nodes) or observed.not_understood:
        return None
    shares = list(observed.alloc.values())
    if words.how is ShrinkHow.INPLACE and all(share.keys() <= PLAIN for share in shares):
        return Elastic(min_nodes=words.least, by=Shrinking.INPLACE, first=min(observed.alloc, key=natural))
    alike = all(untyped(share) == untyped(shares[0]) for share in shares)
    if words.how is ShrinkHow.TASKS or not alike or not observed.requeue:
        return None
    return Elastic(min_nodes=words.least, by=Shrinking.RESTART)


def untyped(share: Amounts) -> dict[str, int]:
    """Without the types of GPUs, which the job has not asked for where its nodes differ in them."""
    return {name: amount for name, amount in share.items() if ":" not in name}


def _words(
    observed: ObservedJob, pattern: TaskRule | None, task_type: TaskType | None
) -> ElasticWords | None:
    silent = all(each is None or each.elastic_min is None for each in (pattern, task_type))
    if silent and "elastic" not in observed.comment:
        return None
    return with_others(read_comment(observed.comment), pattern, task_type).elastic


def with_needs(
    job: SnapshotJob, observed: ObservedJob, task_type: TaskType, counted: Collection[str]
) -> SnapshotJob:
    """The job with what its type says where Slurm tells nothing: amounts of a pending one, the end of a running one.

    `counted`: the resources that the partition's nodes have. A time counts only for a job without a time limit.
    """
    if job.request is not None and job.state is JobState.PENDING:
        return replace(job, request=request_filled(job.request, task_type, counted))
    if observed.time_limit_s is None and task_type.time_s and job.state is JobState.RUNNING:
        return replace(job, predicted_end=(job.start or 0) + task_type.time_s)
    return job
