"""The list of one person: what there is to act on, gathered in six queries, and none for who acts on nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.needs import decisions, facts
from console.needs.rows import Need, in_order
from console.partitions.models import Partition
from console.power.incidents import open_incidents
from console.projects.selectors import managed_projects
from console.reports.seen import Seen, see
from console.setup.selectors import examination
from console.steering.requests import standing_for


@dataclass(frozen=True, slots=True)
class Acts:
    """Where a person may act: the partitions, by name, and whether on the whole installation."""

    user: Any
    partitions: dict[str, Partition]
    everywhere: bool
    decides_requests: bool

    def on(self, partition: str) -> bool:
        """Whether on this partition; the empty one is all of them."""
        return partition in self.partitions if partition else self.everywhere


def acts_of(user: Any, partitions: Iterable[Partition]) -> Acts:
    """No query for partitions that were read."""
    return Acts(
        user=user,
        partitions={row.name: row for row in partitions if user.has_perm(Permission.PAUSE_PARTITION, row)},
        everywhere=user.has_perm(Permission.PAUSE_ALL),
        decides_requests=user.has_perm(Permission.REQUEST_DECIDE),
    )


def needs_of(
    user: Any, cluster: Cluster, partitions: Sequence[Partition], seen: Seen | None = None
) -> list[Need]:
    """What a person has to act on, the most urgent first. `partitions`: those that the person sees."""
    acts = acts_of(user, partitions)
    return in_order([*_of_steering(acts, cluster, seen), *_of_projects(acts)])


def _of_steering(acts: Acts, cluster: Cluster, seen: Seen | None) -> Iterator[Need]:
    """For who administers a partition, or everything."""
    if not acts.partitions and not acts.everywhere:
        return
    notices = standing_for(acts.user, cluster.name)
    seen = seen or see(cluster, acts.partitions)
    found = examination(cluster)
    yield from facts.incidents(notices, acts.on)
    yield from facts.failing(notices, cluster, acts.on)
    yield from facts.paused(notices, acts.on)
    yield from decisions.of_plans(acts.user, cluster)
    yield from decisions.late(cluster, acts.partitions)
    yield from facts.sick(seen, acts.partitions)
    yield from facts.uneven(open_incidents(cluster), seen, acts.partitions)
    if found is not None and acts.user.has_perm(Permission.INSTALLATION_SET_UP):
        yield from facts.doctor(found)
    yield from facts.unconfigured(seen, acts.partitions.values())


def _of_projects(acts: Acts) -> Iterator[Need]:
    """For who decides on what managers ask for, and for who asks."""
    if acts.decides_requests or managed_projects(acts.user):
        yield from decisions.of_projects(acts.user, may_decide=acts.decides_requests)
        yield from decisions.of_proposals(acts.user, may_decide=acts.decides_requests)
