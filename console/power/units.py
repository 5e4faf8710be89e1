"""How even the processors of a compute unit are: nodes that talk fast to one another."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.cluster.models import Cluster, Node
from console.cluster.selectors import Kind, SeenNode, kind_of

if TYPE_CHECKING:
    from console.power.selectors import Figured

ProcessorKind = tuple[str, Kind]
"""A resource, and the kind of node that has it."""


@dataclass(frozen=True, slots=True)
class PowerOfUnit:
    """A unit of a partition. `spread`: how much longer its slowest processor takes than its fastest of the same kind,
    in percent; None where nothing is measured."""

    name: str
    nodes: int
    spread: float | None


def units_of(
    nodes: Iterable[SeenNode], processors: Iterable["Figured"], partition: str
) -> dict[str, PowerOfUnit]:
    """By node, its unit; without nodes that are in none."""
    unit_of = {node.name: unit for node in nodes if (unit := node.unit_in(partition))}
    totals = {node.name: node.total for node in nodes}
    figures: dict[str, dict[ProcessorKind, list[float]]] = {unit: {} for unit in unit_of.values()}
    for each in processors:
        if each.node in unit_of:
            kind = (each.resource, kind_of(totals[each.node]))
            figures[unit_of[each.node]].setdefault(kind, []).append(each.figure)
    sizes = Counter(unit_of.values())
    found = {
        unit: PowerOfUnit(unit, sizes[unit], _spread(of_kinds.values())) for unit, of_kinds in figures.items()
    }
    return {node: found[unit] for node, unit in unit_of.items()}


def ends_of_kinds(
    nodes: Iterable[SeenNode], processors: Iterable["Figured"]
) -> dict[str, dict[str, tuple[float, float]]]:
    """By node and resource, the fastest and the slowest figure of its kind of node in the partition: what is shaded
    over all kinds would hide what differs within a fast one."""
    kind_on = {node.name: kind_of(node.total) for node in nodes}
    ends: dict[ProcessorKind, tuple[float, float]] = {}
    where: dict[str, dict[str, ProcessorKind]] = {}
    for each in processors:
        kind = where.setdefault(each.node, {})[each.resource] = (each.resource, kind_on[each.node])
        fastest, slowest = ends.get(kind, (each.figure, each.figure))
        ends[kind] = min(fastest, each.figure), max(slowest, each.figure)
    return {node: {name: ends[kind] for name, kind in kinds.items()} for node, kinds in where.items()}


def units_of_job(cluster: Cluster, partition: str, held: Mapping[str, object]) -> list[str]:
    """The units that a job lies in, sorted; empty where any of its nodes is in none."""
    rows = Node.objects.filter(cluster=cluster, name__in=list(held)).only("unit", "own_units")
    found = {row.unit_in(partition) for row in rows}
    return [] if "" in found else sorted(found)


def _spread(of_kinds: Iterable[list[float]]) -> float | None:
    spreads = [100 * (max(figures) / min(figures) - 1) for figures in of_kinds]
    return max(spreads, default=None)
