"""Which running jobs of a partition are, or have, workers that may be taken: of elastic jobs above their minimum."""

from collections import Counter
from collections.abc import Iterable

from django.db.models import Q

from console.cluster.elastic import WorkerCounter
from console.cluster.models import Job, JobPhase
from console.partitions.models import Partition
from console.partitions.selectors import policy_of, task_types_in
from console.projects.selectors import elastic_patterns

IN_COMMENT = "elastic:"


def takeable_jobs(partition: Partition, among: Iterable[str], *, grouped: bool = True) -> frozenset[str]:
    """Their ids. An elastic job on several nodes is meant itself, if it is `among` those that are shown; of one whose
    workers are jobs, each of these. `grouped`: whether some running jobs belong to groups.

    Two queries at most; none where the policy lets nobody be shrunk.
    """
    if not policy_of(partition).elastic:
        return frozenset()
    types = {
        name: kinds
        for name, kinds in task_types_in([partition]).items()
        if any(kind.elastic_min is not None for kind in kinds.types)
    }
    patterns = elastic_patterns(partition.cluster)
    jobs = Job.objects.filter(cluster=partition.cluster_id, partition=partition.name, phase=JobPhase.RUNNING)
    if not types and not patterns:
        jobs = jobs.filter(comment__contains=IN_COMMENT)
    # A job on one node that is alone in its group has no worker to give; of a group all are counted.
    meant = Q(on_node="", job_id__in=list(among))
    rows = list(
        jobs.filter(meant | ~Q(group="") if grouped else meant).only(
            "job_id", "name", "comment", "group", "project", "partition", "alloc", "request", "cluster_id"
        )
    )
    counter = WorkerCounter(partition.cluster, types, patterns)
    running = Counter(row.group for row in rows if row.group)
    found = set()
    for row in rows:
        said = counter.said_of(row, running[row.group] if row.group else len(row.alloc))
        least = said.words.elastic.least if said.words.elastic else None
        if least is not None and not said.note and (said.workers or 0) > least:
            found.add(row.job_id)
    return frozenset(found)
