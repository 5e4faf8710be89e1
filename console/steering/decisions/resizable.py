"""Which elastic jobs of several nodes can be made smaller: what the cluster can do, and what was refused before."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import structlog
from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.core import kept_queries
from console.steering.models import ActionState, PlannedAction
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey, SnapshotJob
from scheduler.model.observation import Resizing
from scheduler.model.plan import How, Shrinking
from scheduler.ports import ClusterPort, ClusterUnavailableError

log = structlog.get_logger(__name__)

ASKED_AGAIN_S = 60.0
"""How long the answer of a cluster counts: another version of Slurm can do something else."""
_KNOWN: dict[tuple[int, int], tuple[float, frozenset[Resizing]]] = {}
"""By cluster and adapter, when it was asked and what it told."""


@dataclass(frozen=True, slots=True)
class Resizable:
    """`ways`: those of the cluster. `refused`: jobs that Slurm would give no other number of nodes. `shrunk`: runs that
    gave nodes back already, or would not."""

    ways: frozenset[Resizing] = frozenset({Resizing.RESTART, Resizing.IN_PLACE})
    refused: frozenset[str] = frozenset()
    shrunk: frozenset[RunKey] = frozenset()
    in_vain: frozenset[RunKey] = frozenset()

    def told(self, job: SnapshotJob) -> SnapshotJob:
        """The job: by a restart where it cannot give back nodes while it runs, rigid where it cannot do that either."""
        elastic = job.elastic
        if elastic is None or elastic.by is None:
            return job
        if elastic.by is Shrinking.INPLACE and self._in_place(job.run):
            return job
        if Resizing.RESTART not in self.ways or job.id in self.refused or job.how is How.CANCEL:
            return replace(job, elastic=None)
        return replace(job, elastic=replace(elastic, by=Shrinking.RESTART, first=""))

    def _in_place(self, run: RunKey) -> bool:
        once = Resizing.IN_PLACE_ONCE in self.ways and run not in self.shrunk
        return run not in self.in_vain and (once or Resizing.IN_PLACE in self.ways)


def resizable(cluster: Cluster, ways: frozenset[Resizing] | None = None) -> Resizable:
    """What is known of it: one query. `ways`: of the cluster, where it was asked."""
    refused, shrunk, in_vain = set[str](), set[RunKey](), set[RunKey]()
    for action in kept_queries.rows(_done, cluster.pk):
        failed = action.state == ActionState.FAILED
        if action.kind == ActionKind.RESIZE and failed:
            refused.add(action.job_id)
        elif action.kind == ActionKind.SHRINK:
            run = RunKey(action.job_id, action.run_start, action.run_restarts)
            (in_vain if failed else shrunk).add(run)
    known = Resizable(refused=frozenset(refused), shrunk=frozenset(shrunk), in_vain=frozenset(in_vain))
    return known if ways is None else replace(known, ways=ways)


def _done(cluster: int) -> QuerySet[PlannedAction]:
    done = PlannedAction.objects.filter(
        cluster=cluster, kind__in=(ActionKind.RESIZE, ActionKind.SHRINK), attempts__gt=0
    ).order_by()
    return done.only("kind", "state", "job_id", "run_start", "run_restarts")


def ways_of(cluster: Cluster, adapter: ClusterPort, jobs: Iterable[ObservedJob]) -> frozenset[Resizing]:
    """In which ways the cluster can make jobs smaller, or larger again; none while nobody runs on several nodes or may
    have had several, or it does not say."""
    if not any(job.state is JobState.RUNNING and _is_concerned(job) for job in jobs):
        return frozenset()
    now, key = time.monotonic(), (cluster.pk, id(adapter))
    asked_at, ways = _KNOWN.get(key, (now - ASKED_AGAIN_S, frozenset[Resizing]()))
    if now - asked_at < ASKED_AGAIN_S:
        return ways
    try:
        ways = adapter.describe().resizing
    except ClusterUnavailableError as error:
        log.warning("the cluster does not tell how it resizes jobs", reason=str(error))
        return frozenset()
    _KNOWN.clear()
    _KNOWN[key] = now, ways
    return ways


def _is_concerned(job: ObservedJob) -> bool:
    return len(job.alloc) > 1 or job.restarts > 0 or "elastic" in job.comment
