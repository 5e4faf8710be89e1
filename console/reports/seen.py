"""What the mirror shows of nodes and jobs, read once for everything that a page says of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import SeenNode, seen_nodes
from scheduler.model.policy import Mode


@dataclass(frozen=True, slots=True)
class Seen:
    """All nodes, and how many jobs of some partitions are in which phase and at which levels (`job_counts`)."""

    nodes: list[SeenNode]
    jobs: Sequence[dict[str, Any]]


def see(cluster: Cluster, names: Iterable[str]) -> Seen:
    """Two queries, whatever the number of partitions."""
    return Seen(seen_nodes(cluster), job_counts(cluster, names))


def level_field(mode: Mode) -> str:
    """The job's column of the priority that a mode looks at first."""
    return "user_level" if mode in {Mode.USER, Mode.USER_THEN_TASK} else "task_level"


def job_counts(cluster: Cluster, names: Iterable[str]) -> list[dict[str, Any]]:
    """Jobs that are there, by partition, phase and both levels: `count`, `immune_jobs`, `grouped`."""
    rows = Job.objects.filter(cluster=cluster, partition__in=list(names)).exclude(phase=JobPhase.ENDED)
    counted = rows.order_by().values("partition", "phase", "user_level", "task_level")
    found = counted.annotate(
        count=Count("id"),
        immune_jobs=Count("id", filter=~Q(immune="")),
        grouped=Count("id", filter=~Q(group="")),
    )
    return [dict(row) for row in found]
