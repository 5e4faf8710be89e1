"""Processors that stand out, as pages and the API show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.partitions.models import Partition
from console.power.models import OPEN_DRAINS, NodeDrain, PowerIncident, StandoutState
from console.power.selectors import names_in

LATEST = 50


@dataclass(frozen=True, slots=True)
class ShownIncident:
    """An incident, and the drain of its node that is wished for or in force."""

    row: PowerIncident
    drain: NodeDrain | None


def standing_on(cluster: Cluster, nodes: Iterable[str]) -> list[ShownIncident]:
    """Those of some nodes that are not closed, open ones first."""
    return _with_drains(cluster, _standing(cluster).filter(node__in=list(nodes)))


def _standing(cluster: Cluster) -> QuerySet[PowerIncident]:
    """Those that are not closed, open ones first."""
    rows = PowerIncident.objects.filter(cluster=cluster)
    return rows.exclude(state=StandoutState.CLOSED).order_by("-state", "id")


def standing_in(partition: Partition) -> list[ShownIncident]:
    """Those of a partition's nodes that are not closed."""
    rows = list(_standing(partition.cluster))
    # A few rows are held against thousands of names here: the database would be sent all of the names.
    names = frozenset(names_in(partition)) if rows else ()
    return _with_drains(partition.cluster, [row for row in rows if row.node in names])


def incidents_of(partition: Partition) -> Any:
    """All of a partition's nodes, the latest first."""
    names = names_in(partition)
    return PowerIncident.objects.filter(cluster=partition.cluster, node__in=names).order_by("-id")


def open_incidents(cluster: Cluster) -> Sequence[PowerIncident]:
    """Those that nobody has left or that are over."""
    return list(PowerIncident.objects.filter(cluster=cluster, state=StandoutState.OPEN).order_by("opened_at"))


def _with_drains(cluster: Cluster, rows: Iterable[PowerIncident]) -> list[ShownIncident]:
    found = list(rows)
    if not found:
        return []
    drains = NodeDrain.objects.filter(cluster=cluster, state__in=OPEN_DRAINS)
    by_node = {each.node: each for each in drains}
    return [ShownIncident(row, by_node.get(row.node)) for row in found]
