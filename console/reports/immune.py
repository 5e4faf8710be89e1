"""How much of a partition is immune: held by running jobs that nobody stops, because Slurm does not requeue them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models.functions import Coalesce
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import SeenNode, alike, seen_nodes
from scheduler.model.resource_kinds import COUNTED
from scheduler.model.resources import Amounts, add, total
from scheduler.reconcile.immunity import Immunity

_SINCE = Coalesce("immune_since", "start")
WHY: dict[str, Promise] = {
    Immunity.INTERACTIVE: gettext_lazy("interactive"),
    Immunity.NO_REQUEUE: gettext_lazy("submitted with --no-requeue"),
    Immunity.CHANGED: gettext_lazy("made not requeueable later"),
    Immunity.HET: gettext_lazy("part of a heterogeneous job"),
}


@dataclass(slots=True)
class ImmuneUser:
    """One user's immune jobs in a partition. `since`: the second in which the first of them was seen so, by the
    cluster's clock; `jobs`: why, by the job, the oldest first; `amounts`: what they hold together."""

    user: str
    since: int
    jobs: dict[str, str] = field(default_factory=dict)
    amounts: dict[str, int] = field(default_factory=dict)

    @property
    def why(self) -> list[str]:
        """Why, each reason once."""
        return list(dict.fromkeys(self.jobs.values()))

    @property
    def words(self) -> list[Promise | str]:
        """The same in words."""
        return [WHY.get(why, why) for why in self.why]

    @property
    def jobs_in_words(self) -> list[tuple[str, Promise | str]]:
        """Each job and why."""
        return [(job_id, WHY.get(why, why)) for job_id, why in self.jobs.items()]


@dataclass(frozen=True, slots=True)
class Immune:
    """The immune part of a partition. `users`: whose jobs they are, who holds the largest part first."""

    users: tuple[ImmuneUser, ...] = ()
    capacity: Mapping[str, int] = field(default_factory=dict)
    """What all its nodes have."""

    @property
    def why(self) -> Counter[str]:
        """Of how many jobs it is why."""
        return Counter(why for each in self.users for why in each.jobs.values())

    @property
    def count(self) -> int:
        """How many jobs they are."""
        return sum(len(each.jobs) for each in self.users)

    @property
    def amounts(self) -> Amounts:
        """What the immune jobs hold together."""
        return total(each.amounts for each in self.users)

    @property
    def shares(self) -> dict[str, float]:
        """The immune part of each resource that the partition has, from 0 to 1."""
        return _parts(self.amounts, self.capacity)

    @property
    def share(self) -> float:
        """The largest of them."""
        return max(self.shares.values(), default=0.0)

    @property
    def percent(self) -> str:
        """`25%`."""
        return f"{self.share:.0%}"


def _parts(amounts: Amounts, capacity: Mapping[str, int]) -> dict[str, float]:
    return {name: amounts.get(name, 0) / capacity[name] for name in COUNTED if capacity.get(name)}


NOBODY = Immune()


def immune_parts(
    cluster: Cluster, names: Collection[str], nodes: Iterable[SeenNode] | None = None
) -> dict[str, Immune]:
    """The immune part of each of these partitions that has one. `nodes`: if they have been read already."""
    found: dict[str, dict[str, ImmuneUser]] = {}
    rows = Job.objects.filter(cluster=cluster, partition__in=names, phase=JobPhase.RUNNING).exclude(immune="")
    columns = rows.order_by(_SINCE, "job_id").values_list(
        "partition", "user", "job_id", "immune", _SINCE, "alloc"
    )
    for partition, user, job_id, why, since, alloc in columns:
        users = found.setdefault(partition, {})
        each = users.setdefault(user, ImmuneUser(user, since))
        each.jobs[job_id] = why
        for held in alloc.values():
            add(each.amounts, held)
    if not found:
        return {}
    every = list(seen_nodes(cluster) if nodes is None else nodes)
    return {name: _immune(users.values(), _capacity(every, name)) for name, users in found.items()}


def _immune(users: Iterable[ImmuneUser], capacity: Mapping[str, int]) -> Immune:
    def order(each: ImmuneUser) -> tuple[float, str]:
        return -max(_parts(each.amounts, capacity).values(), default=0.0), each.user

    return Immune(tuple(sorted(users, key=order)), capacity)


def _capacity(nodes: Iterable[SeenNode], partition: str) -> dict[str, int]:
    there: dict[str, int] = {}
    for node, count in alike([node for node in nodes if partition in node.partitions]):
        add(there, {name: amount * count for name, amount in node.total.items()})
    return there
