"""A cluster user's own jobs, levels and quotas: what they ask the console first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TypeVar

from django.db.models import Q

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.partitions.models import Partition
from console.partitions.quotas import Meter, Use, limits_of, take, taken_of
from console.partitions.selectors import policy_of
from console.projects.selectors import core_projects
from console.reports.levels import Named, named_level, score_level
from console.steering.explanations import Known, Return
from console.steering.explanations.stopping import comes_back
from console.steering.models import STOP_KINDS, ActionState, Checkpoint, Plan, PlannedAction
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.policy import PartitionPolicy, ProjectFacts, TaskRule
from scheduler.priority.derive import Deriver
from scheduler.priority.score import task_score

MOST_JOBS = 200
MOST_STOPS = 50
OfJob = TypeVar("OfJob", Job, PlannedAction, Checkpoint)
STOPS_SHOWN_FOR = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class MyStop:
    """A stop of one of the user's jobs for another: for whom, and how far it is on its way back."""

    stop: PlannedAction
    back: Return

    @property
    def plan(self) -> Plan:
        """The plan that stopped it."""
        return self.stop.plan


@dataclass(frozen=True, slots=True)
class MyLevel:
    """The user's level through one project (or through none), and where it comes from."""

    project: str
    level: Named
    origin: str
    tasks: list[tuple[str, Named]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MyPartition:
    """What holds for the user in one partition. `keywords` are those that the user may begin a job's name with."""

    name: str
    mode: str
    standings: list[MyLevel]
    quotas: list[Use]
    over_quota: str
    keywords: list[tuple[str, Named]]


@dataclass(frozen=True, slots=True)
class Mine:
    """The page's whole content."""

    waiting: list[Job]
    running: list[Job]
    stopped: list[MyStop]
    partitions: list[MyPartition]
    more: int


def my_jobs(cluster: Cluster, user: str, visible: Sequence[Partition]) -> Mine:
    """Everything about one user of the cluster; ten queries at most, whatever there is."""
    names = [partition.name for partition in visible]
    rows = list(
        Job.objects.filter(cluster=cluster, user=user, partition__in=names)
        .exclude(phase=JobPhase.ENDED)
        .defer("request", "fingerprint")
        .order_by("-start", "place", "job_id")
    )
    waiting = sorted(
        (row for row in rows if row.phase == JobPhase.PENDING), key=lambda row: (not row.place, row.place)
    )
    running = [row for row in rows if row.phase != JobPhase.PENDING]
    shown = [*waiting[:MOST_JOBS], *running[:MOST_JOBS]]
    projects = core_projects(cluster, member=user) if user else []
    uses = _uses(cluster, user, [partition for partition in visible if partition.revision_id], running)
    return Mine(
        waiting=waiting[:MOST_JOBS],
        running=running[:MOST_JOBS],
        stopped=_stopped(cluster, user, rows),
        partitions=[
            _partition(partition, user, projects, uses[partition.name])
            for partition in visible
            if partition.revision_id
        ],
        more=len(rows) - len(shown),
    )


# --- What was stopped ------------------------------------------------------------------------------------


def _stopped(cluster: Cluster, user: str, rows: Sequence[Job]) -> list[MyStop]:
    """Stops of the last days that were done or are about to be, the newest first; one per run."""
    recent = Q(issued_at__gte=clock.now() - STOPS_SHOWN_FOR) | Q(state=ActionState.PLANNED)
    stops = list(
        PlannedAction.objects.filter(recent, cluster=cluster, user=user, kind__in=STOP_KINDS)
        .exclude(state__in=(ActionState.EXPIRED, ActionState.FAILED))
        .select_related("plan")
        .defer("plan__passed_over", "plan__alternatives")
        .order_by("-id")[:MOST_STOPS]
    )
    if not stops:
        return []
    ids = {stop.job_id for stop in stops}
    known = _known(cluster, ids, rows)
    found: dict[tuple[str, int, int], MyStop] = {}
    for stop in stops:
        run = (stop.job_id, stop.run_start, stop.run_restarts)
        if run not in found:
            found[run] = MyStop(stop, comes_back(known[stop.job_id], stop))
    return list(found.values())


def _known(cluster: Cluster, ids: Iterable[str], rows: Sequence[Job]) -> dict[str, Known]:
    """What is kept about several jobs, as far as their way back needs it."""
    wanted = sorted(ids)
    here = {row.job_id for row in rows}
    gone = Job.objects.filter(cluster=cluster, job_id__in=set(wanted) - here)
    every = _by_job([*rows, *gone])
    acts = _by_job(
        PlannedAction.objects.filter(cluster=cluster, job_id__in=wanted)
        .select_related("plan")
        .defer("plan__passed_over", "plan__alternatives")
    )
    asked = _by_job(Checkpoint.objects.filter(cluster=cluster, job_id__in=wanted).order_by("-id"))
    return {
        job_id: Known(
            cluster=cluster,
            job_id=job_id,
            now=clock.now(),
            rows=every.get(job_id, []),
            acts=acts.get(job_id, []),
            checkpoints=asked.get(job_id, []),
        )
        for job_id in wanted
    }


def _by_job(rows: Iterable[OfJob]) -> dict[str, list[OfJob]]:
    found: dict[str, list[OfJob]] = {}
    for row in rows:
        found.setdefault(row.job_id, []).append(row)
    return found


# --- Levels and quotas -----------------------------------------------------------------------------------


def _partition(
    partition: Partition, user: str, projects: Sequence[ProjectFacts], uses: list[Use]
) -> MyPartition:
    policy = policy_of(partition)
    return MyPartition(
        name=partition.name,
        mode=policy.mode.value,
        standings=_standings(policy, user, projects, int(clock.now().timestamp())),
        quotas=uses,
        over_quota=policy.over_quota.value,
        keywords=_keywords(policy, user),
    )


def _uses(
    cluster: Cluster, user: str, partitions: Sequence[Partition], running: Iterable[Job]
) -> dict[str, list[Use]]:
    """By partition, how much of each limit the user's jobs use; where all users count together, everybody's."""
    limits = {partition.name: limits_of(policy_of(partition)) for partition in partitions}
    taken: Counter[Meter] = Counter()
    for row in running:
        if row.phase == JobPhase.RUNNING and row.task_level is not None:
            take(taken, (row.partition, row.task_level, user), row.alloc)
    of_all = {name: [limit for limit in each if limit.of_all] for name, each in limits.items()}
    taken |= {
        meter: used
        for meter, used in taken_of(Job.objects.filter(cluster=cluster), of_all).items()
        if meter[2] is None
    }
    return {
        name: [Use(limit, "" if limit.of_all else user, taken[limit.meter(name, user)]) for limit in each]
        for name, each in limits.items()
    }


def _standings(
    policy: PartitionPolicy, user: str, projects: Sequence[ProjectFacts], now: int
) -> list[MyLevel]:
    """A standing per project of the user; the one without any project when there is none."""
    return [_standing(policy, user, [project], now) for project in projects] or [
        _standing(policy, user, [], now)
    ]


def _standing(policy: PartitionPolicy, user: str, projects: Sequence[ProjectFacts], now: int) -> MyLevel:
    job = ObservedJob(id="", name="", user=user, state=JobState.PENDING, partitions=(), submit=0)
    derived = Deriver(policy, projects, now).derive(job)
    tasks = [_task(policy, project, task) for project in projects for task in project.tasks]
    code = projects[0].code if projects else ""
    return MyLevel(code, named_level(policy, derived.user_level), derived.user_origin, tasks)


def _task(policy: PartitionPolicy, project: ProjectFacts, task: TaskRule) -> tuple[str, Named]:
    """A pattern's own level where the partition has it; elsewhere what its importance comes to."""
    own = policy.level_index(task.level) if task.level else None
    if own is not None:
        return task.pattern, named_level(policy, own)
    score = task_score(project.size, project.grade, project.urgency, task.importance)
    return task.pattern, score_level(policy, score)


def _keywords(policy: PartitionPolicy, user: str) -> list[tuple[str, Named]]:
    return [
        (rule.keyword, named_level(policy, index))
        for index, rule in enumerate(policy.levels)
        if rule.keyword
        and (rule.keyword_users is None or any(fnmatchcase(user, each) for each in rule.keyword_users))
    ]
