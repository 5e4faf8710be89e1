"""One look at the cluster, as the `Cluster` port returns it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from scheduler.model.jobs import ObservedJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.resources import INNER, Amounts


@dataclass(frozen=True, slots=True)
class ObservedPartition:
    """A partition of the cluster: name, Slurm's state word (`UP`, `DOWN`, `DRAIN`, `INACTIVE`) and nodes.

    `units`: the compute units of its nodes where it sees the network in its own way; None: each node's `unit` counts.
    `cpus_per_node`: so many CPUs of a node its jobs may have together (`MaxCPUsPerNode`); None: all.
    """

    name: str
    state: str = "UP"
    nodes: tuple[str, ...] = ()
    units: Mapping[str, str] | None = None
    cpus_per_node: int | None = None

    @property
    def limited(self) -> str:
        """The CPUs of a node that its jobs may have together, as a resource of the node."""
        return f"{INNER}cpu.{self.name}"

    def seen(self, node: SnapshotNode) -> SnapshotNode:
        """One of its nodes as it is to be planned here."""
        if self.units is None or self.units.get(node.name) == node.unit:
            return node
        return replace(node, unit=self.units.get(node.name))


@dataclass(frozen=True, slots=True)
class KeptNodes:
    """Nodes that Giveway has asked to be kept for a job (`ActionKind.KEEP`), until an epoch second.

    `inside`: whether it may have them, or only its next run.
    """

    job_id: str
    nodes: tuple[str, ...]
    until: int
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything seen at one moment. `taken_at` is the cluster's clock, epoch seconds.

    `faults` lists in words what could not be read or decoded. An observation with faults is *degraded*:
    it may be shown, but nothing may be planned on it (design, "One job's way", step 2).
    `kept`: what is kept at Giveway's wish; jobs are told as if it were not, for it is planned anew in each cycle.
    `is_quick`: nodes, partitions and reservations are those of a look some seconds ago (`ClusterPort.observe`).
    `boots`: by node, when it was booted (epoch seconds), where that is told; for the console, nothing is planned by it.
    """

    cluster: str
    taken_at: int
    nodes: tuple[SnapshotNode, ...] = ()
    partitions: tuple[ObservedPartition, ...] = ()
    jobs: tuple[ObservedJob, ...] = ()
    faults: tuple[str, ...] = ()
    kept: tuple[KeptNodes, ...] = ()
    boots: Mapping[str, int] = field(default_factory=dict)
    is_quick: bool = False
    _by_id: dict[str, ObservedJob] = field(default_factory=dict, init=False, repr=False, compare=False)
    _planned: list["Observation"] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def jobs_by_id(self) -> Mapping[str, ObservedJob]:
        """The jobs by their ids; made once, when first asked for."""
        if not self._by_id:
            self._by_id.update({job.id: job for job in self.jobs})
        return self._by_id

    @property
    def planned(self) -> "Observation":
        """The same with what is only planned with among the amounts of nodes and jobs; made once, when first asked for.
        Mostly itself."""
        if not self._planned:
            self._planned.append(_with_inner(self))
        return self._planned[0]

    @property
    def degraded(self) -> bool:
        """Whether something could not be observed, so that nothing may be planned."""
        return bool(self.faults)


def _with_inner(observation: Observation) -> Observation:
    limited = {each.name: each for each in observation.partitions if each.cpus_per_node is not None}
    if not limited and not any(node.inner for node in observation.nodes):
        return observation
    limits_on: dict[str, list[ObservedPartition]] = {}
    for each in limited.values():
        for name in each.nodes:
            limits_on.setdefault(name, []).append(each)

    def node_of(node: SnapshotNode) -> SnapshotNode:
        most = {
            each.limited: min(each.cpus_per_node or 0, node.total.get("cpu", 0))
            for each in limits_on.get(node.name, ())
        }
        return replace(node, total={**node.total, **node.inner, **most}, inner={})

    def share_of(job: ObservedJob, name: str, share: Amounts) -> Amounts:
        own = {limited[each].limited: share.get("cpu", 0) for each in job.partitions if each in limited}
        return {**share, **job.inner.get(name, {}), **own}

    return replace(
        observation,
        nodes=tuple(map(node_of, observation.nodes)),
        jobs=tuple([
            replace(job, alloc={name: share_of(job, name, share) for name, share in job.alloc.items()}, inner={})
            if job.alloc
            else job
            for job in observation.jobs
        ]),
    )  # fmt: skip


class Resizing(StrEnum):
    """A way in which a cluster gives a job fewer nodes than it has had."""

    RESTART = "restart"
    """`ActionKind.RESIZE`, between a requeue and a release."""
    IN_PLACE = "in_place"
    """`ActionKind.SHRINK`, as often as wished."""
    IN_PLACE_ONCE = "in_place_once"
    """The same, once in a run; it is refused from then on."""


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What `describe()` tells: the cluster's own name, its kind and version, further facts for people, and in which
    ways it can give jobs fewer nodes: an action of another way is refused."""

    name: str
    kind: str
    version: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    resizing: frozenset[Resizing] = frozenset()


@dataclass(frozen=True, slots=True)
class Glance:
    """What tells cheaply that something happened on a cluster: two glances that are `same` saw nothing happen.

    `submitted` and `changed` are counters, which may begin anew. `answer_s`: how long the cluster took to answer a
    request of each kind, on average, where it tells that.
    """

    submitted: int
    changed: tuple[int, ...] = ()
    answer_s: Mapping[str, float] = field(default_factory=dict)

    def same(self, other: "Glance") -> bool:
        """Whether nothing that is counted has happened between the two."""
        return (self.submitted, self.changed) == (other.submitted, other.changed)


@dataclass(slots=True)
class RequestUse:
    """What was asked of a cluster within some time, by kind: how often, and how long the answers took here.

    `limited`: how often the cluster made us wait because we had asked too often.
    """

    requests: Counter[str] = field(default_factory=Counter)
    took_s: dict[str, float] = field(default_factory=dict)
    limited: int = 0
