"""Which nodes hang on one switch, in Slurm's words as 22.05.8, 24.11.5 and 26.05.5 say them."""

import os
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import SlurmCluster
from scheduler.adapters.slurm.topology import units

TREE = [
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]",
    "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]",
    "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]",
]


def test_a_node_is_in_the_unit_of_its_leaf_switch() -> None:
    assert units(TREE) == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}


def test_a_node_of_two_switches_is_in_neither() -> None:
    both = "SwitchName=leaf3 Level=0 LinkSpeed=1 Nodes=n[2,5]"
    assert units([*TREE, both]) == {"n1": "leaf1", "n3": "leaf2", "n4": "leaf2", "n5": "leaf3"}


@pytest.mark.parametrize(
    "odd", ["SwitchName=x Level=0 Nodes=n[1-", "SwitchName=x", "BlockName=b1 Nodes=n1", ""]
)
def test_what_is_not_understood_has_no_nodes(odd: str) -> None:
    assert units([odd]) == {}


class Wired(PrivateSlurm):
    """Its nodes hang on two switches, which hang on one."""

    def _write_config(self, ports: object) -> None:
        super()._write_config(ports)  # type: ignore[arg-type]
        leaves = "SwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n[3-4]\n"
        (self.root / "topology.conf").write_text(f"{leaves}SwitchName=top Switches=leaf[1-2]\n")


@pytest.mark.slurm
@pytest.mark.every_release
def test_a_real_tree_of_switches_is_read(slurm_root: Path, slurm_release: str) -> None:
    options = {"TopologyPlugin": "topology/tree"}
    with Wired(slurm_root, version=slurm_release, options=options) as slurm:
        seen = SlurmCluster(env=_environment(slurm)).observe()
    assert {node.name: node.unit for node in seen.nodes} == {
        "n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2",
    }  # fmt: skip


@pytest.mark.slurm
@pytest.mark.every_release
def test_without_one_nodes_are_in_no_unit(clean_slurm: PrivateSlurm) -> None:
    seen = SlurmCluster(env=_environment(clean_slurm)).observe()
    assert {node.unit for node in seen.nodes} == {None}


def _environment(slurm: PrivateSlurm) -> dict[str, str]:
    return {**os.environ, **slurm.env}
