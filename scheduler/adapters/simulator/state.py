"""The whole state of a simulated cluster as plain data: nodes, partitions, jobs, the clock, faults."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from scheduler.adapters.simulator.faults import Faults
from scheduler.adapters.simulator.jobs import SimJob
from scheduler.model.endings import Ending
from scheduler.model.jobs import JobState
from scheduler.model.resources import Amounts


class SimNodeState(StrEnum):
    """What an administrator, or a breakdown, has made of a node."""

    UP = "up"
    DRAIN = "drain"
    DOWN = "down"


@dataclass(slots=True)
class SimNode:
    """One machine. `total` names a typed resource under both names (`gpu`, `gpu:a100`)."""

    name: str
    total: Amounts
    features: frozenset[str] = frozenset()
    state: SimNodeState = SimNodeState.UP
    reason: str = ""
    unit: str | None = None
    power: dict[str, float] = field(default_factory=dict)
    health: float = 1.0


@dataclass(slots=True)
class SimPartition:
    """A partition. Jobs start in it only while `state` is `UP`; partitions may share nodes."""

    name: str
    nodes: tuple[str, ...]
    state: str = "UP"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How this cluster behaves, in seconds. Slurm's own delay after a requeue is 121 s."""

    completing_s: int = 1
    requeue_delay_s: int = 121
    base_priority: int = 1000


@dataclass(slots=True)
class StreamState:
    """How far a stream of arrivals has come: `count` arrivals so far, the next one at `next_at`."""

    count: int
    next_at: int


@dataclass(frozen=True, slots=True)
class SimKept:
    """Nodes that only one job gets until a moment, as with a reservation of Slurm's. `inside`: whether it gets them
    already, or was to run first."""

    nodes: tuple[str, ...]
    until: int
    inside: bool = True


class What(StrEnum):
    """What can happen to a job, as the cluster's own record names it."""

    STARTED = "started"
    SIGNALLED = "signalled"
    SAVED = "saved"
    """A checkpoint is finished, and the job's comment says so."""
    STOPPED = "stopped"
    """Ended before its time and put back into the queue, by an action."""
    RECOVERED = "recovered"
    CANCELLED = "cancelled"
    """Ended, or taken out of the queue, by an action or its user."""
    ENDED = "ended"
    """By itself, by its time limit, or by a signal that it does not catch."""
    REQUEUED = "requeued"
    """By the cluster: its node broke down."""
    HELD = "held"
    RELEASED = "released"
    SHRUNK = "shrunk"
    """It has given nodes back and goes on."""


class Happening(NamedTuple):
    """One line of the cluster's own record: what happened to which run of which job, and on how many nodes it is.

    Kept whoever did it.
    """

    at: int
    what: What
    job: str
    start: int
    restarts: int
    nodes: int = 0


@dataclass(slots=True)
class SimState:
    """Everything there is. `now` is epoch seconds; `changed`: a scheduling pass is due.

    Ended jobs are forgotten at once, so the state stays as small as the queue; `killed` are the last few that a
    signal ended, which Slurm, too, remembers for a while and would still requeue; `endings` are how the last few ended.
    `kept`: by job, the nodes that only it gets.
    """

    name: str
    now: int
    nodes: dict[str, SimNode]
    partitions: dict[str, SimPartition]
    behaviour: Behaviour = field(default_factory=Behaviour)
    jobs: dict[str, SimJob] = field(default_factory=dict)
    killed: dict[str, SimJob] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    next_id: int = 1
    changed: bool = False
    seed: int = 0
    streams: dict[str, StreamState] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    kept: dict[str, SimKept] = field(default_factory=dict)
    record: list[Happening] = field(default_factory=list, compare=False)
    """What happened since somebody took the record away; not part of the state."""

    def note(self, what: What, job: SimJob) -> None:
        """Put down what happens to the present run of a job."""
        self.record.append(Happening(self.now, what, job.id, job.start or 0, job.restarts, len(job.alloc)))

    def in_state(self, *states: JobState) -> Iterator[SimJob]:
        """Jobs in one of the states, in the order of their submission."""
        return (job for job in self.jobs.values() if job.state in states)

    def kept_nodes(self, job_id: str) -> frozenset[str]:
        """The nodes that are kept for a job now, and that it may have."""
        kept = self.kept.get(job_id)
        return self._kept(kept) if kept is not None and kept.inside else frozenset()

    def kept_for_others(self, job_id: str) -> frozenset[str]:
        """The nodes that a job does not get because they are kept for others now."""
        return frozenset().union(
            *(self._kept(kept) for other, kept in self.kept.items() if other != job_id or not kept.inside)
        )

    def _kept(self, kept: SimKept) -> frozenset[str]:
        return frozenset(kept.nodes) if self.now < kept.until else frozenset()

    def nodes_of(self, partition: str) -> list[SimNode]:
        """A partition's nodes in its own order."""
        return [self.nodes[name] for name in self.partitions[partition].nodes]
