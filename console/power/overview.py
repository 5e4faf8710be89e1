"""What the page of a partition's compute power shows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, overload

from django.conf import settings
from django.db.models import Count, Max

from console.cluster.connect import measures
from console.cluster.selectors import seen_nodes
from console.core.ttl_cache import recall_answer
from console.partitions.models import Partition
from console.power.models import OPEN_STATES, Measurement, MeasurementState, Processor, Source
from console.power.selectors import KnownFigure, Outlier, jumped, known_figures, outliers
from console.power.units import PowerOfUnit, ends_of_kinds, units_of
from scheduler.priority.order import natural

LATEST = 10
PARTS = 5
"""Shades of a map of powers, from the fastest (1) to the slowest (5)."""


@dataclass(frozen=True, slots=True)
class ShownProcessor:
    """A processor on the map. `shade`: from 1, the fastest of its kind, to 5; `slower`: than the middle one, in
    percent."""

    processor: KnownFigure
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
        return sorted({str(Source(row.source).label) for row in rows if row.source != Source.MEASURED})


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


@dataclass(frozen=True, slots=True)
class _Figured:
    """What follows from the figures of a partition's processors. `ends`: of each node's kinds, fastest and slowest."""

    by_node: Mapping[str, Sequence[KnownFigure]]
    middle: float
    fastest: float | None
    slowest: float | None
    oldest: datetime | None
    ends: Mapping[str, Mapping[str, tuple[float, float]]]
    units: Mapping[str, PowerOfUnit]
    order: Sequence[str]
    """Nodes as they stand on the page."""
    outliers: Sequence[Outlier]


class _ShownNodes(Sequence[ShownNode]):
    """The nodes in their order, of which a page makes those that it shows."""

    def __init__(self, figured: _Figured, open_rows: Iterable[Measurement]) -> None:
        self._figured = figured
        self._open = {row.node: row for row in open_rows}

    def __len__(self) -> int:
        return len(self._figured.order)

    @overload
    def __getitem__(self, key: int) -> ShownNode: ...
    @overload
    def __getitem__(self, key: slice) -> list[ShownNode]: ...
    def __getitem__(self, key: int | slice) -> ShownNode | list[ShownNode]:
        names = self._figured.order[key]
        return self._shown(names) if isinstance(names, str) else [self._shown(name) for name in names]

    def _shown(self, name: str) -> ShownNode:
        known = self._figured
        ends = known.ends.get(name, {})
        processors = [
            ShownProcessor(
                each,
                _shade(each.figure, *ends[each.resource]),
                100 * (each.figure / known.middle - 1),
                jumped(each),
            )
            for each in known.by_node.get(name, ())
        ]
        return ShownNode(name, processors, self._open.get(name), known.units.get(name))


def power_of(partition: Partition) -> PartitionPower:
    """Everything of one partition, in five queries; figures that have not changed are read once a minute."""
    cluster = partition.cluster
    stamp = Processor.objects.filter(cluster=cluster).aggregate(count=Count("pk"), last=Max("taken_at"))
    key = (partition.pk, cluster.version, stamp["count"], stamp["last"])
    known = recall_answer("power", key, lambda: _figured(partition), most=16)
    measurements = Measurement.objects.filter(cluster=cluster, partition=partition.name)
    open_rows = list(measurements.filter(state__in=OPEN_STATES))
    fastest, slowest = known.fastest, known.slowest
    return PartitionPower(
        nodes=_ShownNodes(known, open_rows),
        measured=len(known.by_node),
        fastest=fastest,
        slowest=slowest,
        spread=100 * (slowest / fastest - 1) if fastest and slowest else None,
        oldest=known.oldest,
        outliers=known.outliers,
        open=open_rows,
        left=sum(row.state == MeasurementState.ASKED for row in open_rows),
        running=[row for row in open_rows if row.state == MeasurementState.SUBMITTED],
        latest=list(measurements.exclude(state__in=OPEN_STATES)[:LATEST]),
        can_measure=measures(cluster) and bool(settings.GIVEWAY_NODES_URL),
    )


def _figured(partition: Partition) -> _Figured:
    nodes = [node for node in seen_nodes(partition.cluster) if partition.name in node.partitions]
    processors = known_figures(partition.cluster, {node.name for node in nodes})
    units = units_of(nodes, processors, partition.name)
    figures = [each.figure for each in processors]
    by_node: dict[str, list[KnownFigure]] = {}
    for each in processors:
        by_node.setdefault(each.node, []).append(each)
    return _Figured(
        by_node=by_node,
        middle=median(figures) if figures else 1.0,
        fastest=min(figures, default=None),
        slowest=max(figures, default=None),
        oldest=min((each.taken_at for each in processors), default=None),
        ends=ends_of_kinds(nodes, processors),
        units=units,
        order=sorted((node.name for node in nodes), key=lambda name: _place(units.get(name), name)),
        outliers=outliers(processors, {node.name: node.total for node in nodes}),
    )


def _place(unit: PowerOfUnit | None, node: str) -> tuple[Any, ...]:
    """By unit, those in none last; then by name, numbers as numbers."""
    return unit is None, natural(unit.name if unit else ""), natural(node)


def _shade(figure: float, fastest: float, slowest: float) -> int:
    if slowest == fastest:
        return 1
    return 1 + min(PARTS - 1, int(PARTS * (figure - fastest) / (slowest - fastest)))
