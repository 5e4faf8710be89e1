"""How much of a partition is immune: held by running jobs that nobody stops, because Slurm does not requeue them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import SeenNode, alike, seen_nodes
from scheduler.model.resources import Amounts, add, total
from scheduler.reconcile.immunity import Immunity

RESOURCES = ("gpu", "cpu")
"""Whose shares are told."""
WHY: dict[str, Promise] = {
    Immunity.INTERACTIVE: gettext_lazy("interactive"),
    Immunity.NO_REQUEUE: gettext_lazy("submitted with --no-requeue"),
    Immunity.CHANGED: gettext_lazy("made not requeueable later"),
    Immunity.HET: gettext_lazy("part of a heterogeneous job"),
}


@dataclass(frozen=True, slots=True)
class ImmuneJob:
    """A running job that is immune. `since`: the second in which it was first seen so, by the cluster's clock."""

    job_id: str
    partition: str
    user: str
    why: str
    since: int
    amounts: Amounts

    @property
    def words(self) -> Promise | str:
        """Why, in words."""
        return WHY.get(self.why, self.why)


@dataclass(frozen=True, slots=True)
class ImmuneUser:
    """One user's immune jobs in a partition, the oldest first."""

    user: str
    jobs: tuple[ImmuneJob, ...]

    @property
    def amounts(self) -> Amounts:
        """What they hold together."""
        return total(job.amounts for job in self.jobs)

    @property
    def why(self) -> list[str]:
        """Why, each reason once."""
        return list(dict.fromkeys(job.why for job in self.jobs))

    @property
    def words(self) -> list[Promise | str]:
        """The same in words."""
        return [WHY.get(why, why) for why in self.why]

    @property
    def since(self) -> int:
        """Since when there has been one of them."""
        return self.jobs[0].since


@dataclass(frozen=True, slots=True)
class Immune:
    """The immune part of a partition. `capacity`: what all its nodes have."""

    jobs: tuple[ImmuneJob, ...] = ()
    capacity: Mapping[str, int] | None = None

    @property
    def amounts(self) -> Amounts:
        """What the immune jobs hold together."""
        return total(job.amounts for job in self.jobs)

    @property
    def shares(self) -> dict[str, float]:
        """The immune part of each resource that the partition has, from 0 to 1."""
        held, capacity = self.amounts, self.capacity or {}
        return {name: held.get(name, 0) / capacity[name] for name in RESOURCES if capacity.get(name)}

    @property
    def share(self) -> float:
        """The largest of them."""
        return max(self.shares.values(), default=0.0)

    @property
    def percent(self) -> str:
        """`25%`."""
        return f"{self.share:.0%}"

    @property
    def users(self) -> list[ImmuneUser]:
        """Whose jobs they are, who holds the largest part first."""
        by_user: dict[str, list[ImmuneJob]] = {}
        for job in sorted(self.jobs, key=lambda job: (job.since, job.job_id)):
            by_user.setdefault(job.user, []).append(job)
        found = [ImmuneUser(user, tuple(jobs)) for user, jobs in by_user.items()]
        return sorted(found, key=lambda each: (-self._part(each.amounts), each.user))

    def _part(self, amounts: Amounts) -> float:
        capacity = self.capacity or {}
        return max((amounts.get(r, 0) / capacity[r] for r in RESOURCES if capacity.get(r)), default=0.0)


NOBODY = Immune()


def immune_parts(
    cluster: Cluster, names: Collection[str], nodes: Iterable[SeenNode] | None = None
) -> dict[str, Immune]:
    """The immune part of each of these partitions that has one. `nodes`: if they have been read already."""
    found: dict[str, list[ImmuneJob]] = {}
    for job in _jobs(cluster, names):
        found.setdefault(job.partition, []).append(job)
    if not found:
        return {}
    every = list(seen_nodes(cluster) if nodes is None else nodes)
    return {name: Immune(tuple(jobs), _capacity(every, name)) for name, jobs in found.items()}


def _jobs(cluster: Cluster, names: Collection[str]) -> Iterator[ImmuneJob]:
    rows = Job.objects.filter(cluster=cluster, partition__in=names, phase=JobPhase.RUNNING).exclude(immune="")
    for job_id, partition, user, why, since, start, alloc in rows.values_list(
        "job_id", "partition", "user", "immune", "immune_since", "start", "alloc"
    ):
        yield ImmuneJob(job_id, partition, user, why, since or start, total(alloc.values()))


def _capacity(nodes: Iterable[SeenNode], partition: str) -> dict[str, int]:
    there: dict[str, int] = {}
    for node, count in alike([node for node in nodes if partition in node.partitions]):
        add(there, {name: amount * count for name, amount in node.total.items()})
    return there
