"""From what the mirror shows to partitions with levels and projects with members; each with its row in the log."""

from collections.abc import Iterable
from dataclasses import replace

from django.db import transaction

from console.cluster.models import Cluster
from console.partitions.models import Partition
from console.partitions.selectors import policy_in_force, policy_of
from console.partitions.services import activate_policy
from console.projects.models import Project
from console.projects.services import ProjectData, create_project
from scheduler.model.kind import with_kind_limits
from scheduler.model.policy import LevelRule

STARTING_LEVELS = (
    LevelRule("P0", 60, "p0"),
    LevelRule("P1", 20, "p1"),
    LevelRule("P2", 5, "p2"),
)
"""To begin with: a project of size 1, grade 1 and urgency 1 ranks below them, size 20 and urgency 3 on top."""


@transaction.atomic
def give_levels(*, actor: str, partitions: Iterable[Partition], reason: str, request_id: str = "") -> int:
    """Put the starting levels and the kind limits in force where there are no levels. How many partitions got them."""
    count = 0
    for partition in partitions:
        policy = policy_of(partition)
        if not policy.levels:
            activate_policy(
                actor=actor,
                partition=partition,
                document=with_kind_limits(replace(policy, levels=STARTING_LEVELS)),
                reason=reason,
                based_on=policy_in_force(partition).number,
                request_id=request_id,
            )
            count += 1
    return count


def import_project(
    *, actor: str, cluster: Cluster, data: ProjectData, reason: str, request_id: str = ""
) -> Project:
    """One project for a Slurm account. Raises `ValidationError` by field."""
    return create_project(actor=actor, cluster=cluster, data=data, reason=reason, request_id=request_id)
