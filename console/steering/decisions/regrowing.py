"""Which jobs that were made smaller may start again on more nodes, and what is known for that (spec 4.1).

1. Only who was made smaller by a plan of ours, up to the wish that it says, or what it had before.
2. Only where the partition sends a checkpoint signal and this run had none yet: a restart needs a fresh checkpoint, and
   a run is asked once.
3. Not within `regrow_s` of its last restart by which it shrank or grew, nor right after an attempt that was given up.
4. A restart takes as long as the last one of the job did, and at least `GIVEWAY_RESTART_S`: what its program needs to
   read its checkpoint is not seen. The job ends when that is forecast, at its limit at the latest.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock, kept_queries
from console.forecasts.selectors import expected_ends
from console.steering.models import STOP_KINDS, ActionState, Plan, PlanKind, PlannedAction, PlanState
from scheduler.model.actions import RESIZING, ActionKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey, SnapshotJob
from scheduler.model.observation import Resizing
from scheduler.model.plan import How
from scheduler.model.policy import Enforcement, PartitionPolicy
from scheduler.priority.comment import read_comment
from scheduler.reconcile.snapshot_jobs import untyped

NOT_AGAIN = timedelta(minutes=2)
"""After an attempt was given up the job is left alone for this long."""


@dataclass(frozen=True, slots=True)
class GrowthFacts:
    """A running job that was made smaller. `had`: its nodes before. `restarted_at`: when it was given another number of
    nodes by a restart last; `given_up_at`: when its last attempt to grow ended so. `took_s`: its last restart.
    `is_mixed`: its nodes had GPUs of different types, so that it has not asked for one."""

    had: int
    restarted_at: datetime | None = None
    given_up_at: datetime | None = None
    took_s: int = 0
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class Regrowing:
    """`jobs`: those that were made smaller, by id. `asked`: runs that were signalled or stopped. `ends`: by job and
    start, when a run is forecast to have ended."""

    jobs: Mapping[str, GrowthFacts] = field(default_factory=dict)
    asked: frozenset[RunKey] = frozenset()
    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def told(self, job: SnapshotJob, observed: ObservedJob, policy: PartitionPolicy, now: int) -> SnapshotJob:
        """The job with its wish, if it may be restarted for it now; `now`: the cluster's clock."""
        shrunk, elastic = self.jobs.get(job.id), job.elastic
        if shrunk is None or elastic is None or elastic.by is None or not self._may(job, shrunk, policy):
            return job
        words = read_comment(observed.comment).elastic
        wish = words.wish if words is not None and words.wish else shrunk.had
        end = self._end(job, observed)
        if wish <= len(job.alloc) or end is None or end <= now:
            return job
        takes = max(shrunk.took_s, int(settings.GIVEWAY_RESTART_S))
        each = untyped(next(iter(job.alloc.values()))) if shrunk.is_mixed else elastic.per_node
        told = replace(elastic, wish_nodes=wish, ends_at=end, restart_s=takes, per_node=each)
        return replace(job, elastic=told)

    def _may(self, job: SnapshotJob, shrunk: GrowthFacts, policy: PartitionPolicy) -> bool:
        now = clock.now()
        waits = timedelta(seconds=policy.regrow_s)
        return (
            job.state is JobState.RUNNING
            and job.preemptable
            and job.how is How.REQUEUE
            and policy.enforcement in (Enforcement.ENFORCE, Enforcement.SHADOW)
            and bool(policy.checkpoint_signal)
            and policy.grace_s > 0
            and job.run not in self.asked
            and (shrunk.restarted_at is None or now - shrunk.restarted_at >= waits)
            and (shrunk.given_up_at is None or now - shrunk.given_up_at >= NOT_AGAIN)
        )

    def _end(self, job: SnapshotJob, observed: ObservedJob) -> int | None:
        """When the job ends as it is, as far as anything is known of that."""
        start = job.start or 0
        limit = start + observed.time_limit_s if observed.time_limit_s else None
        ends = [self.ends.get((job.id, start)), job.predicted_end, limit]
        return min((end for end in ends if end is not None), default=None)


def regrowing(cluster: Cluster, ways: frozenset[Resizing] | None) -> Regrowing:
    """Read it: one query where nobody who runs was made smaller, or where the cluster cannot."""
    if ways is not None and Resizing.RESTART not in ways:
        return Regrowing()
    actions = kept_queries.rows(_resized, cluster.pk)
    had = _nodes_before(actions)
    if not had:
        return Regrowing()
    sent = PlannedAction.objects.filter(
        cluster=cluster, kind__in=(ActionKind.SIGNAL, *STOP_KINDS), job_id__in=had
    ).exclude(state=ActionState.EXPIRED)
    asked = frozenset(RunKey(a.job_id, a.run_start, a.run_restarts) for a in sent)
    ends = {key: end for key, end in expected_ends(cluster).items() if key[0] in had}
    return Regrowing(_shrunk(cluster, had, actions), asked, ends)


def _resized(cluster: int) -> QuerySet[PlannedAction]:
    running = Job.objects.filter(cluster=cluster, phase=JobPhase.RUNNING).values("job_id")
    resized = PlannedAction.objects.filter(
        cluster=cluster, kind__in=RESIZING, state=ActionState.VERIFIED, attempts__gt=0, job_id__in=running
    )
    return resized.select_related("plan").order_by("id")


def _nodes_before(actions: Iterable[PlannedAction]) -> dict[str, int]:
    """By job, how many nodes it had before plans took some."""
    had: dict[str, int] = {}
    for action in actions:
        for victim in action.plan.victims if action.plan.kind == PlanKind.PREEMPT else ():
            if victim["job"] == action.job_id and victim.get("keeps"):
                before = len(victim["keeps"]) + len(victim["nodes"])
                had[action.job_id] = max(before, had.get(action.job_id, 0))
    return had


def _shrunk(
    cluster: Cluster, had: Mapping[str, int], actions: Iterable[PlannedAction]
) -> dict[str, GrowthFacts]:
    restarted = {a.job_id: a.verified_at for a in actions if a.kind == ActionKind.RESIZE}
    over = Plan.objects.filter(
        cluster=cluster, kind=PlanKind.GROW, job_id__in=had, state__in=(PlanState.UNDONE, PlanState.EXPIRED)
    )
    given_up = dict(over.order_by("ended_at").values_list("job_id", "ended_at"))
    took, mixed = _took(cluster, had), _mixed(actions)
    return {
        job_id: GrowthFacts(
            nodes, restarted.get(job_id), given_up.get(job_id), took.get(job_id, 0), job_id in mixed
        )
        for job_id, nodes in had.items()
    }


def _mixed(actions: Iterable[PlannedAction]) -> set[str]:
    """The jobs that held GPUs of several types when plans took nodes of them."""
    held = [
        (action.job_id, Counter(name.partition(":")[0] for name in victim["amounts"] if ":" in name))
        for action in actions
        for victim in action.plan.victims
        if victim["job"] == action.job_id
    ]
    return {job_id for job_id, types in held if any(count > 1 for count in types.values())}


def _took(cluster: Cluster, jobs: Iterable[str]) -> dict[str, int]:
    """By job, how many seconds there were between its last two runs."""
    runs: dict[str, list[JobRun]] = {}
    for run in JobRun.objects.filter(cluster=cluster, job_id__in=list(jobs)).order_by("restarts", "start"):
        runs.setdefault(run.job_id, []).append(run)
    return {
        job_id: max(0, last.start - before.ended)
        for job_id, (*_, before, last) in ((key, each) for key, each in runs.items() if len(each) > 1)
        if before.ended
    }
