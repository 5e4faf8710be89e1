"""What jobs lose to waiting for their slowest processor: kept for each run when it has ended, summed up by project.

A job that waits for all of its processors goes as fast as the slowest of them. A processor with a figure of t seconds
could have done its part in t of the T seconds that the slowest one takes, and waited for the rest:

    lost hours = run hours × the sum over the run's processors of (1 − t / T)

with speeds instead of seconds, 1 − slowest / own speed. Of a node's processors Slurm does not tell which ones a run has
unless it has all of them: else each of its processors there counts with the middle figure of the node.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean, median
from typing import Any

from django.db import transaction
from django.db.models import Count, Sum

from console.cluster.models import Cluster, Job, JobRun
from console.core import clock
from console.partitions.models import Partition
from console.power.models import LossMark, RunLoss
from console.power.selectors import BY_NODE, figures_by_device
from console.projects.selectors import sees_all_projects, visible_projects
from scheduler.model.resource_kinds import by_worth

DAYS = 30
KEPT = timedelta(days=100)
AGAIN_S = 600
"""Runs that ended so long before the last look are looked at once more: an end may be told late, or taken back."""
BATCH = 300
HOUR = 3600.0
_Figures = Mapping[str, Mapping[str, Mapping[int, float]]]


@dataclass(frozen=True, slots=True)
class NodeShare:
    """The processors of a run on one node, in seconds of the benchmark each."""

    node: str
    seconds: Sequence[float]


@dataclass(frozen=True, slots=True)
class ProjectLoss:
    """What a project's runs on several processors held and lost, in hours. `project`: empty for jobs of none."""

    project: str
    resource: str
    runs: int
    hours: float
    lost: float

    @property
    def share(self) -> float:
        """The part of what was held that was lost."""
        return self.lost / self.hours if self.hours else 0.0


def lost_hours(run_s: float, seconds: Sequence[float]) -> tuple[float, float]:
    """The hours that a run held its processors for, and those that it lost to waiting for the slowest one."""
    slowest = max(seconds)
    hours = max(0.0, run_s) / HOUR
    return hours * len(seconds), hours * sum(1 - each / slowest for each in seconds)


def slow_down(seconds: Sequence[float]) -> float:
    """How much longer a job takes that waits for its slowest processor than on an even set with the same power in all,
    where each would have the mean of their speeds: 0.1 is a tenth."""
    return max(seconds) * fmean(1 / each for each in seconds) - 1


def shares_of(held: Mapping[str, Mapping[str, int]], figures: _Figures) -> tuple[str, list[NodeShare]] | None:
    """The resource that a run's processors were measured by, and its share of each node; None for a single processor,
    and where not all of its nodes are measured. GPUs count before all others."""
    resources = {name for part in held.values() for name, amount in part.items() if amount and name != "mem"}
    for resource in sorted(resources, key=by_worth):
        nodes = {node: part[resource] for node, part in held.items() if part.get(resource)}
        known = {node: figures.get(node, {}).get(resource, {}) for node in nodes}
        if sum(nodes.values()) > 1 and all(known.values()):
            return resource, [NodeShare(node, _own(resource, known[node], n)) for node, n in nodes.items()]
    return None


def _own(resource: str, by_device: Mapping[int, float], amount: int) -> Sequence[float]:
    every = list(by_device.values())
    if resource not in BY_NODE and len(every) == amount:
        return every
    return [median(every)] * amount


def keep_losses(cluster: Cluster) -> int:
    """Look at the runs that have ended since the last look; of how many something is kept."""
    now = int(clock.now().timestamp())
    mark = LossMark.objects.filter(cluster=cluster).first()
    since = (mark.until if mark else now - DAYS * 24 * 3600) - AGAIN_S
    figures = figures_by_device(cluster)
    kept = 0
    if figures:
        # All keys first: a reading that is still open when others write would keep us from writing (SQLite).
        ended = JobRun.objects.filter(cluster=cluster, ended__gte=since).order_by("ended", "pk")
        keys = list(ended.values_list("pk", flat=True))
        for first in range(0, len(keys), BATCH):
            kept += _keep(cluster, ended.filter(pk__in=keys[first : first + BATCH]), figures)
    with transaction.atomic():
        LossMark.objects.update_or_create(cluster=cluster, defaults={"until": now})
        RunLoss.objects.filter(cluster=cluster, ended__lt=now - int(KEPT.total_seconds())).delete()
    return kept


def _keep(cluster: Cluster, runs: Iterable[JobRun], figures: _Figures) -> int:
    found = [(run, shares) for run in runs if run.held and (shares := shares_of(run.held, figures))]
    ids = {run.job_id for run, _ in found}
    jobs = {job.job_id: job for job in Job.objects.filter(cluster=cluster, job_id__in=ids)}
    rows = [_row(run, jobs[run.job_id], *shares) for run, shares in found if run.job_id in jobs]
    RunLoss.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["cluster", "job_id", "start", "restarts"],
        update_fields=["ended", "hours", "lost"],
    )
    return len(rows)


def _row(run: JobRun, job: Job, resource: str, shares: Sequence[NodeShare]) -> RunLoss:
    seconds = [each for share in shares for each in share.seconds]
    ended = max(run.ended or run.start, run.start)
    hours, lost = lost_hours(ended - run.start, seconds)
    return RunLoss(
        cluster=run.cluster, job_id=run.job_id, start=run.start, restarts=run.restarts, ended=ended,
        partition=run.partition or job.partition, project=job.project, user=job.user, resource=resource,
        processors=len(seconds), hours=hours, lost=lost,
        slowest=max(shares, key=lambda share: max(share.seconds)).node,
    )  # fmt: skip


def losses_of(cluster: Cluster, partition: str, projects: Iterable[str] | None) -> list[ProjectLoss]:
    """What was lost in a partition over the last days, the most first. `projects`: these only; None: all, and none."""
    since = int((clock.now() - timedelta(days=DAYS)).timestamp())
    rows = RunLoss.objects.filter(cluster=cluster, partition=partition, ended__gte=since)
    if projects is not None:
        rows = rows.filter(project__in=list(projects))
    summed = rows.order_by().values("project", "resource")
    found = summed.annotate(runs=Count("pk"), hours=Sum("hours"), lost=Sum("lost"))
    return sorted(
        (ProjectLoss(**row) for row in found), key=lambda each: (-each.lost, each.project, each.resource)
    )


def lost_by_partition() -> dict[tuple[str, ...], float]:
    """By cluster, partition and resource, what was lost over the last days."""
    since = int((clock.now() - timedelta(days=DAYS)).timestamp())
    rows: Any = RunLoss.objects.filter(ended__gte=since).order_by()
    summed = rows.values_list("cluster__name", "partition", "resource").annotate(lost=Sum("lost"))
    return {tuple(row[:-1]): row[-1] for row in summed}


def visible_losses(user: object, partition: Partition) -> list[ProjectLoss]:
    """Of the projects that a person may read; of jobs without one too for who sees all."""
    own = None if sees_all_projects(user) else visible_projects(user).values_list("code", flat=True)
    return losses_of(partition.cluster, partition.name, own)
