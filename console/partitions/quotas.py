"""A partition's quotas as a list of limits, and how much of each is used now."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Count, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from console.cluster.models import Job, JobPhase, Node
from console.core import l10n_format
from console.partitions.models import Partition
from scheduler.model.policy import PartitionPolicy
from scheduler.model.words import resource_order

JOBS = ""
"""Stands for the number of jobs where resources are named."""

Meter = tuple[str, int, str | None, str]
"""What one limit counts: partition, rank of the level, whose jobs (None: everybody's), resource."""


class QuotaKind(StrEnum):
    """The three kinds of limits, by their keys in the priority file."""

    JOBS = "quotas"
    AMOUNTS = "quota_amounts"
    TOTALS = "quota_totals"


@dataclass(frozen=True, slots=True)
class LevelLimit:
    """One limit of a level. `rank`: 0 is the highest level. Memory in MB."""

    rank: int
    level: str
    kind: QuotaKind
    resource: str
    most: int

    @property
    def label(self) -> str:
        """What is counted, in words."""
        return resource_word(self.resource)

    @property
    def of_all(self) -> bool:
        """Whether everybody's jobs count together."""
        return self.kind is QuotaKind.TOTALS

    def meter(self, partition: str, user: str) -> Meter:
        """What it counts for a user's job."""
        return partition, self.rank, None if self.of_all else user, self.resource


@dataclass(frozen=True, slots=True)
class Use:
    """How much of a limit is used. `user`: by whose jobs; empty: by everybody's."""

    limit: LevelLimit
    user: str
    used: int

    @property
    def full(self) -> bool:
        """Whether nothing is left of it."""
        return self.used >= self.limit.most

    @property
    def ratio(self) -> float:
        """The used part; a limit of nothing is used up."""
        return self.used / self.limit.most if self.limit.most else 1.0 + self.used

    @property
    def share(self) -> str:
        """The used part, as SVG takes it."""
        return f"{100 * min(self.ratio, 1.0):.5g}%"

    @property
    def text(self) -> str:
        """`2 / 3`, `12 / 16 gpu`, `48 GB / 64 GB`."""
        resource, most = self.limit.resource, self.limit.most
        if resource == JOBS:
            return f"{self.used} / {most}"
        if resource == "mem":
            return f"{l10n_format.amounts({resource: self.used})} / {l10n_format.amounts({resource: most})}"
        return f"{self.used} / {most} {resource}"


def resource_word(resource: str) -> str:
    """A resource as the head of a column."""
    return {JOBS: _("jobs"), "mem": _("memory (MB)")}.get(resource, resource)


def limits_of(policy: PartitionPolicy) -> list[LevelLimit]:
    """All limits, the highest level first; of each level jobs, each user's amounts, totals."""
    return [
        LevelLimit(rank, rule.name, kind, resource, most)
        for rank, rule in enumerate(policy.levels)
        for kind, limits in _of_level(policy, rule.name)
        for resource, most in sorted(limits.items(), key=lambda item: in_order(item[0]))
    ]


def resources_of(partition: Partition, policy: PartitionPolicy) -> list[str]:
    """What could be limited: all that the partition's nodes have, and what the policy limits already."""
    limited = {limit.resource for limit in limits_of(policy) if limit.resource != JOBS}
    rows = Node.objects.filter(cluster=partition.cluster_id).order_by()
    as_text = {name: Cast(name, TextField()) for name in ("total", "partitions")}
    kinds = rows.values_list(*(text for text in as_text.values())).distinct()
    for total, partitions in kinds:
        if partition.name in json.loads(partitions):
            limited |= json.loads(total).keys()
    return sorted(limited, key=in_order)


def all_uses(partition: Partition, policy: PartitionPolicy) -> list[Use]:
    """Who uses how much of which limit, the fullest first; users who use nothing of a limit are left out."""
    limits = limits_of(policy)
    taken = taken_of(Job.objects.filter(cluster=partition.cluster_id), {partition.name: limits})
    return uses_in(partition.name, limits, taken)


def uses_in(partition: str, limits: Iterable[LevelLimit], taken: Counter[Meter]) -> list[Use]:
    """The uses of a partition's limits among what was counted, as `all_uses` has them."""
    users: dict[int, set[str]] = {}
    for name, rank, user, _resource in taken:
        if name == partition and user is not None:
            users.setdefault(rank, set()).add(user)
    found = []
    for limit in limits:
        whose = [""] if limit.of_all else users.get(limit.rank, ())
        uses = (Use(limit, user, taken[limit.meter(partition, user)]) for user in whose)
        found += [use for use in uses if use.used or limit.of_all]
    return _fullest_first(found)


def own_uses(partition: Partition, policy: PartitionPolicy, user: str) -> list[Use]:
    """How much of each limit a user's jobs use, used or not; where all users count together, everybody's jobs."""
    limits, jobs = limits_of(policy), Job.objects.filter(cluster=partition.cluster_id)
    taken = taken_of(jobs.filter(user=user), {partition.name: limits})
    together = taken_of(jobs, {partition.name: [limit for limit in limits if limit.of_all]})
    return _fullest_first(
        Use(limit, "", together[limit.meter(partition.name, "")])
        if limit.of_all
        else Use(limit, user, taken[limit.meter(partition.name, user)])
        for limit in limits
    )


def _fullest_first(uses: Iterable[Use]) -> list[Use]:
    return sorted(uses, key=lambda use: (-use.ratio, use.limit.rank, use.user, in_order(use.limit.resource)))


def taken_of(jobs: QuerySet[Job], limits: Mapping[str, list[LevelLimit]]) -> Counter[Meter]:
    """What running jobs take of the limits of partitions; one query, none where there is no limit.

    What the jobs hold is read only where a limit is about that.
    """
    every = [limit for each in limits.values() for limit in each]
    if not every:
        return Counter()
    ranks = {limit.rank for limit in every}
    rows = jobs.filter(phase=JobPhase.RUNNING, partition__in=limits, task_level__in=ranks).order_by()
    taken: Counter[Meter] = Counter()
    keys = ("partition", "task_level", "user")
    if all(limit.kind is QuotaKind.JOBS for limit in every):
        for name, rank, user, count in rows.values_list(*keys).annotate(Count("id")):
            taken[name, rank, user, JOBS] = count
        return taken
    for name, rank, user, text in rows.values_list(*keys, Cast("alloc", TextField())).iterator(2000):
        take(taken, (name, rank, user), json.loads(text))
    return taken


def take(taken: Counter[Meter], whose: tuple[str, int, str], alloc: Mapping[str, Mapping[str, int]]) -> None:
    """Count a running job in. `whose`: its partition, the rank of its task level, its user; `alloc`: what it holds."""
    name, rank, user = whose
    taken[name, rank, user, JOBS] += 1
    for part in alloc.values():
        for resource, amount in part.items():
            taken[name, rank, user, resource] += amount
            taken[name, rank, None, resource] += amount


def _of_level(policy: PartitionPolicy, level: str) -> Iterator[tuple[QuotaKind, Mapping[str, int]]]:
    if level in policy.quotas:
        yield QuotaKind.JOBS, {JOBS: policy.quotas[level]}
    yield QuotaKind.AMOUNTS, policy.quota_amounts.get(level, {})
    yield QuotaKind.TOTALS, policy.quota_totals.get(level, {})


def in_order(resource: str) -> tuple[int, str]:
    """Jobs, then GPUs, memory last."""
    return -1 if resource == JOBS else resource_order(resource), resource
