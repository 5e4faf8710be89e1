"""Figures in force as the planner counts them, and what stands out among them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import NamedTuple

from django.db.models import Count, Max

from console.cluster.models import Cluster, Node
from console.cluster.selectors import seen_nodes
from console.core.ttl_cache import recall_answer
from console.partitions.models import Partition
from console.power.models import OPEN_STATES, Measurement, MeasurementState, MeasuringRule, Processor
from console.power.units import units_of_job
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.nodes import Power, SnapshotNode
from scheduler.model.observation import Observation
from scheduler.model.resource_kinds import by_worth
from scheduler.priority.order import natural

BY_NODE = frozenset({"cpu"})
"""What is measured for a whole node: its processors of this kind have one figure."""
MEASURE = "giveway-measure"
"""The name of the jobs that measure."""
FAR = 0.1
"""A processor is far from its kind when it differs from the middle one by more than this share of it."""
FEWEST = 4
"""Among fewer than these there is no kind to be far from."""

Figures = Mapping[str, Mapping[str, Mapping[int, float]]]


def figures_by_device(cluster: Cluster) -> Figures:
    """The figures in force by node, resource and device; never to be changed."""
    seen = Processor.objects.filter(cluster=cluster).aggregate(count=Count("pk"), last=Max("taken_at"))
    key = (cluster.pk, seen["count"], seen["last"])
    return recall_answer("figures", key, lambda: _read_figures(cluster), most=4)


def _read_figures(cluster: Cluster) -> Figures:
    figures: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    rows = Processor.objects.filter(cluster=cluster)
    for node, resource, device, figure in rows.values_list("node", "resource", "device", "figure"):
        figures[node][resource][device] = figure
    return figures


def with_powers(cluster: Cluster, observation: Observation) -> Observation:
    """The observation with each node's figures in force; what the cluster itself tells (the simulator does) stays where
    nothing is measured."""
    figures = figures_by_device(cluster)
    if not figures:
        return observation
    nodes = tuple(_with_power(node, figures.get(node.name, {})) for node in observation.nodes)
    return replace(observation, nodes=nodes)


def _with_power(node: SnapshotNode, figures: Mapping[str, Mapping[int, float]]) -> SnapshotNode:
    powers = {
        resource: power
        for resource, by_device in figures.items()
        if (power := _power(resource, by_device, node.total.get(resource, 0))) is not None
    }
    return replace(node, power={**node.power, **powers}) if powers else node


def _power(resource: str, by_device: Mapping[int, float], count: int) -> Power | None:
    """None unless every processor has a figure."""
    if resource in BY_NODE:
        return by_device.get(0)
    if count == 0 or any(device not in by_device for device in range(count)):
        return None
    return tuple(by_device[device] for device in range(count))


def without_measurements(cluster: Cluster, observation: Observation) -> Observation:
    """The observation as the planner is to see it: what measures is on its way out, and waits for nothing."""
    named = {job.id for job in observation.jobs if job.name == MEASURE}
    ours = _our_jobs(cluster, named) if named else frozenset()
    if not ours:
        return observation
    return replace(observation, jobs=tuple(_leaving(observation.jobs, ours)))


def _our_jobs(cluster: Cluster, job_ids: Iterable[str]) -> frozenset[str]:
    """Those of some jobs that are measurements: anybody may call a job like that."""
    rows = Measurement.objects.filter(cluster=cluster, job_id__in=job_ids, submitted_at__isnull=False)
    return frozenset(rows.values_list("job_id", flat=True))


def _leaving(jobs: Iterable[ObservedJob], ours: frozenset[str]) -> Iterable[ObservedJob]:
    for job in jobs:
        if job.id not in ours:
            yield job
        elif job.state is JobState.RUNNING:
            yield replace(job, state=JobState.COMPLETING)
        elif job.state is not JobState.PENDING:
            yield job


def open_measurements(cluster: Cluster) -> list[Measurement]:
    """Those that are wished for or run, the oldest first."""
    return list(Measurement.objects.filter(cluster=cluster, state__in=OPEN_STATES).order_by("id"))


def running_measurements(cluster: Cluster) -> list[Measurement]:
    """Those that have a job."""
    rows = Measurement.objects.filter(cluster=cluster, state=MeasurementState.SUBMITTED)
    return list(rows.order_by("id"))


def rules_in_force(cluster: Cluster) -> list[MeasuringRule]:
    """Of the partitions that measure."""
    rows = MeasuringRule.objects.filter(enabled=True, partition__cluster=cluster)
    return list(rows.select_related("partition").order_by("partition__name"))


def processors_of(partition: Partition) -> list[Processor]:
    """The figures of a partition's processors, by node and device."""
    names = set(names_in(partition))
    rows = Processor.objects.filter(cluster=partition.cluster)
    return sorted((row for row in rows if row.node in names), key=lambda row: (natural(row.node), row.device))


def names_in(partition: Partition) -> list[str]:
    """The names of a partition's nodes: all that is needed of thousands, most of the time."""
    return [node.name for node in seen_nodes(partition.cluster) if partition.name in node.partitions]


def nodes_of(partition: Partition) -> list[Node]:
    """A partition's nodes, as they were last seen."""
    rows = Node.objects.filter(cluster=partition.cluster)
    return sorted(
        (row for row in rows if partition.name in row.partitions), key=lambda row: natural(row.name)
    )


class KnownFigure(NamedTuple):
    """What pages need of a processor's figure in force. A cluster has thousands, so this is no model."""

    pk: int
    node: str
    resource: str
    device: int
    figure: float
    before: float | None
    source: str
    taken_at: datetime


Figured = Processor | KnownFigure
"""A figure in force, whichever way it was read."""


def known_figures(cluster: Cluster, nodes: Collection[str]) -> list[KnownFigure]:
    """Those of some nodes, by device."""
    rows = Processor.objects.filter(cluster=cluster).order_by("device", "resource", "pk")
    return [KnownFigure(*row) for row in rows.values_list(*KnownFigure._fields) if row[1] in nodes]


@dataclass(frozen=True, slots=True)
class Outlier:
    """A processor far from its kind. `share`: by how much it is slower (above 0) or faster than the middle one;
    `siblings`: how many others there are."""

    processor: Figured
    share: float
    siblings: int

    @property
    def percent(self) -> int:
        """By how much, in percent."""
        return round(100 * abs(self.share))


@dataclass(frozen=True, slots=True)
class Kind:
    """The processors that one is compared with. `middle`: their middle figure; `siblings`: how many others."""

    middle: float
    siblings: int

    def share(self, figure: float) -> float:
        """By how much of the middle figure one is slower (above 0) or faster."""
        return figure / self.middle - 1


def kinds_of(cluster: Cluster) -> dict[str, dict[str, int]]:
    """By node, what it has: the models of its processors among it, where Slurm is told of them (`gpu:a100`)."""
    return dict(Node.objects.filter(cluster=cluster).values_list("name", "total"))


def kinds_among(processors: Iterable[Figured], totals: Mapping[str, Mapping[str, int]]) -> dict[int, Kind]:
    """By key of the processor, its kind: the same resource, of the same model, as many of them in a node. None for one
    with fewer than `FEWEST` of its kind."""
    alike: dict[tuple[str, ...], list[Figured]] = defaultdict(list)
    for each in processors:
        alike[_model(each.resource, totals.get(each.node, {}))].append(each)
    found = {}
    for rows in alike.values():
        if len(rows) >= FEWEST:
            kind = Kind(median(row.figure for row in rows), len(rows) - 1)
            found.update(dict.fromkeys((row.pk for row in rows), kind))
    return found


def _model(resource: str, total: Mapping[str, int]) -> tuple[str, ...]:
    models = sorted(name for name in total if name.startswith(f"{resource}:"))
    return resource, str(total.get(resource, 0)), *models


def outliers(processors: Sequence[Figured], totals: Mapping[str, Mapping[str, int]]) -> list[Outlier]:
    """Those that are far from the middle of their kind, the farthest first. `totals`: what each node has."""
    kinds = kinds_among(processors, totals)
    shares = ((each, kinds[each.pk].share(each.figure)) for each in processors if each.pk in kinds)
    found = [Outlier(each, share, kinds[each.pk].siblings) for each, share in shares if abs(share) > FAR]
    return sorted(found, key=lambda each: -abs(each.share))


def jumped(processor: Figured) -> bool:
    """Whether its last reading has moved its figure far from where it was."""
    return processor.before is not None and abs(processor.figure / processor.before - 1) > FAR


@dataclass(frozen=True, slots=True)
class JobSet:
    """How even the processors of a running job's nodes are, in seconds of the benchmark. `middle`: of all processors of
    that kind on the cluster. `units`: the compute units that its nodes are in, where all are in one."""

    resource: str
    fastest: float
    slowest: float
    middle: float
    units: Sequence[str] = ()

    @property
    def slower(self) -> int:
        """By how many percent a job that waits for its slowest processor is slower than on middle ones."""
        return max(0, round(100 * (self.slowest / self.middle - 1)))


def set_of(cluster: Cluster, partition: str, held: Mapping[str, Mapping[str, int]]) -> JobSet | None:
    """The set of a job by what it holds on each node; None for one processor, and where not all are measured."""
    several = {resource: nodes for resource, nodes in _held_on(held).items() if len(nodes) > 1}
    figures = figures_by_device(cluster) if several else {}
    for resource in sorted(several, key=by_worth):
        nodes = set(several[resource])
        known = [figures[node][resource] for node in nodes if resource in figures.get(node, {})]
        if len(known) == len(nodes):
            own = [figure for by_device in known for figure in by_device.values()]
            kind = [figure for node in figures.values() for figure in node.get(resource, {}).values()]
            units = units_of_job(cluster, partition, held)
            return JobSet(resource, min(own), max(own), median(kind), units)
    return None


def _held_on(held: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
    """By resource, the node of each processor that is measured by itself; memory is none."""
    found: dict[str, list[str]] = defaultdict(list)
    for node, part in held.items():
        for resource, amount in part.items():
            if resource != "mem":
                found[resource] += [node] * min(amount, 1 if resource in BY_NODE else amount)
    return found
