"""What is missing until anybody has a level, and where it is mended: a set-up is not done before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.selectors import core_projects
from console.setup.levels import score_of
from scheduler.model.policy import Mode, PartitionPolicy, ProjectFacts
from scheduler.priority.levels import level_of


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that is missing, in a sentence, and the address where it is mended."""

    what: str
    address: str


def lacking(cluster: Cluster, partitions: Sequence[Partition]) -> list[Lack]:
    """Everything that is missing; nothing when there are levels and on every partition with some somebody has one."""
    projects = core_projects(cluster)
    return list(_lacks(projects, partitions, int(clock.now().timestamp())))


def _lacks(projects: Sequence[ProjectFacts], partitions: Sequence[Partition], now: int) -> Iterator[Lack]:
    here = reverse("setup-import")
    if not projects:
        yield Lack(_("There is no project yet: nobody has a score."), here)
    elif not any(project.members for project in projects):
        yield Lack(_("No project has a member."), reverse("projects"))
    if not partitions:
        yield Lack(_("No partition has been seen yet."), reverse("setup-cluster"))
        return
    policies = [(row.name, policy_of(row).at(now)) for row in partitions]
    with_levels = [(name, policy) for name, policy in policies if policy.levels]
    if not with_levels:
        yield Lack(_("No partition has levels."), f"{here}#levels")
    for name, policy in with_levels if any(project.members for project in projects) else ():
        if not _anybody(policy, projects):
            sentence = _(
                "On %(name)s everybody is unconfigured: no project's score reaches the lowest level."
            )
            yield Lack(sentence % {"name": name}, reverse("partition-policy", args=[name]))


def _anybody(policy: PartitionPolicy, projects: Sequence[ProjectFacts]) -> bool:
    """Whether anybody, or any job by its name, has a level there."""
    if policy.user_overrides:
        return True
    if any(
        project.members and level_of(score_of(project), policy.levels) is not None for project in projects
    ):
        return True
    named = any(rule.keyword and rule.keyword_users != () for rule in policy.levels)
    return policy.mode is not Mode.USER and (named or bool(policy.task_overrides))
