"""`observe()`: four cheap calls, and further ones only for jobs that those do not tell exactly.

`scontrol show config` every few minutes: what counts as a resource here, and slurmctld's clock; with it `show topology`
where there may be one, once more for each that a partition has of its own. Then each time
`scontrol show nodes`, `show partitions`, `show reservations` and squeue, in this order: a job that starts in between is
then seen on its nodes rather than missed. Only when some job's share is not told there is one more, of what slurmctld
has given out of each node (`untold`).

What does not decode concerns only the job, node, partition or reservation that it is told of: see `queue`, `nodes`,
`reservations`. A fault is what makes the answer as a whole unfit to be believed.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduler.adapters.slurm import config as configs
from scheduler.adapters.slurm import nodes, reservations, untold, values
from scheduler.adapters.slurm.allowed import is_topology
from scheduler.adapters.slurm.cards import PLAIN, PLENTY
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.config import Config
from scheduler.adapters.slurm.errors import SlurmOutputError
from scheduler.adapters.slurm.nodes import NodeLayout, PartitionLimits
from scheduler.adapters.slurm.placing import BeginMarks
from scheduler.adapters.slurm.queue import QueueReader
from scheduler.adapters.slurm.requests import own_limit
from scheduler.adapters.slurm.reservations import SlurmReservation
from scheduler.adapters.slurm.shapes import ClusterShape
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.model.resources import Amounts, covers, total

# --- Licences: a pending job that wants more of one than is free would not start, whatever room is made for it.
# Slurm says "Licenses" only of a job that it has just tried to start.


_WORD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")
_BETWEEN = re.compile("[,;|]")


def decode(record: str) -> tuple[str, int]:
    """A record of `scontrol --oneliner show licenses`: name, and how many are free and not reserved.

    Raises ValueError, KeyError when it does not decode.
    """
    words: dict[str, str] = dict(_WORD.findall(record))
    return words["LicenseName"], values.number(words["Free"]) - values.number(words.get("Reserved", "0"))


def free_licenses(records: Iterable[str]) -> dict[str, int]:
    """How many are free, by name. Of a licence whose record does not decode there is none."""
    left: dict[str, int] = {}
    for record in records:
        try:
            name, count = decode(record)
        except (ValueError, KeyError):
            continue  # no record, no licence: whoever wants one of these waits
        left[name] = count
    return left


def wanted(text: str) -> dict[str, int]:
    """`matlab:2,stata` as amounts. Of alternatives (`a|b`) all count: stricter than Slurm, never looser."""
    amounts: dict[str, int] = {}
    for part in _BETWEEN.split(text) if text else ():
        name, _, count = part.partition(":")
        amounts[name] = amounts.get(name, 0) + values.number(count or "1")
    return amounts


def respect_licenses(jobs: Sequence[ObservedJob], free: Callable[[], Mapping[str, int]]) -> list[ObservedJob]:
    """The jobs, with those marked that wait for licences. `free` is asked only when somebody wants some."""
    if not any(job.licenses and job.state is JobState.PENDING for job in jobs):
        return list(jobs)
    left = free()
    return [_waiting(job, left) if job.state is JobState.PENDING else job for job in jobs]


def _waiting(job: ObservedJob, free: Mapping[str, int]) -> ObservedJob:
    try:
        wish = wanted(job.licenses)
    except ValueError:
        why = f"its licences {job.licenses[:40]} are not understood"
        return replace(job, unplannable=job.unplannable or why)
    for name, count in wish.items():
        if count > free.get(name, 0):
            why = f"it waits for licences ({name[:40]})"
            return replace(job, unplannable=job.unplannable or why)
    return job


# --- Partitions of different PriorityTier over the same nodes: whoever waits in a higher one is served first, whatever
# place in line others have.
#
# Slurm goes through all jobs of the higher tier before it looks at those of a lower one, and keeps the nodes of a
# partition whose job it could not start from everybody after it. So room that is made on such nodes for a job of a
# lower tier goes to the other one, and somebody was stopped in vain (tried on 26.05.5).
#
# 1. A job that waits for nothing but room keeps the nodes that it may use from all jobs of lower tiers.
# 2. A job in several partitions counts with the highest of their tiers.


LOWEST = 1
_FOR_ROOM = frozenset({"", "none", "resources", "priority"})

Tiers = Mapping[str, int]
Nodes = Mapping[str, Sequence[str]]


def respect_tiers(
    jobs: Sequence[ObservedJob], tiers: Tiers, nodes: Nodes, totals: Mapping[str, Amounts], now: int
) -> list[ObservedJob]:
    """The jobs, waiting ones limited to the nodes for which nobody of a higher tier waits. `nodes`: of partitions;
    `totals`: what nodes have in all."""
    if len(set(tiers.values())) < 2:
        return list(jobs)
    wanted: dict[int, set[str]] = {}
    for job in jobs:
        if _waits_for_room(job, now):
            wanted.setdefault(_tier(job, tiers), set()).update(_usable(job, nodes))
    return [
        _limited(job, _usable(job, nodes), _above(job, tiers, wanted), totals)
        if job.state is JobState.PENDING
        else job
        for job in jobs
    ]


def _tier(job: ObservedJob, tiers: Tiers) -> int:
    return max((tiers.get(name, LOWEST) for name in job.partitions), default=LOWEST)


def _waits_for_room(job: ObservedJob, now: int) -> bool:
    waits = job.state is JobState.PENDING and not (job.held or job.dependency)
    return waits and (job.eligible or 0) <= now and job.slurm_reason.strip("()").lower() in _FOR_ROOM


def _usable(job: ObservedJob, nodes: Nodes) -> set[str]:
    """The nodes that a pending job may use, as far as its request tells."""
    there = {name for partition in job.partitions for name in nodes.get(partition, ())}
    if job.request is None:
        return there
    there -= job.request.not_nodes
    return there & job.request.only_nodes if job.request.only_nodes else there


def _above(job: ObservedJob, tiers: Tiers, wanted: Mapping[int, Iterable[str]]) -> set[str]:
    """The nodes that are wanted in tiers above the job's."""
    own = _tier(job, tiers)
    return set().union(*(names for tier, names in wanted.items() if tier > own))


def _limited(
    job: ObservedJob, usable: set[str], above: set[str], totals: Mapping[str, Amounts]
) -> ObservedJob:
    request, taken = job.request, usable & above
    if request is None or not taken:
        return job
    could_be = _could_be(request, usable - taken, totals)
    why = "" if could_be else "jobs of a higher PriorityTier wait for nodes that it could use"
    return replace(
        job,
        request=replace(request, not_nodes=request.not_nodes | taken),
        unplannable=job.unplannable or why,
    )


def _could_be(request: Request, left: set[str], totals: Mapping[str, Amounts]) -> bool:
    """Whether what is left of its nodes could hold it: else it is for now that it cannot start, not for ever."""
    if request.nodes:
        return sum(covers(totals.get(name, {}), request.per_node) for name in left) >= request.nodes
    return covers(total(totals.get(name, {}) for name in left), request.spread)


# --- `scontrol show topology` decoded: which leaf switch a node hangs on, or which block it is in
# (`SnapshotNode.unit`).
# Nodes of one unit talk fast. Trees of switches (topology/tree) are told in the same words on 22.05, 24.11 and 26.05,
# blocks (topology/block) on the latter two. From 25.05 on topology.yaml may name several: the answer is then the
# cluster's own, and that of a partition is asked for by its name. `TopologyPlugin` does not tell of that file, so a
# release that reads it is asked whatever the plugin is. With any other plugin, or none, every node is as near as any
# other.


PLUGINS = frozenset({"topology/tree", "topology/block"})
_FIRST_WITH_FILE = (25, 5)
_WORD_TOPOLOGY = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")
_RELEASE = re.compile(r"(\d+)\.(\d+)")


def may_be_told(plugin: str, version: str) -> bool:
    """Whether a cluster with this plugin and release can have units."""
    release = _RELEASE.match(version)
    return plugin in PLUGINS or (
        release is not None and (int(release[1]), int(release[2])) >= _FIRST_WITH_FILE
    )


def units_of_topology(out: str) -> dict[str, str]:
    """By node, its leaf switch or its block. A node of two is in neither; one that does not decode has no nodes.

    Switches above the leaves and blocks of blocks are no units.
    """
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name, names in _leaves(out):
        twice.update(found.keys() & set(names))
        found.update(dict.fromkeys(names, name))
    return {name: unit for name, unit in found.items() if name not in twice}


def _leaves(out: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    whole = out[: out.rfind("\n") + 1]  # What comes after was cut off.
    for line in whole.splitlines():
        words: dict[str, str] = dict(_WORD_TOPOLOGY.findall(line))
        name = _leaf(line, words)
        try:
            nodes = values.nodes(words.get("Nodes", ""))
        except ValueError:
            continue
        if name:
            yield name, nodes


def _leaf(line: str, words: Mapping[str, str]) -> str:
    if line.startswith("SwitchName=") and words.get("Level") == "0":
        return words["SwitchName"]
    return words["BlockName"] if line.startswith("BlockName=") else ""


CONFIG_S = 300
"""How long the configuration is believed."""
MACHINES_S = 15
"""How long nodes, partitions and reservations are, by a quick look: two requests to slurmctld instead of six."""


@dataclass(slots=True)
class _Machines:
    """Nodes, partitions and reservations. `odd_nodes` do not decode: nothing is planned on them."""

    nodes: list[SnapshotNode] = field(default_factory=list)
    odd_nodes: list[SnapshotNode] = field(default_factory=list)
    layouts: dict[str, NodeLayout] = field(default_factory=dict)
    limits: dict[str, PartitionLimits] = field(default_factory=dict)
    partitions: list[ObservedPartition] = field(default_factory=list)
    exclusive: set[str] = field(default_factory=set)
    sharing: set[str] = field(default_factory=set)
    may_share: set[str] = field(default_factory=set)
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
            may_share=frozenset(self.may_share),
            layouts=dict(self.layouts),
            limits=dict(self.limits),
            largest_unit=max(Counter(node.unit for node in self.nodes if node.unit).values(), default=0),
            active={node.name: node.features for node in self.nodes if node.up},
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
            # Which cards they hold is not told either.
            odd = {name for one in found.untold for name in one.nodes or (node.name for node in seen)}
            seen = [replace(node, inner={}) if node.name in odd else node for node in seen]
        limited = reservations.respect(found.jobs, machines.reservations, room.of_partition, taken_at)
        limited = respect_tiers(limited, machines.tiers, room.of_partition, room.totals, taken_at)
        limited = respect_licenses(limited, lambda: free_licenses(self._records("licenses", "LicenseName")))
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
        units = self._topology() if may_be_told(config.topology, config.version) else {}
        for record in self._records("nodes", "NodeName"):
            try:
                node, layout = nodes.decode_node(record, config)
            except (ValueError, KeyError) as error:
                machines.odd_nodes.append(nodes.odd_node(record, error))
                continue
            unit = units.get(node.name)
            machines.nodes.append(replace(node, unit=unit) if unit else node)
            machines.boots.update(nodes.boot_of(node.name, record))
            machines.layouts[node.name] = layout
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
            machines.limits[partition.name] = nodes.limits(record)
            machines.sharing.update({partition.name} if nodes.shares_cpus(record) else ())
            machines.may_share.update({partition.name} if nodes.shares_cpus(record, "YES") else ())
        machines.reservations = [
            reservations.decode(record) for record in self._records("reservations", "ReservationName")
        ]
        if any(layout.cards for layout in machines.layouts.values()):
            machines.nodes = [
                replace(node, inner={PLAIN: PLENTY}) if node.total.get("gpu") and not node.inner else node
                for node in machines.nodes
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
            self._units[name] = units_of_topology(answer.out)
        return self._units[name]

    def _records(self, what: str, key: str, *options: str) -> list[str]:
        out = self.runner.ask("scontrol", "--oneliner", *options, "--all", "show", what)
        try:
            return nodes.records(out, key)
        except ValueError as error:
            raise SlurmOutputError(f"scontrol: {error}") from error
