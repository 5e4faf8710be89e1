"""`observe()`: four cheap calls, and further ones only for jobs that those do not tell exactly.

`scontrol show config` every few minutes: what counts as a resource here, and slurmctld's clock; with it `show topology`
where there may be one, once more for each that a partition has of its own. Then each time
`scontrol show nodes`, `show partitions`, `show reservations` and squeue, in this order: a job that starts in between is
then seen on its nodes rather than missed. Only when some job's share is not told there is one more, of what slurmctld
has given out of each node (`untold`).

What does not decode concerns only the job, node, partition or reservation that it is told of: see `queue`, `nodes`,
`reservations`. A fault is what makes the answer as a whole unfit to be believed.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from scheduler.adapters.slurm import config as configs
from scheduler.adapters.slurm import licenses, nodes, reservations, tiers, topology, untold, values
from scheduler.adapters.slurm.allowed import is_topology
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.config import Config
from scheduler.adapters.slurm.errors import SlurmOutputError
from scheduler.adapters.slurm.placing import BeginMarks
from scheduler.adapters.slurm.queue import QueueReader
from scheduler.adapters.slurm.requests import own_limit
from scheduler.adapters.slurm.reservations import SlurmReservation
from scheduler.adapters.slurm.shapes import ClusterShape
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition

CONFIG_S = 300
"""How long the configuration is believed."""
MACHINES_S = 15
"""How long nodes, partitions and reservations are, by a quick look: two requests to slurmctld instead of six."""


@dataclass(slots=True)
class _Machines:
    """Nodes, partitions and reservations. `odd_nodes` do not decode: nothing is planned on them."""

    nodes: list[SnapshotNode] = field(default_factory=list)
    odd_nodes: list[SnapshotNode] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    partitions: list[ObservedPartition] = field(default_factory=list)
    exclusive: set[str] = field(default_factory=set)
    sharing: set[str] = field(default_factory=set)
    tiers: dict[str, int] = field(default_factory=dict)
    reservations: list[SlurmReservation] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    boots: dict[str, int] = field(default_factory=dict)

    def untrustworthy(self) -> Iterator[str]:
        """Why what is told of the machines cannot be believed as a whole."""
        if len(self.odd_nodes) > len(self.nodes):
            yield f"most nodes are not understood: {self.odd_nodes[0].state_reason}"
        for kind, names in (
            ("node", [node.name for node in (*self.nodes, *self.odd_nodes)]),
            ("partition", [partition.name for partition in self.partitions]),
        ):
            if not all(names) or len(set(names)) != len(names):
                yield f"scontrol tells of the same {kind} twice, or of one without a name"

    def room(self, config: Config) -> ClusterShape:
        """What jobs' shapes depend on. The difference of the clocks and the facts for people are not part of it."""
        return ClusterShape(
            config=replace(config, skew_s=0, facts=None),
            totals={node.name: node.total for node in self.nodes},
            of_partition={partition.name: partition.nodes for partition in self.partitions},
            exclusive=frozenset(self.exclusive),
            sharing=frozenset(self.sharing),
            # Cores of different kinds: the smallest rounding is right everywhere.
            threads=min(self.threads, default=1) if config.by_core else 1,
        )


@dataclass(slots=True)
class Reader:
    """Reads a cluster. One thread at a time."""

    runner: CommandRunner
    clock: Callable[[], float] = time.time
    _queue: QueueReader = field(init=False)
    _marks: BeginMarks = field(init=False)
    _config: Config | None = field(default=None, init=False)
    _config_at: float = field(default=0.0, init=False)
    _units: dict[str, Mapping[str, str]] = field(default_factory=dict, init=False)
    _room: ClusterShape | None = field(default=None, init=False)
    _seen: _Machines | None = field(default=None, init=False)
    _seen_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._queue = QueueReader(self.runner, self.clock)
        self._marks = BeginMarks(self.runner)

    def config(self) -> Config:
        """The configuration, at most `CONFIG_S` old. Raises `SlurmUnavailableError`."""
        now = self.clock()
        if self._config is None or not 0 <= now - self._config_at < CONFIG_S:
            self._config = self.fresh_config()
            self._config_at = now
            self._units = {}
            self.runner.limit = own_limit(self._config.facts or {})
        return self._config

    def fresh_config(self) -> Config:
        """The configuration as it is now. Raises `SlurmUnavailableError`."""
        before = self.clock()
        out = self.runner.ask("scontrol", "--all", "show", "config")
        asked = (before, self.clock())
        try:
            taken = values.moment(configs.taken_word(out))
            return configs.decode(out, asked, taken)
        except ValueError as error:
            raise SlurmOutputError(f"scontrol: {error}") from error

    def forget_machines(self) -> None:
        """Something was done to reservations or nodes: the next look reads them."""
        self._seen = None

    def observe(self, name: str | None = None, *, quick: bool = False) -> Observation:
        """The whole cluster, under its own name if no other is given. `quick`: machines may be `MACHINES_S` old.

        Raises `SlurmUnavailableError` when it cannot be read at all.
        """
        config = self.config()
        kept = self._seen if quick and 0 <= self.clock() - self._seen_at < MACHINES_S else None
        self._seen = None
        machines = kept or self._machines(config)
        room = machines.room(config)
        if room != self._room:
            self._queue.forget()
            self._room = room
        taken_at = int(self.clock()) + config.skew_s
        found = self._queue.read(room)
        seen = machines.nodes
        if found.untold:
            given = dict(map(untold.given_out, self._records("nodes", "NodeName", "--details")))
            seen = untold.taken(seen, found.jobs, found.untold, given)
        limited = reservations.respect(found.jobs, machines.reservations, room.of_partition, taken_at)
        limited = tiers.respect(limited, machines.tiers, room.of_partition, room.totals, taken_at)
        limited = licenses.respect(limited, lambda: licenses.free(self._records("licenses", "LicenseName")))
        self._seen, self._seen_at = machines, self._seen_at if kept else self.clock()
        return Observation(
            cluster=name or config.cluster,
            taken_at=taken_at,
            nodes=(*seen, *machines.odd_nodes),
            partitions=tuple(machines.partitions),
            jobs=tuple(self._marks.told(limited, taken_at)),
            faults=(*machines.faults, *found.faults),
            kept=reservations.kept_by_us(machines.reservations, found.jobs, taken_at),
            boots=machines.boots,
            is_quick=kept is not None,
        )

    def _machines(self, config: Config) -> _Machines:
        machines = _Machines()
        units = self._topology() if topology.may_be_told(config.topology, config.version) else {}
        for record in self._records("nodes", "NodeName"):
            try:
                node, threads = nodes.decode_node(record, config)
            except (ValueError, KeyError) as error:
                machines.odd_nodes.append(nodes.odd_node(record, error))
                continue
            unit = units.get(node.name)
            machines.nodes.append(replace(node, unit=unit) if unit else node)
            machines.boots.update(nodes.boot_of(node.name, record))
            machines.threads.add(threads)
        for record in self._records("partitions", "PartitionName"):
            try:
                partition, exclusive, own = nodes.decode_partition(record)
                if own:
                    partition = replace(partition, units=self._topology(own))
            except (ValueError, KeyError):
                partition, exclusive = nodes.odd_partition(record), False
            machines.partitions.append(partition)
            machines.exclusive.update({partition.name} if exclusive else ())
            machines.tiers[partition.name] = nodes.tier(record)
            machines.sharing.update({partition.name} if nodes.shares_cpus(record) else ())
        machines.reservations = [
            reservations.decode(record) for record in self._records("reservations", "ReservationName")
        ]
        machines.nodes = reservations.free_of_ours(machines.nodes, machines.reservations)
        machines.faults = list(machines.untrustworthy())
        return machines

    def _topology(self, name: str = "") -> Mapping[str, str]:
        """The unit of each node, in the cluster's topology or in one that a partition names. As old as the
        configuration at most. What is refused or not understood costs nearness, nothing else."""
        if name not in self._units:
            if name and not is_topology(name):
                return {}
            named = (name,) if name else ()
            answer = self.runner.run("scontrol", "--oneliner", "--all", "show", "topology", *named)
            if answer.code != 0:
                return {}
            self._units[name] = topology.units(answer.out)
        return self._units[name]

    def _records(self, what: str, key: str, *options: str) -> list[str]:
        out = self.runner.ask("scontrol", "--oneliner", *options, "--all", "show", what)
        try:
            return nodes.records(out, key)
        except ValueError as error:
            raise SlurmOutputError(f"scontrol: {error}") from error
