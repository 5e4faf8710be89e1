"""Which nodes hang on one switch or are in one block, in Slurm's words as 22.05.8, 24.11.5 and 26.05.5 say them."""

import os
from pathlib import Path

import pytest

from deploy.private_slurm import Partition, PrivateSlurm, releases
from scheduler.adapters.slurm import SlurmCluster
from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.read import CONFIG_S, Reader, may_be_told, units_of_topology
from scheduler.model.observation import Observation
from scheduler.reconcile.build import snapshot_for
from tests.adapters.slurm.record import KNOWN_IN, NETWORKS, Wired
from tests.adapters.slurm.replay import RECORDINGS, Replay, scene
from tests.builders import policy

PAIRS = {
    "tree": {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"},
    "block": {"n1": "b1", "n2": "b1", "n3": "b2", "n4": "b2"},
}
RACKS = {"n1": "b1", "n3": "b1", "n2": "b2", "n4": "b2"}
LEAF = "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
RECORDED = sorted(path.relative_to(RECORDINGS).parts for path in RECORDINGS.glob("*/*/topology.txt"))


def test_a_node_of_two_switches_is_in_neither() -> None:
    others = "SwitchName=leaf2 Level=0 Nodes=n[3-4]\nSwitchName=leaf3 Level=0 LinkSpeed=1 Nodes=n[2,5]\n"
    assert units_of_topology(LEAF + others) == {"n1": "leaf1", "n3": "leaf2", "n4": "leaf2", "n5": "leaf3"}


@pytest.mark.parametrize(
    "odd",
    ["SwitchName=x Level=0 Nodes=n[1-\n", "SwitchName=x\n", "No topology\n", "RingName=r Nodes=n1\n", ""],
)
def test_what_is_not_understood_has_no_nodes(odd: str) -> None:
    assert units_of_topology(odd) == {}


def test_a_line_that_is_cut_off_is_not_believed() -> None:
    assert units_of_topology(f"{LEAF}SwitchName=leaf2 Level=0 Nodes=n1") == {"n1": "leaf1", "n2": "leaf1"}


def test_a_release_that_reads_topology_yaml_is_asked_whatever_its_plugin_is() -> None:
    """With that file slurmctld 26.05 says `topology/flat`."""
    asked = [
        may_be_told("topology/flat", version) for version in ("22.05.8", "24.11.5", "25.05.1", "26.05.5")
    ]
    assert asked == [False, False, True, True]
    assert may_be_told("topology/tree", "22.05.8")
    assert not may_be_told("topology/flat", "")


@pytest.mark.parametrize(("version", "name", "_file"), RECORDED)
def test_a_recorded_network_is_read(version: str, name: str, _file: str) -> None:
    expected = PAIRS["tree"] if name == "own" else PAIRS.get(name, {})
    seen = Reader(Replay(scene=scene(version, name))).observe()
    assert {node.name: node.unit for node in seen.nodes if node.unit} == expected


def test_a_partition_sees_the_network_as_its_own_topology_says() -> None:
    seen = Reader(Replay(scene=scene("26.05.5", "own"))).observe()
    assert units_in(seen, "x") == PAIRS["tree"]
    assert units_in(seen, "racks") == RACKS
    assert units_in(seen, "flat") == dict.fromkeys(RACKS)


def units_in(seen: Observation, partition: str) -> dict[str, str | None]:
    built = snapshot_for(seen, policy(name=partition), [], preemptions={})
    return {node.name: node.unit for node in built.snapshot.nodes}


def test_slurm_is_asked_again_with_its_configuration_only() -> None:
    now = [0.0]
    replay = Replay(scene=scene("26.05.5", "own"))
    reader = Reader(replay, lambda: now[0])
    for at in (0, 1, CONFIG_S - 1):
        now[0] = at
        reader.observe()
    assert [replay.asked(name) for name in ("topology", "topology/racks", "topology/flat")] == [3, 1, 1]
    now[0] = CONFIG_S
    reader.observe()
    assert replay.asked("topology/racks") == 2


def test_what_is_refused_costs_nearness_and_nothing_else() -> None:
    replay = Replay(scene=scene("26.05.5", "own"))
    replay.failing = {"topology/racks": CommandAnswer("", "slurm_load_topo: Invalid", 1)}
    seen = Reader(replay).observe()
    assert not seen.faults
    assert units_in(seen, "racks") == dict.fromkeys(RACKS)
    assert units_in(seen, "x") == PAIRS["tree"]


def test_a_topology_is_not_asked_for_by_a_name_that_is_none() -> None:
    def odd(name: str, text: str) -> str:
        return text.replace("Topology=racks", "Topology=--all;rm") if name == "partitions" else text

    seen = Reader(Replay(scene=scene("26.05.5", "own"), edit=odd)).observe()
    assert units_in(seen, "racks") == dict.fromkeys(RACKS)


def network(root: Path, name: str, release: str) -> Observation:
    """What is seen of a private Slurm with one of the recorded networks."""
    file, text, options, own = NETWORKS[name]
    every = (1, 2, 3, 4)
    partitions = [
        Partition("x", every, {"Default": "YES"}),
        *(Partition(each, every, {"Topology": each}) for each in own),
    ]
    with Wired(root, file, text, partitions=partitions, version=release, options=options) as slurm:
        return SlurmCluster(env={**os.environ, **slurm.env}).observe()


@pytest.mark.slurm
@pytest.mark.every_release
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_a_real_network_is_read(slurm_root: Path, slurm_release: str, name: str) -> None:
    if slurm_release not in KNOWN_IN[name]:
        assert slurm_release == releases.SYSTEM  # It has no topology/block.
        return
    seen = network(slurm_root, name, slurm_release)
    assert {node.name: node.unit for node in seen.nodes} == PAIRS[name]


@pytest.mark.slurm
def test_several_real_topologies_are_read(slurm_root: Path, need_releases: None) -> None:
    seen = network(slurm_root, "own", "26.05")
    assert units_in(seen, "x") == PAIRS["tree"]
    assert units_in(seen, "racks") == RACKS
    assert units_in(seen, "flat") == dict.fromkeys(RACKS)


@pytest.mark.slurm
@pytest.mark.every_release
def test_without_one_nodes_are_in_no_unit(clean_slurm: PrivateSlurm) -> None:
    seen = SlurmCluster(env={**os.environ, **clean_slurm.env}).observe()
    assert {node.unit for node in seen.nodes} == {None}
    assert {partition.units for partition in seen.partitions} == {None}
