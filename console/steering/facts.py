"""What a cycle needs to know besides the observation: policies, projects, and what is under way."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from console.cluster.lives import of_earlier_job
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import clock
from console.forecasts.selectors import expected_ends
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.selectors import core_projects
from console.steering.backoff import Foresight, PuttingOff, foresee, putting_off
from console.steering.kinds.swap import comes_back, gets, gives_up, is_exchange
from console.steering.models import STOP_KINDS, ActionState, Pause, Plan, PlanKind, PlannedAction, PlanState
from console.steering.past import PastRuns, past_of
from console.steering.served import jobs_served, rooms_left, runs_served
from scheduler.model.actions import RESIZING, ActionKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey, SnapshotJob
from scheduler.model.observation import Observation, Resizing
from scheduler.model.plan import MAKES_ROOM, Decision, DecisionKind, How, Shrinking
from scheduler.model.policy import Enforcement, PartitionPolicy, ProjectFacts
from scheduler.model.reasons import Reason
from scheduler.model.sentence import Seconds, say
from scheduler.ports import ClusterPort, ClusterUnavailableError
from scheduler.priority.comment import read_comment
from scheduler.reconcile.decide import Outstanding
from scheduler.reconcile.snapshot_jobs import untyped

# What was stopped lately: what the hourly limits count, and when each job was stopped last.
#
# Moments are the console's clock, the planner speaks the cluster's, and the two may differ. So ages are taken here,
# differences of the console's own clock, and become moments of the cluster's clock only in the snapshot.

HOUR = timedelta(hours=1)
REMEMBER = timedelta(days=30)
"""How far back a job's stops count."""
DONE = (ActionState.EXECUTING, ActionState.ISSUED, ActionState.VERIFIED)
"""Also a stop whose process died before it knew: it may have worked."""


@dataclass(frozen=True, slots=True)
class Stops:
    """`within_hour`: per partition, how many runs of each user's jobs were stopped, or are about to be after their
    grace time. `ago_s`: per job, the seconds since it was stopped last. `times`: per job, how often it was.
    `of_job`: the same by job.
    `beneficiaries`: job id and restarts of the runs that others were stopped for."""

    within_hour: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ago_s: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    beneficiaries: frozenset[tuple[str, int]] = frozenset()
    of_job: Mapping[str, int] = field(default_factory=dict)


def recent_stops(cluster: Cluster) -> Stops:
    """Read them: three queries, whatever the number of jobs."""
    times, ago_s = _by_job(cluster)
    by_user, of_job = _within_hour(cluster)
    return Stops(by_user, ago_s, times, _beneficiaries(cluster), of_job)


def _within_hour(cluster: Cluster) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """By partition and user, and by job. A run counts once, also when it was stopped and then recovered."""
    counts: dict[str, dict[str, int]] = {}
    of_job: dict[str, int] = {}
    runs = list(_runs_stopped(cluster.pk, since=clock.now() - HOUR))
    for is_of_earlier, partition, user, job_id, *_ in runs:
        theirs = counts.setdefault(partition, {})
        theirs[user] = theirs.get(user, 0) + 1
        if not is_of_earlier:
            of_job[job_id] = of_job.get(job_id, 0) + 1
    return counts, of_job


def _runs_stopped(cluster: int, since: datetime) -> QuerySet[PlannedAction, tuple[Any, ...]]:
    restarted = PlannedAction.objects.filter(
        plan=OuterRef("plan"), job_id=OuterRef("job_id"), kind=ActionKind.RESIZE
    )
    done = Q(state__in=DONE, issued_at__gte=since)
    return (
        PlannedAction.objects.filter(
            done | Q(state=ActionState.PLANNED), cluster=cluster, kind__in=STOP_KINDS
        )
        # Where workers of elastic jobs make the room nobody is stopped, but who has to start again for it.
        .exclude(~Exists(restarted), plan__reason=Reason.SHRINKS.value)
        .order_by()
        .annotate(is_of_earlier=of_earlier_job(cluster, "run_start"))
        .values_list("is_of_earlier", "plan__partition", "user", "job_id", "run_start", "run_restarts")
        .distinct()
    )


def _by_job(cluster: Cluster) -> tuple[dict[str, int], dict[str, int]]:
    """How often Giveway has stopped each job, other requeues (node failures) not counted; and how long ago last."""
    now = clock.now()
    times: dict[str, int] = {}
    ago_s: dict[str, int] = {}
    for job_id, runs, last in _jobs_stopped(cluster.pk, since=now - REMEMBER):
        times[job_id] = runs
        # A worker whose clock is ahead may have written it: then it was just now.
        ago_s[job_id] = max(0, int((now - last).total_seconds()))
    return times, ago_s


def _jobs_stopped(cluster: int, since: datetime) -> QuerySet[PlannedAction, tuple[Any, ...]]:
    return (
        PlannedAction.objects.filter(
            cluster=cluster, kind__in=STOP_KINDS, state__in=DONE, issued_at__gte=since
        )
        .exclude(of_earlier_job(cluster, "run_start"))
        .order_by()
        .values_list("job_id")
        .annotate(Count("run_start", distinct=True), Max("issued_at"))
    )


def _beneficiaries(cluster: Cluster) -> frozenset[tuple[str, int]]:
    plans = list(_plans_started(cluster.pk, since=clock.now() - REMEMBER))
    return frozenset(run for plan in plans for run in runs_served(plan))


def _plans_started(cluster: int, since: datetime) -> QuerySet[Plan]:
    present = Job.objects.filter(cluster=cluster).exclude(phase=JobPhase.ENDED)
    # Of an array the first task may have ended while others run.
    together = ~Q(tasks=[]) & Q(started_at__gte=since)
    started = Plan.objects.filter(
        Q(job_id__in=present.values("job_id")) | together,
        cluster=cluster,
        kind=PlanKind.PREEMPT,
        started_at__isnull=False,
    ).exclude(Q(victims=[]) | of_earlier_job(cluster, "job_submit"))
    return started.order_by().only("job_id", "job_restarts", "tasks")


# Heeding a person's no: a plan that was rejected is not proposed again at once.
#
# The planner knows nothing of it: it says every cycle what would make room. If that is exactly what somebody has
# rejected a while ago, the job waits instead and the person's words say why. As soon as other jobs would have to go,
# or the while is over, there is a new plan.

HEEDED = timedelta(minutes=15)
"""For how long a rejection holds."""

Rejections = Mapping[tuple[str, str], list[Plan]]
"""Plans that were rejected lately, by partition and beneficiary."""


def recent_rejections(cluster: Cluster) -> Rejections:
    """The rejections that still hold."""
    found: dict[tuple[str, str], list[Plan]] = {}
    for plan in _lately_rejected(cluster.pk, since=clock.now() - HEEDED):
        for job_id in jobs_served(plan):
            found.setdefault((plan.partition, job_id), []).append(plan)
    return found


def _lately_rejected(cluster: int, since: datetime) -> QuerySet[Plan]:
    rows = Plan.objects.filter(cluster=cluster, state=PlanState.REJECTED, decided_at__gte=since).only(
        "partition", "job_id", "job_restarts", "tasks", "victims", "decided_by", "decided_at", "decision_reason",
        "decided_version",
    )  # fmt: skip
    return rows.order_by("-id").prefetch_related("versions")


def declined_starts(partition: str, rejections: Rejections) -> frozenset[str]:
    """The jobs that somebody did not want put first in line a while ago."""
    return frozenset(
        job_id
        for (name, job_id), plans in rejections.items()
        if name == partition and any(not plan.victims for plan in plans)
    )


def heed(
    decisions: Iterable[Decision], partition: str, jobs: Mapping[str, SnapshotJob], rejections: Rejections
) -> tuple[Decision, ...]:
    """The decisions, but for those that were rejected a while ago: these wait."""
    found = [_heeded(decision, jobs, rejections.get((partition, decision.job), ())) for decision in decisions]
    waits = {decision.job: decision for decision in found if decision.reason is Reason.PLAN_REJECTED}
    # Tasks that would get room together wait together.
    return tuple(
        replace(waits[decision.lead], job=decision.job) if decision.lead in waits else decision
        for decision in found
    )


def _heeded(decision: Decision, jobs: Mapping[str, SnapshotJob], rejected: Iterable[Plan]) -> Decision:
    if decision.action not in MAKES_ROOM or decision.lead:
        return decision
    runs = {jobs[victim.job].run for victim in decision.victims}
    for plan in rejected:
        if (decision.job, jobs[decision.job].restarts) in runs_served(plan) and runs in _rejected(plan):
            return replace(
                decision,
                action=DecisionKind.QUEUE,
                reason=Reason.PLAN_REJECTED,
                explain=_words(plan, clock.now()),
                nodes=(),
                victims=(),
                placement={},
                tasks=(),
            )
    return decision


def _rejected(plan: Plan) -> list[set[RunKey]]:
    """Whom the person did not want stopped: what was read, and what it had become by then."""
    read = plan.decided_version or plan.version
    return [_runs(plan.victims), *(_runs(row.victims) for row in plan.versions.all() if row.number >= read)]


def _runs(victims: Iterable[Mapping[str, Any]]) -> set[RunKey]:
    return {RunKey(victim["job"], victim["start"], victim["restarts"]) for victim in victims}


def _words(plan: Plan, now: datetime) -> str:
    left = HEEDED - (now - (plan.decided_at or now))
    said, time = plan.decision_reason.rstrip("."), Seconds(left.total_seconds())
    return say("put_off.rejected", who=plan.decided_by, plan=plan.pk, said=said, time=time)


# Which elastic jobs of several nodes can be made smaller: what the cluster can do, and what was refused before.

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
    for action in _done(cluster.pk):
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


# Jobs that Giveway holds until all of their group fit (`PlanKind.WHOLE`): decided on as if they were not held.

HELD_BY_USER = "jobhelduser"
"""Slurm's reason, in small letters, of a job that its own user holds."""


def held_together(plans: Iterable[Plan]) -> frozenset[str]:
    """The jobs that open plans hold until all fit, or were holding until a moment ago."""
    return frozenset(job_id for plan in plans if plan.kind == PlanKind.WHOLE for job_id in jobs_served(plan))


def is_held_by_user(job: ObservedJob | None) -> bool:
    """Whether the job's own user holds it, whoever else does."""
    return job is not None and job.held and job.slurm_reason.lower() == HELD_BY_USER


def let_go(job: ObservedJob) -> ObservedJob:
    """The job as it would be without our hold; one that its user holds is left as it is."""
    if not job.held or job.state is not JobState.PENDING or is_held_by_user(job):
        return job
    return replace(job, held=False, slurm_reason="", reason_code="")


def jobs_let_go(jobs: Mapping[str, ObservedJob], held: frozenset[str]) -> Mapping[str, ObservedJob]:
    """The same of all that we hold."""
    ours = {job_id: let_go(jobs[job_id]) for job_id in held if job_id in jobs}
    return {**jobs, **ours} if ours else jobs


def all_let_go(observation: Observation, held: frozenset[str]) -> Observation:
    """The look without our holds."""
    if not held:
        return observation
    return replace(
        observation, jobs=tuple(let_go(job) if job.id in held else job for job in observation.jobs)
    )


# --- Which jobs that were made smaller may start again on more nodes, and what is known for that (spec 4.1) ---
# 1. Only who was made smaller by a plan of ours, up to the wish that it says, or what it had before.
# 2. Only where the partition sends a checkpoint signal and this run had none yet: a restart needs a fresh checkpoint,
# and
#    a run is asked once.
# 3. Not within `regrow_s` of its last restart by which it shrank or grew, nor right after an attempt that was given
# up.
# 4. A restart takes as long as the last one of the job did, and at least `GIVEWAY_RESTART_S`: what its program needs
# to
#    read its checkpoint is not seen. The job ends when that is forecast, at its limit at the latest.


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
    actions = list(_resized(cluster.pk))
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


UNDER_WAY = (ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED)
SHRINKING = (*STOP_KINDS, ActionKind.SHRINK)
MISREAD = timedelta(days=1)
"""How long a stop that was seen to work is kept in mind, should its run be seen again."""
BACK_OFF = timedelta(minutes=2)
"""After a plan was undone, its job gets no second one for this long; `putting_off` says when it is longer."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """A partition's policy in force. `paused`: why nobody may be stopped there just now, in words; else empty."""

    row: Partition
    policy: PartitionPolicy
    revision: int
    paused: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the database knows that decisions depend on.

    `stops`: what was stopped lately. `past`: what is behind each job. `quota_held`: jobs that Giveway holds because
    of a quota. `refused`: runs that Slurm refused to stop. `backed_off`: jobs whose last plan was undone a moment ago,
    with the words that say so. `foresight`: when running jobs are expected to end, and who is patient. `put_off`: who
    is not tried again for longer, because nobody could start it in the room that was made.
    """

    partitions: Mapping[str, PartitionFacts]
    projects: Sequence[ProjectFacts]
    stops: Stops
    plans: Sequence[Plan]
    outstanding: Outstanding
    quota_held: frozenset[str] = frozenset()
    refused: frozenset[RunKey] = frozenset()
    backed_off: Mapping[str, str] = field(default_factory=dict)
    put_off: PuttingOff = field(default_factory=lambda: PuttingOff(clock.now()))
    rejections: Rejections = field(default_factory=dict)
    past: PastRuns = field(default_factory=PastRuns)
    held_together: frozenset[str] = frozenset()
    foresight: Foresight = field(default_factory=Foresight)
    resizable: Resizable = field(default_factory=Resizable)
    regrowing: Regrowing = field(default_factory=Regrowing)

    @property
    def policies(self) -> list[PartitionPolicy]:
        """The policies of all partitions."""
        return [partition.policy for partition in self.partitions.values()]

    @property
    def preemptions(self) -> Mapping[str, int]:
        """How often Giveway has stopped each job."""
        return self.stops.times


def run_of(action: PlannedAction) -> RunKey:
    """The run of the job that an action is aimed at."""
    return RunKey(action.job_id, action.run_start, action.run_restarts)


def partition_policies(cluster: Cluster) -> dict[str, PartitionFacts]:
    """The policies in force, by the partition's name."""
    rows = list(_in_force(cluster.pk))
    pauses = pauses_of(cluster)
    return {
        row.name: PartitionFacts(row, policy_of(row), row.revision.number, why_paused(row.name, pauses))
        for row in rows
        if row.revision is not None
    }


def _in_force(cluster: int) -> QuerySet[Partition]:
    return Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")


def pauses_of(cluster: Cluster) -> dict[str, Pause]:
    """The pauses that hold now, by partition; the whole cluster's under an empty name."""
    return {pause.partition: pause for pause in _pauses(cluster.pk)}


def _pauses(cluster: int) -> QuerySet[Pause]:
    return Pause.objects.filter(cluster=cluster)


def why_paused(partition: str, pauses: Mapping[str, Pause]) -> str:
    """Why nobody may be stopped in a partition, in words; empty when somebody may."""
    pause = pauses.get("") or pauses.get(partition)
    if pause is None:
        return ""
    code = "paused.here" if pause.partition else "paused.everywhere"
    facts = {"who": pause.by_whom} | ({"partition": partition} if pause.partition else {})
    return say(f"{code}.because", **facts, said=pause.reason) if pause.reason else say(code, **facts)


def gather(
    cluster: Cluster,
    plans: Sequence[Plan],
    partitions: Mapping[str, PartitionFacts],
    ways: frozenset[Resizing] | None = None,
) -> Facts:
    """Read the facts; a fixed number of queries whatever the number of jobs. `ways`: in which the cluster makes jobs
    smaller, where it was asked."""
    return Facts(
        partitions=partitions,
        projects=core_projects(cluster),
        stops=recent_stops(cluster),
        plans=plans,
        outstanding=_outstanding(plans),
        quota_held=_quota_held(plans),
        refused=_refused(cluster),
        backed_off=backed_off(cluster),
        put_off=putting_off(cluster),
        rejections=recent_rejections(cluster),
        past=past_of(cluster),
        held_together=held_together(plans),
        resizable=resizable(cluster, ways),
        regrowing=regrowing(cluster, ways),
        foresight=foresee(cluster, [partition.policy for partition in partitions.values()]),
    )


def _refused(cluster: Cluster) -> frozenset[RunKey]:
    """Runs that are not to be asked for again: a run is stopped once, or not at all.

    One whose stop was seen to work is over. If it runs all the same, an answer of Slurm was misread then.
    """
    now = clock.now()
    asked = list(_stops_asked(cluster.pk, failed=now - REMEMBER, verified=now - MISREAD))
    return frozenset(run_of(action) for action in asked)


def _stops_asked(cluster: int, failed: datetime, verified: datetime) -> QuerySet[PlannedAction]:
    return PlannedAction.objects.filter(
        Q(state=ActionState.FAILED, issued_at__gte=failed)
        | Q(state=ActionState.VERIFIED, verified_at__gte=verified),
        cluster=cluster,
        kind__in=STOP_KINDS,
    ).only("job_id", "run_start", "run_restarts")


def backed_off(cluster: Cluster) -> dict[str, str]:
    """Jobs whose last plan was undone a moment ago, but for those that `putting_off` looks after.

    A plan that was taken back before it came to a signal or a stop, because the facts had changed, has disturbed
    nobody and failed in nothing: its job need not wait."""
    return {
        job_id: say("put_off.undone", plan=plan.pk)
        for plan in _plans_undone(cluster.pk, since=clock.now() - BACK_OFF)
        for job_id in jobs_served(plan)
    }


def _plans_undone(cluster: int, since: datetime) -> QuerySet[Plan]:
    tried = PlannedAction.objects.filter(plan=OuterRef("pk")).filter(
        Q(kind__in=(ActionKind.SIGNAL, *STOP_KINDS), issued_at__isnull=False) | Q(state=ActionState.FAILED)
    )
    undone = Plan.objects.filter(
        Exists(tried),
        cluster=cluster,
        state=PlanState.UNDONE,
        kind=PlanKind.PREEMPT,
        not_started=False,
        ended_at__gte=since,
    )
    return undone.only("id", "job_id", "job_restarts", "tasks")


def _outstanding(plans: Sequence[Plan]) -> Outstanding:
    going = [plan for plan in plans if plan.state != PlanState.PROPOSED and is_exchange(plan)]
    exchanges = {plan.pk: plan for plan in going if not plan.undo_reason}
    found = _without_exchanges([plan for plan in plans if plan.pk not in exchanges])
    for plan in exchanges.values():
        theirs = rooms_left(plan) if plan.started_at is None else {}
        found = replace(
            found,
            beneficiaries={**found.beneficiaries, **theirs, **comes_back(plan)},
            shrinking={**found.shrinking, **gives_up(plan)},
            set_aside={**found.set_aside, **gets(plan)},
        )
    return found


def _without_exchanges(plans: Sequence[Plan]) -> Outstanding:
    beneficiaries: dict[str, Mapping[str, Mapping[str, int]]] = {}
    victims: set[RunKey] = set()
    shrinking: dict[RunKey, frozenset[str]] = {}
    yielded: dict[str, str] = {}
    growing = [plan for plan in plans if plan.kind == PlanKind.GROW and plan.state != PlanState.PROPOSED]
    shrinking |= {_run_that_grows(plan): frozenset[str]() for plan in growing}
    beneficiaries |= {plan.job_id: room for plan in growing if (room := _room_that_grows(plan))}
    for plan in plans:
        if plan.kind != PlanKind.PREEMPT or plan.state == PlanState.PROPOSED:
            continue
        if plan.started_at is None and not plan.undo_reason:
            beneficiaries.update(rooms_left(plan))
        by_job = {victim["job"]: victim for victim in plan.victims if victim.get("keeps")}
        stopping = {a.job_id for a in plan.actions.all() if a.kind in STOP_KINDS and a.state in UNDER_WAY}
        for action in plan.actions.all():
            smaller = by_job.get(action.job_id)
            if action.kind in STOP_KINDS and action.state in UNDER_WAY and not smaller:
                victims.add(run_of(action))
            elif action.kind in SHRINKING and action.state in UNDER_WAY and smaller:
                shrinking[run_of(action)] = frozenset(smaller["nodes"])
            if action.kind != ActionKind.RELEASE or action.state not in UNDER_WAY:
                continue
            if smaller and not plan.undo_reason and action.job_id not in stopping:
                beneficiaries[action.job_id] = smaller["each"]
            elif not smaller or plan.undo_reason:
                yielded[action.job_id] = plan.job_id
    return Outstanding(
        beneficiaries=beneficiaries,
        victims=frozenset(victims),
        yielded=yielded,
        shrinking=shrinking,
        starts=frozenset(job for plan in plans if _only_starts(plan) for job in rooms_left(plan)),
    )


def _only_starts(plan: Plan) -> bool:
    """Whether all that a plan does that is being carried out is to put its job first in line."""
    if plan.kind != PlanKind.PREEMPT or plan.state == PlanState.PROPOSED or plan.victims:
        return False
    if plan.started_at or plan.undo_reason:
        return False
    kinds = {action.kind for action in plan.actions.all()}
    return kinds == {ActionKind.PRIORITISE}


def _run_that_grows(plan: Plan) -> RunKey:
    (itself,) = plan.victims
    return RunKey(plan.job_id, itself["start"], itself["restarts"])


def _room_that_grows(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    """What is kept for a job that starts again on more nodes: the new ones, and all of them when it has let go of its
    own."""
    if plan.undo_reason or plan.started_at:
        return {}
    (itself,) = plan.victims
    gone = any(a.kind in STOP_KINDS and a.state == ActionState.VERIFIED for a in plan.actions.all())
    room: Mapping[str, Mapping[str, int]] = itself["each"] if gone else plan.placement
    return room


def _quota_held(plans: Sequence[Plan]) -> frozenset[str]:
    """Jobs under a hold of ours that is not being taken back already."""
    return frozenset(
        plan.job_id
        for plan in plans
        if plan.kind == PlanKind.QUOTA and plan.state == PlanState.EXECUTING and not plan.undo_reason
    )
