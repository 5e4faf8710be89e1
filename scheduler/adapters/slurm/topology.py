"""`scontrol show topology` decoded: which leaf switch a node hangs on, or which block it is in (`SnapshotNode.unit`).

Nodes of one unit talk fast. Trees of switches (topology/tree) are told in the same words on 22.05, 24.11 and 26.05,
blocks (topology/block) on the latter two. From 25.05 on topology.yaml may name several: the answer is then the
cluster's own, and that of a partition is asked for by its name. `TopologyPlugin` does not tell of that file, so a
release that reads it is asked whatever the plugin is. With any other plugin, or none, every node is as near as any
other.
"""

import re
from collections.abc import Iterator, Mapping

from scheduler.adapters.slurm import values

PLUGINS = frozenset({"topology/tree", "topology/block"})
_FIRST_WITH_FILE = (25, 5)
_WORD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")
_RELEASE = re.compile(r"(\d+)\.(\d+)")


def may_be_told(plugin: str, version: str) -> bool:
    """Whether a cluster with this plugin and release can have units."""
    release = _RELEASE.match(version)
    return plugin in PLUGINS or (
        release is not None and (int(release[1]), int(release[2])) >= _FIRST_WITH_FILE
    )


def units(out: str) -> dict[str, str]:
    """By node, its leaf switch or its block. A node of two is in neither; one that does not decode has no nodes.

    Switches above the leaves and blocks of blocks are no units.
    """
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name, nodes in _leaves(out):
        twice.update(found.keys() & set(nodes))
        found.update(dict.fromkeys(nodes, name))
    return {name: unit for name, unit in found.items() if name not in twice}


def _leaves(out: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    whole = out[: out.rfind("\n") + 1]  # What comes after was cut off.
    for line in whole.splitlines():
        words: dict[str, str] = dict(_WORD.findall(line))
        name = _leaf(line, words)
        try:
            nodes = values.nodes(words.get("Nodes", ""))
        except ValueError:
            continue
        if name:
            yield name, nodes


def _leaf(line: str, words: Mapping[str, str]) -> str:
    if line.startswith("SwitchName=") and words.get("Level") == "0":
        return words["SwitchName"]
    return words["BlockName"] if line.startswith("BlockName=") else ""
