"""Reading partitions and their policies."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from console.accounts.rules import is_signed_in, once
from console.cluster.models import Cluster
from console.core.concurrent_changes import MissedChanges
from console.core.diff import differences
from console.partitions.models import Partition, PartitionAdmin, PolicyRevision
from scheduler.contracts.config import ConfigPartition, decode_policy, encode_partition, encode_policy
from scheduler.contracts.errors import InputError
from scheduler.model.policy import PartitionPolicy
from scheduler.priority.task_types import TaskTypes


def administered_partitions(user: Any) -> frozenset[int]:
    """Ids of the partitions whose administrator an account is by name."""
    if not is_signed_in(user):
        return frozenset()
    admins = PartitionAdmin.objects.filter(username=user.username)
    return once(
        user, "administered partitions", lambda: frozenset(admins.values_list("partition_id", flat=True))
    )


def visible_partitions(user: Any) -> QuerySet[Partition]:
    """Everybody who is signed in sees every partition; their policies are another permission."""
    if not is_signed_in(user):
        return Partition.objects.none()
    return all_partitions()


def all_partitions() -> QuerySet[Partition]:
    """Whoever may see them, with what pages need of them."""
    return Partition.objects.select_related("cluster", "revision")


def policy_in_force(partition: Partition) -> PolicyRevision:
    """The revision in force; a partition made by `ensure_partition` always has one."""
    if partition.revision is None:
        raise LookupError(f"Partition {partition.name} has no policy in force.")
    return partition.revision


def policy_of(partition: Partition) -> PartitionPolicy:
    """The policy in force, decoded. Revisions never change, so the same text is decoded once per process."""
    return decoded(policy_in_force(partition).document)


def task_types_of(cluster: Cluster) -> dict[str, TaskTypes]:
    """The task types of each partition that has some, ready to match."""
    return task_types_in(
        Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    )


def task_types_in(partitions: Iterable[Partition]) -> dict[str, TaskTypes]:
    """The same of partitions that have been read, with their revisions."""
    types = {row.name: policy_of(row).task_types for row in partitions if row.revision_id}
    return {name: TaskTypes(of) for name, of in types.items() if of}


def decoded(document: dict[str, Any]) -> PartitionPolicy:
    """A revision's document as the scheduler takes it."""
    return _decoded(json.dumps(document))


def written_out(document: dict[str, Any]) -> dict[str, Any]:
    """A revision's document with every key of today, so that a key it is too old to have counts as its default.

    One that cannot be read any more stays as it is.
    """
    try:
        return encode_policy(decoded(document))
    except InputError:
        return document


@lru_cache(maxsize=256)
def _decoded(text: str) -> PartitionPolicy:
    return decode_policy(json.loads(text))


def missed_revisions(partition: Partition, since: int) -> MissedChanges | None:
    """What became of the policy after that revision, and by whom; None: there is no such revision before this one."""
    rows = list(partition.revisions.filter(number__gte=since).order_by("number"))
    if len(rows) < 2 or rows[0].number != since:
        return None
    who = tuple(dict.fromkeys(row.author for row in rows[1:]))
    return MissedChanges(who, differences(written_out(rows[0].document), written_out(rows[-1].document)))


def partition_document(partition: Partition) -> dict[str, Any]:
    """A partition's entry of the priority file, its administrators among it."""
    admins = tuple(sorted(each.username for each in partition.admins.all()))
    return encode_partition(ConfigPartition(policy_of(partition), admins))
