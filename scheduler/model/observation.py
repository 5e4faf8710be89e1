"""One look at the cluster, as the `Cluster` port returns it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model.jobs import ObservedJob
from scheduler.model.nodes import SnapshotNode


@dataclass(frozen=True, slots=True)
class ObservedPartition:
    """A partition of the cluster: name, Slurm's state word (`UP`, `DOWN`, `DRAIN`, `INACTIVE`) and nodes."""

    name: str
    state: str = "UP"
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything seen at one moment. `taken_at` is the cluster's clock, epoch seconds.

    `faults` lists in words what could not be read or decoded. An observation with faults is *degraded*:
    it may be shown, but nothing may be planned on it (design, "One job's way", step 2).
    """

    cluster: str
    taken_at: int
    nodes: tuple[SnapshotNode, ...] = ()
    partitions: tuple[ObservedPartition, ...] = ()
    jobs: tuple[ObservedJob, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def degraded(self) -> bool:
        """Whether something could not be observed, so that nothing may be planned."""
        return bool(self.faults)


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What `describe()` tells: the cluster's own name, its kind and version, and further facts for people."""

    name: str
    kind: str
    version: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
