"""The nodes on which the past is simulated: equal ones, as many as were usually up."""

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from console.cluster.models import Cluster
from console.cluster.selectors import seen_nodes
from console.core import clock
from console.history.models import PartitionMinute
from scheduler.model.resource_kinds import accelerator_of
from scheduler.simulate.workload import Machines


@dataclass(frozen=True, slots=True)
class PartitionNodes:
    """`machines`: what is simulated. `has`: how many such nodes the partition has today, those that are down too;
    `alike`: its nodes are really equal."""

    machines: Machines
    has: int
    alike: bool

    def facts(self) -> dict[str, Any]:
        """As the answer of the study has them."""
        per_node = dict(self.machines.per_node)
        return {"count": self.machines.nodes, "has": self.has, "per_node": per_node, "alike": self.alike}


def nodes_of(cluster: Cluster, partition: str, since: int, until: int) -> PartitionNodes | None:
    """The partition's nodes as equal ones; None where it has none. Two queries.

    Of several kinds the one with most accelerators in all (or CPUs) counts, and so many of it as have them all
    together. Where minutes of this time were recorded, no more count than were up in half of them.
    """
    nodes = [node.total for node in seen_nodes(cluster) if partition in node.partitions]
    accelerator = accelerator_of(nodes)
    kinds = Counter((total.get("cpu", 0), total.get(accelerator, 0)) for total in nodes)
    main = 1 if any(amount for _, amount in kinds) else 0
    having = {kind: count for kind, count in kinds.items() if kind[main]}
    if not having:
        return None
    kind = max(having, key=lambda each: (each[main] * having[each], each))
    has = max(1, sum(each[main] * many for each, many in having.items()) // kind[main])
    names = ("cpu", accelerator)
    up = _usually_up(cluster, partition, names[main], since, until)
    count = has if up is None else min(has, max(1, round(up / kind[main])))
    per_node = {name: amount for name, amount in zip(names, kind, strict=True) if amount}
    return PartitionNodes(Machines(count, per_node), has, len(kinds) == 1)


def _usually_up(cluster: Cluster, partition: str, resource: str, since: int, until: int) -> float | None:
    """How much of it was on nodes that were up, in half of the recorded minutes; None where none is recorded."""
    between = (clock.from_epoch(since), clock.from_epoch(until))
    minutes = PartitionMinute.objects.filter(cluster=cluster, partition=partition, at__range=between)
    amounts = [total.get(resource, 0) for total in minutes.values_list("total", flat=True).iterator()]
    return statistics.median(amounts) if amounts else None
