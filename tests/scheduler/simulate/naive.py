"""FCFS and EASY once more, in the plainest way: lists of nodes, everything worked out anew at every moment.

Slow, and written apart from `scheduler.simulate`: an oracle for it. Nodes have dictionaries of free amounts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scheduler.simulate.trace import Work, Workload

Nodes = list[dict[str, int]]


@dataclass
class Running:
    """A job on its nodes."""

    work: Work
    nodes: list[int]
    end: int
    expected_end: int


@dataclass
class Naive:
    """One simulation. `expects`: how long a job is expected to run. `turn`: who may pass first."""

    workload: Workload
    passing: bool
    expects: Callable[[Work], int]
    turn: Callable[[Work], tuple[int, ...]]
    free: Nodes = field(default_factory=list)
    waiting: list[Work] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)

    def run(self) -> dict[str, int]:
        """When each job starts."""
        machines = self.workload.machines
        names = sorted(machines.per_node, key=lambda name: name != machines.main)
        self.free = [{name: machines.per_node[name] for name in names} for _ in range(machines.nodes)]
        coming = list(self.workload.jobs)
        while coming or self.running:
            now = min([job.submit for job in coming] + [each.end for each in self.running])
            for each in [each for each in self.running if each.end == now]:
                self.running.remove(each)
                give(self.free, each)
            self.waiting += [job for job in coming if job.submit == now]
            coming = [job for job in coming if job.submit > now]
            self.schedule(now)
        return self.starts

    def schedule(self, now: int) -> None:
        """In order while the first fits; then past it."""
        self.waiting.sort(key=lambda job: job.index)
        while self.waiting:
            where = fitting(self.free, self.waiting[0])
            if len(where) < self.waiting[0].nodes:
                break
            self.start(self.waiting[0], where, now)
        for job in sorted(self.waiting[1:], key=self.turn) if self.passing else ():
            where = fitting(self.free, job)
            if len(where) >= job.nodes:
                at, later = self.reservation()
                if now + self.expects(job) > at:
                    where = self.beside(where, job, later)
                if len(where) >= job.nodes:
                    self.start(job, where, now)

    def start(self, job: Work, where: Sequence[int], now: int) -> None:
        """On the nodes with the least free, of these the first."""
        nodes = sorted(where, key=self.fullness)[: job.nodes]
        self.waiting.remove(job)
        self.running.append(Running(job, nodes, now + job.runtime, now + self.expects(job)))
        self.starts[job.row.id] = now
        for i in nodes:
            for name, amount in job.amounts.items():
                self.free[i][name] -= amount

    def reservation(self) -> tuple[int, Nodes]:
        """When the first of the queue fits, as far as is known, and what is free then."""
        head = self.waiting[0]
        later = [dict(free) for free in self.free]
        for moment in sorted({each.expected_end for each in self.running}):
            for each in self.running:
                if each.expected_end == moment:
                    give(later, each)
            if len(fitting(later, head)) >= head.nodes:
                return moment, later
        raise AssertionError("it never fits")

    def beside(self, where: Sequence[int], job: Work, later: Nodes) -> list[int]:
        """Of some nodes, those where a job leaves the first of the queue its nodes at its moment."""
        head = self.waiting[0]
        kept = sorted(fitting(later, head), key=self.fullness)[: head.nodes]
        for i in kept:
            for name, amount in head.amounts.items():
                later[i][name] -= amount
        still = fitting(later, job)
        return [i for i in where if i not in kept or i in still]

    def fullness(self, i: int) -> tuple[int, ...]:
        """What a node has free, the main resource first, then its number."""
        return *self.free[i].values(), i


def give(free: Nodes, each: Running) -> None:
    """A job leaves its nodes."""
    for i in each.nodes:
        for name, amount in each.work.amounts.items():
            free[i][name] += amount


def fitting(free: Nodes, job: Work) -> list[int]:
    """The nodes that have room for a job."""
    return [
        i for i, node in enumerate(free) if all(node[name] >= amount for name, amount in job.amounts.items())
    ]
