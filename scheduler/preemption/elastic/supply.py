"""The workers on the nodes of one pool, those alike together, for requests that name no number of nodes.

They are kept by their class in the first tier, so that those within a job's scope are a few lists out of many; those
who are equal on the first axis to whoever asked last also by their class in the second tier. They are brought up to
date where something is other than it was (`Workers.changes`), but for nodes on which nobody is within scope: those wait
for somebody who reaches further.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.elastic.covering import Alike, WorkerChoice
from scheduler.preemption.elastic.on_node import Lot, OnNode, Row, Worker
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.node_index import Watch
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape

_Kind = tuple[tuple[Lot, int] | int, Row]
"""Equal for workers that are alike (`covering.Alike`) as long as nothing is taken from their nodes."""

_Class = dict[_Kind, tuple[list[int], list[Worker]]]
"""The workers of one class, by kind: where they come in it (`Worker.rank`), and in that order themselves."""

_Rows = dict[_Kind, list[list[Worker]]]
"""Workers by kind, in rows as `covering.Alike` has them."""


class Supply:
    """What elastic jobs may lose on the nodes of one pool.

    `key`: equal where one will do for another; of units of different sizes that are made of the same resources, and fit
    on the same nodes, one serves all.
    """

    def __init__(self, workers: Workers, shape: Shape) -> None:
        self._workers = workers
        self._rows = [workers.names.index(name) for name, _ in shape.wants]
        self._even = (0,) * len(self._rows)
        self._in_units, self._exclusive = shape.units > 0, shape.exclusive
        self._node_indices = frozenset(workers.node_indices & {place.order for place in shape.places})
        self.key = self._in_units, self._exclusive, tuple(self._rows), self._node_indices
        self._first: dict[int, _Class] = defaultdict(dict)
        self._second: dict[int, _Class] = defaultdict(dict)
        self._equal: int | None = None
        """The first weight of those who are in `_second`, by their second."""
        self._known: dict[int, tuple[Sequence[Worker], int, Row]] = {}
        """Of each node the workers, the lowest of their classes, and their room."""
        self._behind: set[int] = set()
        """Nodes that are not up to date; all workers there that are known are above `_highest`."""
        self._highest = 0
        self._watch: Watch | None = None

    def choice(self, scope: PreemptionScope, short: Amounts) -> WorkerChoice | None:
        """The workers that a pending job may take; None when there are none, or when what is missing would not be
        there even if elastic jobs kept nothing at all."""
        rows = self._within(scope)
        if not rows or not all(self._may_be_enough(rows, scope, *each) for each in short.items()):
            return None
        nodes = self._workers.up_to_date()
        return WorkerChoice(
            [Alike(row) for row in rows.values()],
            sum([len(row) for kind in rows.values() for row in kind]),
            lambda order: nodes[order].within(scope),
        )

    def _may_be_enough(self, rows: _Rows, scope: PreemptionScope, name: str, amount: int) -> bool:
        """Whether so much of one resource might be had from some workers.

        What a node is overcommitted by makes no room. Most are not, and what is given up there is simply counted.
        """
        at = self._workers.names.index(name)
        of_room = self._rows.index(at)
        overcommitted = []
        for (_, room), kind in rows.items():
            if room[of_room] < 0:
                overcommitted += kind
            else:
                amount -= kind[0][0].lot.gives[at] * sum(map(len, kind))
        if amount > 0:
            nodes = self._workers.up_to_date()
            for order in {worker.place.order for row in overcommitted for worker in row}:
                node = nodes[order]
                if node.could[at] > 0:
                    gives = sum([worker.lot.gives[at] for worker in node.within(scope)])
                    amount -= max(0, node.soon[at] + gives)
        return amount <= 0

    def _within(self, scope: PreemptionScope) -> _Rows:
        """The workers within scope, those of the lowest class first."""
        self._catch_up(scope.highest)
        within = [self._first[first] for first in sorted(self._first) if first < scope.first_floor]
        floor = scope.second_floor
        if floor is not None:
            self._divide(scope.first)
            within += [self._second[second] for second in sorted(self._second) if second < floor]
        rows: _Rows = {}
        for each in within:
            for kind, (_, row) in each.items():
                rows.setdefault(kind, []).append(row)
        return rows

    def _divide(self, first: int) -> None:
        """Keep the workers of one class also by their class in the second tier: jobs of that rank ask one after the
        other."""
        if first == self._equal:
            return
        self._equal = first
        self._second.clear()
        for kind, (node_indices, workers) in self._first.get(first, {}).items():
            for order, worker in zip(node_indices, workers, strict=True):
                own_orders, own = _row(self._second[worker.runner.second], kind)
                own_orders.append(order)
                own.append(worker.in_second_tier())

    def _catch_up(self, highest: int) -> None:
        """For somebody who reaches nobody above a class."""
        nodes, known = self._workers.up_to_date(), self._known
        if self._watch is None:
            self._watch = self._workers.changes.watch()
            self._fill(nodes)
        else:
            changed = self._node_indices & set(self._watch.changed())
            if highest > self._highest:
                changed |= self._behind
                self._behind.clear()
            for order in changed:
                if known[order][1] > highest:
                    self._behind.add(order)
                else:
                    self._look_at(order, nodes[order])
        self._highest = highest

    def _fill(self, nodes: Mapping[int, OnNode]) -> None:
        """A first look at all nodes; the workers come in their order."""
        for order in self._node_indices:
            node = nodes[order]
            self._known[order] = node.workers, node.lowest, self._room(node.soon)
        known, first = self._known, self._first
        for worker in self._workers.all:
            here = known.get(worker.place.order) if worker else None
            if worker and here:
                own_class, order = worker.rank
                node_indices, workers = _row(first[own_class], self._kind(worker, here[2]))
                node_indices.append(order)
                workers.append(worker)

    def _look_at(self, order: int, node: OnNode) -> None:
        """Bring the workers of one node up to date."""
        workers, room = node.workers, self._room(node.soon)
        old_workers, _, old_room = self._known[order]
        self._known[order] = workers, node.lowest, room
        gone, come = old_workers, workers
        if room == old_room:
            gone = [worker for worker in old_workers if worker not in workers]
            come = [worker for worker in workers if worker not in old_workers]
        for worker in gone:
            kind = self._kind(worker, old_room)
            _drop(self._first[worker.rank[0]], kind, worker)
            if worker.rank[0] == self._equal:
                _drop(self._second[worker.runner.second], kind, worker)
        for worker in come:
            kind = self._kind(worker, room)
            _put(self._first[worker.rank[0]], kind, worker)
            if worker.rank[0] == self._equal:
                _put(self._second[worker.runner.second], kind, worker.in_second_tier())

    def _kind(self, worker: Worker, room: Row) -> _Kind:
        # What a node gives that must be empty depends on who else is on it: no worker is like another.
        return (worker.rank[1] if self._exclusive else (worker.lot, worker.size)), room

    def _room(self, soon: Row) -> Row:
        """What a worker's room there depends on: for units all that is free or coming, else what is overcommitted."""
        rows = self._rows
        if self._in_units:
            return tuple([soon[at] for at in rows])
        for at in rows:
            if soon[at] < 0:
                return tuple([min(0, soon[at]) for at in rows])
        return self._even


def _row(each: _Class, kind: _Kind) -> tuple[list[int], list[Worker]]:
    row = each.get(kind)
    if row is None:
        row = each[kind] = [], []
    return row


def _put(each: _Class, kind: _Kind, worker: Worker) -> None:
    node_indices, workers = _row(each, kind)
    order = worker.rank[1]
    at = bisect_left(node_indices, order)
    node_indices.insert(at, order)
    workers.insert(at, worker)


def _drop(each: _Class, kind: _Kind, worker: Worker) -> None:
    node_indices, workers = each[kind]
    at = bisect_left(node_indices, worker.rank[1])
    del node_indices[at], workers[at]
    if not node_indices:
        del each[kind]
