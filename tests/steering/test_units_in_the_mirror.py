"""A node's compute unit in the mirror: written when it changes, as each partition sees the network."""

from dataclasses import replace

import pytest

from console.cluster.models import Cluster, Node
from console.cluster.selectors import seen_nodes
from console.cluster.services import write_nodes
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition
from tests import factories

pytestmark = pytest.mark.django_db

NAMES = ("n1", "n2")


def seen(unit: str | None = "leaf1", own: dict[str, str] | None = None) -> Observation:
    nodes = tuple(
        SnapshotNode(name, True, {"cpu": 8}, unit=unit, partitions=("x", "racks")) for name in NAMES
    )
    partitions = (ObservedPartition("x", nodes=NAMES), ObservedPartition("racks", nodes=NAMES, units=own))
    return Observation("dev", 1_790_000_000, nodes=nodes, partitions=partitions)


@pytest.fixture
def cluster() -> Cluster:
    return factories.make_cluster()


def units(cluster: Cluster, partition: str) -> list[str]:
    return [node.unit_in(partition) for node in seen_nodes(cluster)]


def test_a_node_has_its_unit_and_each_partition_its_own(cluster: Cluster) -> None:
    write_nodes(cluster, seen(own={"n1": "b1"}))
    assert units(cluster, "x") == ["leaf1", "leaf1"]
    assert units(cluster, "racks") == ["b1", ""]


def test_it_is_written_only_when_it_changes(cluster: Cluster) -> None:
    assert write_nodes(cluster, seen())
    assert not write_nodes(cluster, seen())
    assert write_nodes(cluster, seen(unit="leaf2"))
    assert write_nodes(cluster, seen(unit="leaf2", own={"n2": "b1"}))
    assert not write_nodes(cluster, seen(unit="leaf2", own={"n2": "b1"}))
    assert units(cluster, "racks") == ["", "b1"]


def test_one_that_is_gone_leaves_nothing(cluster: Cluster) -> None:
    write_nodes(cluster, seen(own={"n1": "b1"}))
    write_nodes(cluster, seen(unit=None))
    assert {(node.unit, str(node.own_units)) for node in Node.objects.all()} == {("", "{}")}


def test_a_name_that_is_too_long_is_cut_and_not_written_again(cluster: Cluster) -> None:
    write_nodes(cluster, seen(unit="s" * 300))
    assert not write_nodes(cluster, replace(seen(unit="s" * 300), taken_at=1_790_000_001))
    assert units(cluster, "x") == ["s" * 100] * 2
