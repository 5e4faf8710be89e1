"""What the page of a partition's compute power shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from django.conf import settings

from console.cluster.connect import measures
from console.partitions.models import Partition
from console.power.models import OPEN_STATES, Measurement, MeasurementState, Processor, Source
from console.power.selectors import (
    Outlier,
    jumped,
    nodes_of,
    outliers,
    processors_of,
)
from console.power.units import PowerOfUnit, ends_of_kinds, units_of
from scheduler.priority.order import natural

LATEST = 10
PARTS = 5
"""Shades of a map of powers, from the fastest (1) to the slowest (5)."""


@dataclass(frozen=True, slots=True)
class ShownProcessor:
    """A processor on the map. `shade`: from 1, the fastest of its kind, to 5; `slower`: than the middle one, in
    percent."""

    processor: Processor
    shade: int
    slower: float
    jumped: bool


@dataclass(frozen=True, slots=True)
class ShownNode:
    """A node with its processors that are measured; `open`: its measurement under way. Nodes of one unit stand
    together."""

    name: str
    processors: Sequence[ShownProcessor]
    open: Measurement | None
    unit: PowerOfUnit | None = None

    @property
    def sources(self) -> list[str]:
        """Where figures come from that were not measured here."""
        rows = (each.processor for each in self.processors)
        return sorted({row.get_source_display() for row in rows if row.source != Source.MEASURED})


@dataclass(frozen=True, slots=True)
class PartitionPower:
    """`spread`: how much longer the slowest takes than the fastest, in percent; `left`: nodes yet to be measured."""

    nodes: Sequence[ShownNode]
    measured: int
    fastest: float | None
    slowest: float | None
    spread: float | None
    oldest: datetime | None
    outliers: Sequence[Outlier]
    open: Sequence[Measurement]
    left: int
    running: Sequence[Measurement]
    latest: Sequence[Measurement]
    can_measure: bool


def power_of(partition: Partition) -> PartitionPower:
    """Everything of one partition, in four queries."""
    cluster = partition.cluster
    processors, nodes = processors_of(partition), nodes_of(partition)
    ends, units = ends_of_kinds(nodes, processors), units_of(nodes, processors, partition.name)
    measurements = Measurement.objects.filter(cluster=cluster, partition=partition.name)
    open_rows = list(measurements.filter(state__in=OPEN_STATES))
    figures = [each.figure for each in processors]
    fastest, slowest = (min(figures), max(figures)) if figures else (None, None)
    by_node: dict[str, list[ShownProcessor]] = {}
    middle = median(figures) if figures else 1.0
    for each in processors:
        shown = ShownProcessor(
            each,
            _shade(each.figure, *ends[each.node][each.resource]),
            100 * (each.figure / middle - 1),
            jumped(each),
        )
        by_node.setdefault(each.node, []).append(shown)
    open_by_node = {row.node: row for row in open_rows}
    return PartitionPower(
        nodes=[
            ShownNode(
                node.name, by_node.get(node.name, []), open_by_node.get(node.name), units.get(node.name)
            )
            for node in sorted(nodes, key=lambda node: _place(units.get(node.name), node.name))
        ],
        measured=len(by_node),
        fastest=fastest,
        slowest=slowest,
        spread=100 * (slowest / fastest - 1) if fastest and slowest else None,
        oldest=min((each.taken_at for each in processors), default=None),
        outliers=outliers(processors, {node.name: node.total for node in nodes}),
        open=open_rows,
        left=sum(row.state == MeasurementState.ASKED for row in open_rows),
        running=[row for row in open_rows if row.state == MeasurementState.SUBMITTED],
        latest=list(measurements.exclude(state__in=OPEN_STATES)[:LATEST]),
        can_measure=measures(cluster) and bool(settings.GIVEWAY_NODES_URL),
    )


def _place(unit: PowerOfUnit | None, node: str) -> tuple[Any, ...]:
    """By unit, those in none last; then by name, numbers as numbers."""
    return unit is None, natural(unit.name if unit else ""), natural(node)


def _shade(figure: float, fastest: float, slowest: float) -> int:
    if slowest == fastest:
        return 1
    return 1 + min(PARTS - 1, int(PARTS * (figure - fastest) / (slowest - fastest)))
