"""The node map: per node a bar of its main resource, a segment per job in the colour of the job's level."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import QuerySet

from console.cluster.models import Job, Node
from scheduler.model import words
from scheduler.model.jobs import Level

DENSE_ABOVE = 48
"""With more nodes than this the map shows bars only, and each bar's jobs on hover."""
NODES_PER_PAGE = 120
MOST_TICKS = 32
LISTED_JOBS = 3


class HeldJob(NamedTuple):
    """What the map needs of a running job: thousands are read for it, so no more than this."""

    job_id: str
    name: str
    user: str
    level: Level
    alloc: Mapping[str, Mapping[str, int]]


def held_jobs(jobs: QuerySet[Job], axis: str) -> list[HeldJob]:
    """Jobs that hold something; `axis` is the level that colours them. One query."""
    rows = jobs.order_by().values_list("job_id", "name", "user", axis, "alloc")
    return [HeldJob(*row) for row in rows.iterator(chunk_size=2000)]


def share(part: float, whole: float) -> str:
    """A share as SVG takes it, the same in every language: `12.5%`."""
    return f"{100 * part / whole:.5g}%" if whole else "0%"


@dataclass(frozen=True, slots=True)
class Segment:
    """A job's share of a node's bar: `start` in units of the resource, `x` and `w` as SVG takes them."""

    start: int
    x: str
    w: str
    level: int | None
    label: str


@dataclass(frozen=True, slots=True)
class NodeBar:
    """One node. `ticks` are the borders of single units, when there are few enough to be told apart."""

    node: Node
    resource: str
    total: int
    used: int
    segments: list[Segment]
    jobs: list[HeldJob]
    free: str
    ticks: list[str] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many jobs the list leaves out."""
        return len(self.jobs) - len(self.listed)

    @property
    def listed(self) -> list[HeldJob]:
        """The jobs that are named under the bar."""
        limit = LISTED_JOBS if len(self.jobs) <= LISTED_JOBS else LISTED_JOBS - 1
        return self.jobs[:limit]

    @property
    def summary(self) -> str:
        """The bar in words: for its label and on hover."""
        held = "; ".join(segment.label for segment in self.segments)
        state = "" if self.node.up else f", {self.node.state.lower()}"
        text = f"{self.node.name}{state}: {self.used} of {self.total} {self.resource} busy"
        return f"{text}: {held}" if held else text


def main_resource(total: Mapping[str, int]) -> str:
    """GPUs where there are any, else NPUs, else CPUs."""
    return next((name for name in ("gpu", "npu", "cpu") if total.get(name)), "cpu")


def node_map(nodes: Collection[Node], jobs: Iterable[HeldJob]) -> list[NodeBar]:
    """The bars of some nodes.

    Jobs of other partitions on shared nodes are not among `jobs`: their share is told as `held elsewhere`.
    """
    by_node: dict[str, list[HeldJob]] = {node.name: [] for node in nodes}
    for job in jobs:
        for name in job.alloc:
            if name in by_node:
                by_node[name].append(job)
    ticked = len(nodes) <= DENSE_ABOVE
    return [_bar(node, by_node[node.name], ticked=ticked) for node in nodes]


def _rank(job: HeldJob) -> tuple[bool, int, str]:
    return (job.level is None, job.level or 0, job.job_id)


def _bar(node: Node, jobs: list[HeldJob], *, ticked: bool) -> NodeBar:
    resource = main_resource(node.total)
    total = node.total.get(resource, 0)
    jobs.sort(key=_rank)
    used = min(node.used.get(resource, 0), total)
    return NodeBar(
        node=node,
        resource=resource,
        total=total,
        used=used,
        segments=_segments(node.name, jobs, resource, total, used),
        jobs=jobs,
        free=_free(node),
        ticks=[share(unit, total) for unit in range(1, total)] if ticked and total <= MOST_TICKS else [],
    )


def _segments(node: str, jobs: Iterable[HeldJob], resource: str, total: int, used: int) -> list[Segment]:
    result: list[Segment] = []
    at = 0
    for job in jobs:
        width = min(job.alloc[node].get(resource, 0), total - at)
        if width > 0:
            label = f"{job.job_id} {job.name} {job.user} ({width} {resource})"
            result.append(Segment(at, share(at, total), share(width, total), job.level, label))
            at += width
    if used > at:
        label = f"held elsewhere ({used - at} {resource})"
        result.append(Segment(at, share(at, total), share(used - at, total), None, label))
    return result


def _free(node: Node) -> str:
    if not node.up:
        return node.state.lower()
    free = {name: amount - node.used.get(name, 0) for name, amount in node.total.items() if ":" not in name}
    shown = {name: amount for name, amount in free.items() if amount > 0 and name != "mem"}
    return f"{words.amounts(shown)} free" if shown else "full"
