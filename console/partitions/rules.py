"""Who may see and change partitions and their policies, and which audit rows are about one's own."""

from typing import Any

import rules
from django.db.models import Q

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator, is_signed_in, once, reads_everything
from console.audit.contributions import add_scope, add_witness
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import administered_partitions


@rules.predicate
def administers(user: Any, partition: Partition | None) -> bool:
    """Is named administrator of the partition; without one: of any."""
    own = administered_partitions(user)
    return bool(own) if partition is None else partition.pk in own


@rules.predicate
def has_own_file(user: Any, partition: Partition | None) -> bool:
    """A partition's own administrator has the file of that partition; the whole file is for those who have all."""
    return partition is not None and administers(user, partition)


@rules.predicate
def administers_some(user: Any) -> bool:
    """Any partition at all."""
    return bool(administered_partitions(user))


def rows_of_administered_partitions(user: Any) -> Q | None:
    """The audit log's rows about the partitions that an account administers."""
    own = administered_partitions(user)
    if not own:
        return None
    names = Partition.objects.filter(pk__in=own).values_list("cluster__name", "name")
    rows = Q(pk__in=[])
    for cluster, name in once(user, "names of administered partitions", lambda: list(names)):
        rows |= Q(cluster=cluster, partition=name)
    return rows


rules.add_perm(Permission.PARTITION_VIEW, is_signed_in)
rules.add_perm(Permission.POLICY_VIEW, reads_everything | administers)
rules.add_perm(Permission.POLICY_CHANGE, is_administrator | administers)
rules.add_perm(Permission.CONFIG_EXPORT, reads_everything | has_own_file)
rules.add_perm(Permission.CONFIG_IMPORT, is_administrator | has_own_file)
rules.add_rule("partitions.administers_some", administers_some)
add_scope("partitions", rows_of_administered_partitions)
add_witness("policies", PolicyRevision.objects.exists)
