"""What a project's numbers come to, and where its members and job names stand in each partition, as in a cycle."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from django.db.models import Count

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.core.translate import resay
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.models import MemberRole, Project
from console.projects.selectors import core_projects, people
from scheduler.model.jobs import JobState, Level, ObservedJob
from scheduler.model.policy import PartitionPolicy
from scheduler.priority.derive import Deriver
from scheduler.priority.levels import level_of
from scheduler.priority.score import task_score, user_score


@dataclass(frozen=True, slots=True)
class Named:
    """A level with what people call it."""

    index: Level
    name: str


@dataclass(frozen=True, slots=True)
class TypedTask:
    """A pattern of job names as it was typed; `level` instead of an importance, or empty."""

    pattern: str
    importance: float = 1.0
    level: str = ""


@dataclass(frozen=True, slots=True)
class TaskLevel:
    """What a pattern comes to: its score (None when it has a level of its own) and level."""

    task: TypedTask
    score: float | None
    level: Named


@dataclass(frozen=True, slots=True)
class PartitionLevels:
    """What follows in one partition. `before` is None for a project that does not exist yet."""

    partition: str
    before: Named | None
    after: Named
    tasks: list[TaskLevel]
    running: int = 0
    waiting: int = 0

    @property
    def changes(self) -> bool:
        """Whether its members' level moves."""
        return self.before is not None and self.before != self.after


@dataclass(frozen=True, slots=True)
class Inputs:
    """A project's three numbers."""

    size: float
    grade: float
    urgency: float

    @property
    def score(self) -> float:
        """size ÷ grade × urgency (¶182)."""
        return user_score(self.size, self.grade, self.urgency)


@dataclass(frozen=True, slots=True)
class LevelPreview:
    """All that the panel beside a project's form shows; without `inputs` there is nothing to compute yet."""

    inputs: Inputs | None
    partitions: list[PartitionLevels] = field(default_factory=list)


def named_level(policy: PartitionPolicy, index: Level) -> Named:
    """A level with its name in that partition."""
    return Named(index, resay(policy.level_name(index)) if index is None else policy.level_name(index))


def score_level(policy: PartitionPolicy, score: float) -> Named:
    """The level that a score reaches in a partition."""
    return named_level(policy, level_of(score, policy.levels))


def preview(
    cluster: Cluster,
    inputs: Inputs | None,
    tasks: Sequence[TypedTask] = (),
    code: str = "",
    present: Inputs | None = None,
) -> LevelPreview:
    """What `inputs` come to in every partition, beside what `present` (the saved ones) come to; two queries."""
    if inputs is None:
        return LevelPreview(None)
    counts = _job_counts(cluster, code) if code else {}
    rows = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    return LevelPreview(inputs, [_partition(row, inputs, tasks, present, counts) for row in rows])


def _partition(
    row: Partition,
    inputs: Inputs,
    tasks: Iterable[TypedTask],
    present: Inputs | None,
    counts: dict[tuple[str, str], int],
) -> PartitionLevels:
    policy = policy_of(row)
    return PartitionLevels(
        partition=row.name,
        before=score_level(policy, present.score) if present else None,
        after=score_level(policy, inputs.score),
        tasks=[_task(policy, inputs, task) for task in tasks],
        running=counts.get((row.name, JobPhase.RUNNING), 0),
        waiting=counts.get((row.name, JobPhase.PENDING), 0),
    )


def _task(policy: PartitionPolicy, inputs: Inputs, task: TypedTask) -> TaskLevel:
    """A pattern's own level counts where the partition has it; elsewhere its importance does."""
    own = policy.level_index(task.level) if task.level else None
    if own is not None:
        return TaskLevel(task, None, named_level(policy, own))
    score = task_score(inputs.size, inputs.grade, inputs.urgency, task.importance)
    return TaskLevel(task, score, score_level(policy, score))


def _job_counts(cluster: Cluster, code: str) -> dict[tuple[str, str], int]:
    rows = Job.objects.filter(cluster=cluster, project=code).exclude(phase=JobPhase.ENDED)
    grouped = rows.order_by().values_list("partition", "phase").annotate(count=Count("id"))
    return {(partition, phase): count for partition, phase, count in grouped}


_CLASS = re.compile(r"\[(!?)(.)[^\]]*\]")
Counts = Mapping[tuple[str, str], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class MemberLevel:
    """A member's level in a partition, where it came from, and the jobs that the mirror has there."""

    user: str
    index: Level
    name: str
    origin: str
    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class PatternLevel:
    """The level of a job whose name fits a pattern. `sample`: the name that was asked about."""

    pattern: str
    importance: float
    sample: str
    index: Level
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class PartitionStanding:
    """A partition's levels for a project's members and patterns."""

    partition: str
    members: list[MemberLevel]
    patterns: list[PatternLevel]


def project_levels(project: Project) -> list[PartitionStanding]:
    """The standing of members and patterns in each partition, now; a fixed number of queries."""
    rows = Partition.objects.filter(cluster=project.cluster_id, revision__isnull=False)
    projects, counts = core_projects(project.cluster), _counts(project)
    now = int(clock.now().timestamp())
    return [
        _standing(row.name, Deriver(policy_of(row), projects, now), project, counts)
        for row in rows.select_related("revision").order_by("name")
    ]


def _standing(partition: str, deriver: Deriver, project: Project, counts: Counts) -> PartitionStanding:
    members = people(project, MemberRole.MEMBER)
    return PartitionStanding(
        partition,
        [_member(deriver, project, user, counts.get((partition, user), {})) for user in members],
        list(_patterns(deriver, project, members)),
    )


def _member(deriver: Deriver, project: Project, user: str, jobs: Mapping[str, int]) -> MemberLevel:
    standing = deriver.derive(_job(project, user, ""))
    return MemberLevel(
        user=user,
        index=standing.user_level,
        name=deriver.policy.level_name(standing.user_level),
        origin=standing.user_origin,
        running=jobs.get(JobPhase.RUNNING, 0),
        waiting=jobs.get(JobPhase.PENDING, 0),
    )


def _patterns(deriver: Deriver, project: Project, members: list[str]) -> Iterable[PatternLevel]:
    """Asked as the first member: a pattern's level is the same for all that a keyword is for."""
    if not members:
        return
    for task in project.tasks.all():
        sample = sample_of(task.pattern)
        standing = deriver.derive(_job(project, members[0], sample))
        yield PatternLevel(
            pattern=task.pattern,
            importance=task.importance,
            sample=sample,
            index=standing.task_level,
            name=deriver.policy.level_name(standing.task_level),
            origin=standing.task_origin,
        )


def sample_of(pattern: str) -> str:
    """A short name that fits a shell-style pattern; the pattern itself when none is found."""
    name = _CLASS.sub(lambda found: "~" if found[1] else found[2], pattern)
    name = name.replace("*", "").replace("?", "x")
    return name if fnmatchcase(name, pattern) else pattern


def _job(project: Project, user: str, name: str) -> ObservedJob:
    """A job that says by its wckey which project it belongs to."""
    return ObservedJob(
        id="", name=name, user=user, state=JobState.PENDING, partitions=(), submit=0, wckey=project.code
    )


def _counts(project: Project) -> dict[tuple[str, str], dict[str, int]]:
    rows = Job.objects.filter(cluster=project.cluster_id, project=project.code)
    rows = rows.filter(phase__in=(JobPhase.RUNNING, JobPhase.PENDING)).order_by()
    result: dict[tuple[str, str], dict[str, int]] = {}
    for partition, user, phase, count in rows.values_list("partition", "user", "phase").annotate(
        count=Count("id")
    ):
        result.setdefault((partition, user), {})[phase] = count
    return result
