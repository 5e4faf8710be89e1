"""The jobs of a trace as one cluster can run them, and those that it cannot."""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.model.resource_kinds import ACCELERATORS, accelerator_of
from scheduler.model.resources import Amounts
from scheduler.priority.order import natural
from scheduler.simulate.room import Packing
from scheduler.simulate.trace import TraceRow

RESOURCES = ("cpu", *ACCELERATORS)
"""What a trace tells of: its column `cpus`; `gpus` are of the kind that the nodes have."""


@dataclass(frozen=True, slots=True)
class Machines:
    """The cluster of a simulation: so many equal nodes. `main`: the resource that people look at first."""

    nodes: int
    per_node: Amounts

    @property
    def main(self) -> str:
        """Accelerators where there are any, else the resource that was named first."""
        return self.accelerator if self.per_node.get(self.accelerator) else next(iter(self.per_node))

    @property
    def accelerator(self) -> str:
        """The kind that these nodes have; GPUs where they have none."""
        return accelerator_of([self.per_node])

    def packing(self) -> Packing:
        """How amounts are packed: the main resource weighs most when leftovers are kept small."""
        names = sorted(self.per_node, key=lambda name: name != self.main)
        return Packing({name: self.per_node[name] for name in names})


@dataclass(frozen=True, slots=True)
class Work:
    """A job that will be simulated: `nodes` nodes with `wants` (packed) on each, for `runtime` seconds.

    `index`: its place in the one order of jobs (submit time, then id), which no order of rows changes.
    """

    index: int
    row: TraceRow
    submit: int
    runtime: int
    nodes: int
    wants: int
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is not simulated, and why."""

    row: TraceRow
    why: str


@dataclass(frozen=True, slots=True)
class Workload:
    """What is simulated, in the order of `Work.index`, and what is not, in the order of rows."""

    machines: Machines
    jobs: tuple[Work, ...]
    left_out: tuple[LeftOut, ...]


def fit(rows: Iterable[TraceRow], machines: Machines) -> Workload:
    """The rows that the cluster can run when it is empty. A run beyond its limit is cut off; one of 0 s takes 1."""
    packing = machines.packing()
    jobs: list[Work] = []
    left_out: list[LeftOut] = []
    for row in sorted(rows, key=lambda row: (row.submit, natural(row.id))):
        nodes, amounts = _shape(row, machines)
        why = _why_not(row, nodes, amounts, machines)
        if why or row.runtime is None:
            left_out.append(LeftOut(row, why))
            continue
        runtime = max(1, row.runtime if row.limit is None else min(row.runtime, row.limit))
        jobs.append(Work(len(jobs), row, row.submit, runtime, nodes, packing.pack(amounts), amounts))
    return Workload(machines, tuple(jobs), tuple(sorted(left_out, key=lambda left: left.row.row)))


def _shape(row: TraceRow, machines: Machines) -> tuple[int, dict[str, int]]:
    """How many nodes and what of each, rounded up; as few nodes as can be where the trace does not say."""
    asked = {"cpu": row.cpus or 0, machines.accelerator: row.gpus or 0}
    nodes = row.nodes or max([1, *(-(-asked[name] // has) for name, has in machines.per_node.items() if has)])
    return nodes, {name: -(-amount // nodes) for name, amount in asked.items() if amount}


def _why_not(row: TraceRow, nodes: int, amounts: Amounts, machines: Machines) -> str:
    if row.runtime is None:
        return "its runtime is unknown"
    for name, amount in amounts.items():
        if amount > machines.per_node.get(name, 0):
            return f"it wants {amount} {name} on a node, and nodes have {machines.per_node.get(name, 0)}"
    if nodes > machines.nodes:
        return f"it wants {nodes} nodes, and there are {machines.nodes}"
    return "" if amounts else "it asks for nothing that is known"
