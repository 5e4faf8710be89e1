"""The workers on the nodes of one pool, those alike together, for requests that name no number of nodes.

They are kept by their class in the first tier, so that those within a job's reach are a few lists out of many; those
who are equal on the first axis to whoever asked last also by their class in the second tier. They are brought up to
date where something is other than it was (`Workers.changes`).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.elastic.covering import Alike, Choice
from scheduler.preemption.elastic.workers import Lot, OnNode, Pair, Row, Worker, Workers
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape

_Kind = tuple[Lot | int, Row]
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
        self._in_units, self._exclusive = shape.units > 0, shape.exclusive
        self._orders = frozenset(workers.orders & {place.order for place in shape.places})
        self.key = self._in_units, self._exclusive, tuple(self._rows), self._orders
        self._first: dict[int, _Class] = defaultdict(dict)
        self._second: dict[int, _Class] = defaultdict(dict)
        self._equal: int | None = None
        """The first weight of those who are in `_second`, by their second."""
        self._known: dict[int, tuple[Sequence[Pair], Row]] = {}
        self._seen = -1

    def choice(self, reach: Reach, short: Amounts) -> Choice | None:
        """The workers that a pending job may take; None when there are none, or when what is missing would not be
        there even if elastic jobs kept nothing at all."""
        rows = self._within(reach)
        if not rows or not all(self._may_be_enough(rows, reach, *each) for each in short.items()):
            return None
        nodes = self._workers.up_to_date()
        return Choice(
            [Alike(row) for row in rows.values()],
            sum([len(row) for kind in rows.values() for row in kind]),
            lambda order: nodes[order].within(reach),
        )

    def _may_be_enough(self, rows: _Rows, reach: Reach, name: str, amount: int) -> bool:
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
                    gives = sum([worker.lot.gives[at] for worker in node.within(reach)])
                    amount -= max(0, node.soon[at] + gives)
        return amount <= 0

    def _within(self, reach: Reach) -> _Rows:
        """The workers within reach, those of the lowest class first."""
        self._catch_up()
        within = [self._first[first] for first in sorted(self._first) if first < reach.first_floor]
        floor = reach.second_floor
        if floor is not None:
            self._divide(reach.first)
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
        pairs = self._workers.pairs
        for kind, (orders, _) in self._first.get(first, {}).items():
            for order in orders:
                pair = pairs[order]
                if pair:
                    own_orders, own = _row(self._second[pair[0].runner.second], kind)
                    own_orders.append(order)
                    own.append(pair[1])

    def _catch_up(self) -> None:
        nodes, changes = self._workers.up_to_date(), self._workers.changes
        if self._seen < 0:
            self._fill(nodes)
        else:
            for order in self._orders.intersection(changes[self._seen :]):
                self._look_at(order, nodes[order])
        self._seen = len(changes)

    def _fill(self, nodes: Mapping[int, OnNode]) -> None:
        """A first look at all nodes; the workers come in their order."""
        self._known = {order: (nodes[order].pairs, self._room(nodes[order].soon)) for order in self._orders}
        for pair in self._workers.pairs:
            known = self._known.get(pair[0].place.order) if pair else None
            if pair and known:
                kind = self._kind(pair[0], known[1])
                for each, worker in self._classes(pair):
                    orders, workers = _row(each, kind)
                    orders.append(worker.rank[1])
                    workers.append(worker)

    def _look_at(self, order: int, node: OnNode) -> None:
        """Bring the workers of one node up to date."""
        pairs, room = node.pairs, self._room(node.soon)
        old_pairs, old_room = self._known[order]
        if pairs is old_pairs and room == old_room:
            return
        self._known[order] = pairs, room
        stay = set(old_pairs).intersection(pairs) if room == old_room else ()
        for pair in old_pairs:
            if pair not in stay:
                kind = self._kind(pair[0], old_room)
                for each, worker in self._classes(pair):
                    _drop(each, kind, worker)
        for pair in pairs:
            if pair not in stay:
                kind = self._kind(pair[0], room)
                for each, worker in self._classes(pair):
                    _put(each, kind, worker)

    def _classes(self, pair: Pair) -> Iterable[tuple[_Class, Worker]]:
        first, second = pair
        runner = first.runner
        if runner.first != self._equal:
            return ((self._first[runner.first], first),)
        return (self._first[runner.first], first), (self._second[runner.second], second)

    def _kind(self, worker: Worker, room: Row) -> _Kind:
        # What a node gives that must be empty depends on who else is on it: no worker is like another.
        return (worker.rank[1] if self._exclusive else worker.lot), room

    def _room(self, soon: Row) -> Row:
        """What a worker's room there depends on: for units all that is free or coming, else what is overcommitted."""
        if self._in_units:
            return tuple([soon[at] for at in self._rows])
        return tuple([min(0, soon[at]) for at in self._rows])


def _row(each: _Class, kind: _Kind) -> tuple[list[int], list[Worker]]:
    row = each.get(kind)
    if row is None:
        row = each[kind] = [], []
    return row


def _put(each: _Class, kind: _Kind, worker: Worker) -> None:
    orders, workers = _row(each, kind)
    order = worker.rank[1]
    at = bisect_left(orders, order)
    orders.insert(at, order)
    workers.insert(at, worker)


def _drop(each: _Class, kind: _Kind, worker: Worker) -> None:
    orders, workers = each[kind]
    at = bisect_left(orders, worker.rank[1])
    del orders[at], workers[at]
    if not orders:
        del each[kind]
