"""Where a project's members and job names stand in each partition, by the same rules as in a cycle."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.db.models import Count

from console.cluster.models import Job, JobPhase
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.models import MemberRole, Project
from console.projects.selectors import core_projects, people
from scheduler.model.jobs import JobState, Level, ObservedJob
from scheduler.priority.derive import Deriver

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
