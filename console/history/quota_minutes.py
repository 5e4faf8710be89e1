"""How far the quotas were used in one minute, added up from the mirror."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from console.cluster.models import Cluster, Job
from console.history.models import QuotaMinute
from console.partitions.models import Partition
from console.partitions.quotas import LevelLimit, Use, limits_of, taken_of, uses_in
from console.partitions.selectors import policy_of

FULLEST = 5
"""Users that are named of each limit: a line is not to grow with the number of users."""


def quota_rows(cluster: Cluster, minute: datetime) -> list[QuotaMinute]:
    """A row for every level with a limit, not saved; two queries."""
    partitions = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    every = {row.name: limits_of(policy_of(row)) for row in partitions}
    limits = {name: each for name, each in every.items() if each}
    taken = taken_of(Job.objects.filter(cluster=cluster), limits)
    return [
        QuotaMinute(cluster=cluster, partition=name, at=minute, rank=rank, uses=uses)
        for name, each in limits.items()
        for rank, uses in uses_of_levels(each, uses_in(name, each, taken))
    ]


def uses_of_levels(limits: Iterable[LevelLimit], uses: Iterable[Use]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each level that has a limit, with what `QuotaMinute.uses` holds of it. `uses`: the fullest first."""
    of: dict[LevelLimit, list[Use]] = {limit: [] for limit in limits}
    for use in uses:
        of[use.limit].append(use)
    found: dict[int, dict[str, Any]] = {}
    for limit, each in of.items():
        told = [limit.most, sum(use.full for use in each), {use.user: use.used for use in each[:FULLEST]}]
        found.setdefault(limit.rank, {}).setdefault(limit.kind.value, {})[limit.resource] = told
    yield from found.items()
