"""The ways to choose a job's GPUs that `bench.even_sets` compares, on machines whose GPUs differ in speed."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.preemption.balance.evenset import Member, narrowest, scaled

Device = tuple[int, int]
"""A node and one of its GPUs, by number."""


@dataclass(slots=True)
class Machines:
    """Nodes with GPUs: `seconds` that each takes, and which are `free`."""

    seconds: Sequence[Sequence[float]]
    free: list[set[int]] = field(init=False)
    close: list[dict[int, tuple[float, tuple[int, ...]]]] = field(init=False)
    """By node and number of GPUs the closest free ones, with their distance; forgotten when the node changes."""

    def __post_init__(self) -> None:
        self.free = [set(range(len(own))) for own in self.seconds]
        self.close = [{} for _ in self.seconds]

    @property
    def per_node(self) -> int:
        """How many GPUs a node has."""
        return len(self.seconds[0])

    def time(self, device: Device) -> float:
        """What one takes."""
        return self.seconds[device[0]][device[1]]

    def take(self, devices: Iterable[Device]) -> None:
        """They are not free any more."""
        for node, gpu in devices:
            self.free[node].remove(gpu)
            self.close[node].clear()

    def give(self, devices: Iterable[Device]) -> None:
        """They are free again."""
        for node, gpu in devices:
            self.free[node].add(gpu)
            self.close[node].clear()

    def with_room(self, gpus: int) -> list[int]:
        """The nodes on which so many are free; for more than a node has, those that are free as a whole, if enough."""
        fits = [node for node, free in enumerate(self.free) if len(free) >= min(gpus, self.per_node)]
        return fits if len(fits) >= nodes_for(gpus, self.per_node) else []

    def closest(self, node: int, gpus: int) -> tuple[float, tuple[int, ...]]:
        """The free GPUs of a node that are closest together, and how far apart they are."""
        known = self.close[node].get(gpus)
        if known is None:
            own = self.seconds[node]
            ordered = sorted(self.free[node], key=lambda gpu: (own[gpu], gpu))
            windows = (ordered[i : i + gpus] for i in range(len(ordered) - gpus + 1))
            known = min((own[each[-1]] - own[each[0]], tuple(each)) for each in windows)
            self.close[node][gpus] = known
        return known


Choose = Callable[[Machines, int, random.Random], list[Device] | None]
"""The GPUs of a job that wants so many; None where it does not fit."""


def nodes_for(gpus: int, per_node: int) -> int:
    """How many nodes a job needs."""
    return -(-gpus // per_node)


def _first_of(machines: Machines, nodes: Sequence[int], gpus: int) -> list[Device]:
    """The first free GPUs of these nodes."""
    devices = [(node, gpu) for node in nodes for gpu in sorted(machines.free[node])]
    return devices[:gpus]


def by_chance(machines: Machines, gpus: int, rng: random.Random) -> list[Device] | None:
    """Any nodes, any GPUs."""
    nodes = machines.with_room(gpus)
    if not nodes:
        return None
    chosen = rng.sample(nodes, nodes_for(gpus, machines.per_node))
    mixed = ((node, rng.sample(sorted(machines.free[node]), len(machines.free[node]))) for node in chosen)
    return [(node, gpu) for node, order in mixed for gpu in order][:gpus]


def first_free(machines: Machines, gpus: int, rng: random.Random) -> list[Device] | None:
    """The first nodes and GPUs, by their numbers: as Slurm does without further words."""
    del rng
    nodes = machines.with_room(gpus)
    return _first_of(machines, nodes[: nodes_for(gpus, machines.per_node)], gpus) if nodes else None


def even_nodes(machines: Machines, gpus: int, rng: random.Random) -> list[Device] | None:
    """The nodes that are closest together with all of their GPUs; which ones of them it gets is Slurm's choice."""
    del rng
    nodes = machines.with_room(gpus)
    if not nodes:
        return None
    members = sorted(
        Member(scaled(min(own)), len(machines.free[node]) - gpus, node, scaled(max(own)))
        for node in nodes
        for own in (machines.seconds[node],)
    )
    found = narrowest(members, nodes_for(gpus, machines.per_node))
    return _first_of(machines, found.node_indices, gpus) if found else None


def even_devices(machines: Machines, gpus: int, rng: random.Random) -> list[Device] | None:
    """The GPUs that are closest together, of one node where that has enough of them."""
    if gpus > machines.per_node:
        return even_nodes(machines, gpus, rng)
    nodes = machines.with_room(gpus)
    if not nodes:
        return None
    left = {node: len(machines.free[node]) - gpus for node in nodes}
    node = min(nodes, key=lambda node: (machines.closest(node, gpus)[0], left[node], node))
    return [(node, gpu) for gpu in machines.closest(node, gpus)[1]]


WAYS: Mapping[str, Choose] = {
    "by chance": by_chance,
    "first free": first_free,
    "even nodes": even_nodes,
    "even devices": even_devices,
}
