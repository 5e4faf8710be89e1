"""Reading projects."""

from collections.abc import Iterable
from typing import Any

import rules
from django.db.models import Prefetch, QuerySet

from console.accounts.rules import is_signed_in, once, reads_everything
from console.cluster.models import Cluster
from console.projects.models import (
    MemberRole,
    Membership,
    Project,
    ProjectProposal,
    RequestState,
    TaskPattern,
    UrgencyBy,
    UrgencyRequest,
    rules_in_force,
)
from scheduler.contracts.config import ConfigProject, encode_project
from scheduler.model.policy import ProjectFacts as CoreProject
from scheduler.model.policy import TaskRule
from scheduler.priority.task_patterns import TaskPatterns

ADMINISTERS_SOME_PARTITION = "partitions.administers_some"
"""Answered by the partitions app, which this one does not know: asked by its name in the `rules` library."""


def managed_projects(user: Any) -> frozenset[int]:
    """Ids of the projects that an account manages."""
    if not is_signed_in(user):
        return frozenset()
    memberships = Membership.objects.filter(username=user.username, role=MemberRole.MANAGER)
    return once(user, "managed projects", lambda: frozenset(memberships.values_list("project_id", flat=True)))


def sees_all_projects(user: Any) -> bool:
    """Who reads everything, and who administers a partition: its levels come from the projects."""
    return reads_everything(user) or rules.test_rule(ADMINISTERS_SOME_PARTITION, user)


def visible_projects(user: Any) -> QuerySet[Project]:
    """The projects that an account may read, by code, with their people, patterns and waiting requests."""
    waiting = Prefetch("requests", UrgencyRequest.objects.filter(state=RequestState.WAITING))
    projects = Project.objects.select_related("cluster").prefetch_related("memberships", "tasks", waiting)
    if sees_all_projects(user):
        return projects
    return projects.filter(pk__in=managed_projects(user))


def visible_requests(user: Any) -> QuerySet[UrgencyRequest]:
    """What was asked for in the projects that an account may read, the newest first."""
    requests = UrgencyRequest.objects.select_related("project__cluster")
    return requests if sees_all_projects(user) else requests.filter(project_id__in=managed_projects(user))


def visible_proposals(user: Any) -> QuerySet[ProjectProposal]:
    """What managers propose, the newest first: the own ones, and all for who sees all projects."""
    proposals = ProjectProposal.objects.select_related("cluster")
    if sees_all_projects(user):
        return proposals
    return proposals.filter(asked_by=user.username) if is_signed_in(user) else proposals.none()


def with_rules(projects: Iterable[Project]) -> list[Project]:
    """The projects, all with the same rules: one query, and none when no urgency comes from a deadline."""
    found = list(projects)
    if any(project.urgency_by == UrgencyBy.DEADLINE for project in found):
        rules = rules_in_force()
        for project in found:
            project.rules = rules
    return found


def core_projects(cluster: Cluster, member: str = "") -> list[CoreProject]:
    """All projects of a cluster as the scheduler takes them now, by code; only those of a `member`, if one is named.
    Three queries; four with a deadline; one where there are none.

    Asked at every cycle: an urgency that a deadline raises counts from the first cycle of its day on.
    """
    rows = Project.objects.filter(cluster=cluster)
    memberships = Membership.objects.filter(project__cluster=cluster, role=MemberRole.MEMBER)
    if member:
        theirs = memberships.filter(username=member).order_by().values("project")
        rows, memberships = rows.filter(pk__in=theirs), memberships.filter(project__in=theirs)
    projects = with_rules(rows.prefetch_related("tasks").order_by("code"))
    if not projects:
        return []
    members = names_by_project(memberships)
    return [core_project(each, each.urgency_now, members.get(each.pk, ())) for each in projects]


def names_by_project(memberships: QuerySet[Membership]) -> dict[int, list[str]]:
    """User names by the project's id, in order. As names alone: there may be thousands, and objects take long."""
    found: dict[int, list[str]] = {}
    for project, name in memberships.order_by("username").values_list("project_id", "username"):
        found.setdefault(project, []).append(name)
    return found


def core_project(project: Project, urgency: float, members: Iterable[str] | None = None) -> CoreProject:
    """A project as the scheduler takes it, with this urgency. `members`: where they have been read already."""
    return CoreProject(
        code=project.code,
        size=project.size,
        grade=project.grade,
        urgency=urgency,
        slurm_account=project.slurm_account,
        members=frozenset(people(project, MemberRole.MEMBER) if members is None else members),
        tasks=tuple(map(task_rule, project.tasks.all())),
    )


def task_rule(task: TaskPattern) -> TaskRule:
    """A pattern as the scheduler takes it."""
    return TaskRule(
        pattern=task.pattern,
        importance=task.importance,
        level=task.level or None,
        one_request=task.one_request,
        elastic_min=task.elastic_min,
        elastic_wish=task.elastic_wish,
    )


def elastic_patterns(cluster: Cluster) -> dict[str, TaskPatterns]:
    """The patterns of each project that says of some tasks that they are elastic, by its code. One query."""
    rows = TaskPattern.objects.filter(project__cluster=cluster, project__tasks__elastic_min__isnull=False)
    found: dict[str, list[TaskRule]] = {}
    for task in rows.select_related("project").distinct():
        found.setdefault(task.project.code, []).append(task_rule(task))
    return {code: TaskPatterns(tasks) for code, tasks in found.items()}


def people(project: Project, role: MemberRole) -> list[str]:
    """Names of a project's members or managers, in order."""
    if "memberships" in getattr(project, "_prefetched_objects_cache", ()):
        return sorted(each.username for each in project.memberships.all() if each.role == role)
    # Names alone: thousands of rows as objects are most of what saving a large project takes.
    return sorted(project.memberships.filter(role=role).values_list("username", flat=True))


def project_document(project: Project) -> dict[str, Any]:
    """A project's entry of the priority file: what is set, not what a deadline makes of it today."""
    managers = tuple(people(project, MemberRole.MANAGER))
    core = core_project(project, project.urgency)
    return encode_project(
        ConfigProject(core, project.name, managers, str(project.urgency_by), project.deadline)
    )
