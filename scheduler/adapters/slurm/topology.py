"""`scontrol show topology` decoded: which leaf switch a node hangs on. Nodes of one talk fast (`SnapshotNode.unit`).

Of the ways in which Slurm tells a network only the tree of switches is read (topology/tree, the same words on 22.05,
24.11 and 26.05); with another one, or none, every node is as near as any other.
"""

import re
from collections.abc import Iterable

from scheduler.adapters.slurm import values

TREE = "topology/tree"
_WORD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")


def units(records: Iterable[str]) -> dict[str, str]:
    """By node, its leaf switch. A node of two is in neither; a switch that does not decode has no nodes."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for record in records:
        words: dict[str, str] = dict(_WORD.findall(record))
        if words.get("Level") != "0":
            continue
        try:
            names = values.nodes(words.get("Nodes", ""))
        except ValueError:
            continue
        twice.update(found.keys() & set(names))
        found.update(dict.fromkeys(names, words["SwitchName"]))
    return {name: unit for name, unit in found.items() if name not in twice}
