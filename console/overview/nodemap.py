"""The node map: per node a bar of its main resource, a segment per job in the colour of the job's level."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from console.cluster.models import Job, Node
from scheduler.model import words

DENSE_ABOVE = 48
"""With more nodes than this the map shows bars only, and each bar's jobs on hover."""
MOST_TICKS = 32
LISTED_JOBS = 3


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
    jobs: list[Job]
    free: str
    ticks: list[str] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many jobs the list leaves out."""
        return len(self.jobs) - len(self.listed)

    @property
    def listed(self) -> list[Job]:
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


def node_map(nodes: Iterable[Node], jobs: Iterable[Job], axis: str) -> list[NodeBar]:
    """The bars of all nodes; `jobs` hold something, `axis` is the level that colours them.

    Jobs of other partitions on shared nodes are not among `jobs`: their share is told as `held elsewhere`.
    """
    by_node: dict[str, list[Job]] = {}
    for job in jobs:
        for name in job.alloc:
            by_node.setdefault(name, []).append(job)
    return [_bar(node, by_node.get(node.name, []), axis) for node in nodes]


def _rank(job: Job, axis: str) -> tuple[bool, int, str]:
    index = getattr(job, axis)
    return (index is None, index or 0, job.job_id)


def _bar(node: Node, jobs: list[Job], axis: str) -> NodeBar:
    resource = main_resource(node.total)
    total = node.total.get(resource, 0)
    jobs = sorted(jobs, key=lambda job: _rank(job, axis))
    used = min(node.used.get(resource, 0), total)
    return NodeBar(
        node=node,
        resource=resource,
        total=total,
        used=used,
        segments=_segments(node.name, jobs, axis, resource, total, used),
        jobs=jobs,
        free=_free(node),
        ticks=[share(unit, total) for unit in range(1, total)] if total <= MOST_TICKS else [],
    )


def _segments(
    node: str, jobs: Iterable[Job], axis: str, resource: str, total: int, used: int
) -> list[Segment]:
    result: list[Segment] = []
    at = 0
    for job in jobs:
        width = min(job.alloc[node].get(resource, 0), total - at)
        if width > 0:
            label = f"{job.job_id} {job.name} {job.user} ({width} {resource})"
            result.append(Segment(at, share(at, total), share(width, total), getattr(job, axis), label))
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
