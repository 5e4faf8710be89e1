"""Reading the mirror. Pages and the API come here; only steering goes through `connect`."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Case, QuerySet, TextField, Value, When
from django.db.models.functions import Cast

from console.cluster.models import Cluster, Node

Kind = tuple[tuple[str, int], ...]


class SeenNode(NamedTuple):
    """What pages need of a node. A cluster has thousands, so this is no more than that and no model."""

    pk: int
    name: str
    up: bool
    state: str
    state_reason: str
    total: Mapping[str, int]
    used: Mapping[str, int]
    partitions: tuple[str, ...] = ()
    unit: str = ""
    own_units: Mapping[str, str] = MappingProxyType({})

    def unit_in(self, partition: str) -> str:
        """The compute unit that it belongs to as a partition sees the network; empty when none is known."""
        return self.own_units.get(partition, self.unit)


def shown_cluster() -> Cluster:
    """The row of the cluster that the settings name, as the pages show it; made at first use."""
    row, _ = Cluster.objects.get_or_create(
        name=settings.GIVEWAY_CLUSTER_NAME, defaults={"kind": settings.GIVEWAY_CLUSTER}
    )
    return row


def seen_nodes(cluster: Cluster) -> list[SeenNode]:
    """All nodes by name. Most of them have the same as others: what is written alike is decoded once, and shared.

    So nobody may change what a node has or holds.
    """
    decoded = functools.cache(json.loads)
    return [_seen_node(row, decoded) for row in _node_rows(cluster.pk)]


_UP = Case(When(up=True, then=Value("up")), default=Value(""), output_field=TextField())


def _node_rows(cluster: int) -> QuerySet[Node, Any]:
    return (
        Node.objects.filter(cluster=cluster)
        .order_by("name")
        .values_list(
            # As text: a database's own truth, and a number that is worked out, are translated row by row.
            *("pk", "name", _UP, "state", "state_reason", "unit"),
            *(Cast(field, TextField()) for field in ("total", "used", "partitions", "own_units")),
        )
    )


def _seen_node(row: tuple[Any, ...], decoded: Callable[[str], Any]) -> SeenNode:
    pk, name, up, state, reason, unit, total, used, partitions, own_units = row
    return SeenNode(
        *(pk, name, bool(up), state, reason, decoded(total), decoded(used), tuple(decoded(partitions))),
        unit=unit,
        own_units=decoded(own_units),
    )


def kind_of(total: Mapping[str, int]) -> Kind:
    """What makes a node one of its kind: all that it has but memory, which differs between nodes that are the same to
    people."""
    return tuple(sorted((name, amount) for name, amount in total.items() if name != "mem"))


def alike(nodes: Collection[SeenNode]) -> list[tuple[SeenNode, int]]:
    """One node of each sort, and how many there are of it: they have and hold the same, and are up or not.

    By identity, which is quick: `seen_nodes` shares what is written alike. Sorts that differ in nothing do no harm.
    """
    sorts = [(id(node.total), id(node.used), node.up) for node in nodes]
    one_of = dict(zip(sorts, nodes, strict=True))
    return [(one_of[sort], count) for sort, count in Counter(sorts).items()]
