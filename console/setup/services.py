"""What the set-up writes: levels and projects from what the mirror shows, each with its row in the log; that the doctor
is asked, and that a step is put off."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db import transaction

from console.cluster.models import Cluster
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_in_force, policy_of
from console.partitions.services import activate_policy
from console.projects.models import Project
from console.projects.services import ProjectData, create_project
from console.setup.models import Examination, PutOff
from scheduler.model.kind import with_kind_limits
from scheduler.model.policy import LevelRule


@transaction.atomic
def give_levels(
    *,
    actor: str,
    partitions: Iterable[Partition],
    levels: Sequence[LevelRule],
    reason: str,
    request_id: str = "",
) -> int:
    """Put these levels in force where there are none; how many partitions got them.

    With them come the kind limits where nobody has changed the policy yet, else nothing else of it changes.

    Raises `ValidationError` by key of the policy.
    """
    count = 0
    for partition in partitions:
        policy = policy_of(partition)
        if not policy.levels:
            number, document = policy_in_force(partition).number, replace(policy, levels=tuple(levels))
            activate_policy(
                actor=actor,
                partition=partition,
                document=document if number > 1 else with_kind_limits(document),
                reason=reason,
                based_on=number,
                request_id=request_id,
            )
            count += 1
    return count


def import_project(
    *, actor: str, cluster: Cluster, data: ProjectData, reason: str, request_id: str = ""
) -> Project:
    """One project for a Slurm account. Raises `ValidationError` by field."""
    return create_project(actor=actor, cluster=cluster, data=data, reason=reason, request_id=request_id)


def request_examination(cluster: Cluster) -> None:
    """Have the worker examine the installation."""
    Examination.objects.update_or_create(cluster=cluster, defaults={"asked_at": clock.now()})


def put_off(step: str, by: str) -> None:
    """Leave a step for later, or take it up again."""
    row, made = PutOff.objects.get_or_create(step=step, defaults={"by": by})
    if not made:
        row.delete()
