"""The workers on the nodes of one pool, those alike together, for requests that name no number of nodes.

They are kept by their class in the first tier and in the second, so that those within a job's reach are a few lists
out of many, with the sums of what they may lose. They are brought up to date where something is other than it was
(`Workers.changes`).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduler.model.resources import add, subtract
from scheduler.preemption.elastic.covering import Alike, Choice
from scheduler.preemption.elastic.workers import Pair, Worker, Workers
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place, Universe

_Kind = tuple[object, ...]
"""Equal for workers that are alike (`covering.Alike`) as long as nothing is taken from their nodes."""


_Rank = tuple[int, ...]


@dataclass(slots=True)
class _Class:
    """The workers of one class, by kind: their ranks, and in the same order themselves. `most`: all they may lose."""

    kinds: dict[_Kind, tuple[list[_Rank], list[Worker]]] = field(default_factory=dict)
    number: int = 0
    most: dict[str, int] = field(default_factory=dict)

    def put(self, kind: _Kind, worker: Worker) -> None:
        row = self.kinds.get(kind)
        if row is None:
            row = self.kinds[kind] = [], []
        at = bisect_left(row[0], worker.rank)
        row[0].insert(at, worker.rank)
        row[1].insert(at, worker)
        self.number += 1
        add(self.most, worker.all)

    def drop(self, kind: _Kind, worker: Worker) -> None:
        ranks, workers = self.kinds[kind]
        at = bisect_left(ranks, worker.rank)
        del ranks[at], workers[at]
        if not ranks:
            del self.kinds[kind]
        self.number -= 1
        subtract(self.most, worker.all)


class Supply:
    """What elastic jobs may lose on the nodes of one pool.

    `key`: equal where one will do for another; of units of different sizes that are made of the same resources, and fit
    on the same nodes, one serves all.
    """

    def __init__(self, universe: Universe, workers: Workers, shape: Shape) -> None:
        self._universe = universe
        self._workers = workers
        self._names = [name for name, _ in shape.wants]
        self._in_units, self._exclusive = shape.units > 0, shape.exclusive
        self._orders = workers.orders.intersection(place.order for place in shape.places)
        self.key = self._in_units, self._exclusive, tuple(self._names), self._orders
        self._first: dict[int, _Class] = defaultdict(_Class)
        self._second: dict[tuple[int, int], _Class] = defaultdict(_Class)
        self._known: dict[int, tuple[tuple[Pair, ...], tuple[int, ...]]] = {}
        self._seen = 0

    def most(self, reach: Reach) -> dict[str, int]:
        """All that a pending job may take, were it not for what elastic jobs keep at least."""
        result: dict[str, int] = {}
        for each in self._within(reach):
            add(result, each.most)
        return result

    def choice(self, reach: Reach) -> Choice:
        """The workers that a pending job may take."""
        rows: dict[_Kind, list[list[Worker]]] = {}
        classes = self._within(reach)
        for each in classes:
            for kind, (_, row) in each.kinds.items():
                rows.setdefault(kind, []).append(row)
        places = self._universe.places
        return Choice(
            [Alike(row) for row in rows.values()],
            sum(each.number for each in classes),
            lambda order: self._workers.on(places[order]).within(reach),
        )

    def _within(self, reach: Reach) -> list[_Class]:
        """The classes within reach, the lowest first."""
        self._catch_up()
        result = [self._first[first] for first in sorted(self._first) if first < reach.first_floor]
        floor = reach.second_floor
        if floor is not None:
            equal = sorted(key for key in self._second if key[0] == reach.first and key[1] < floor)
            result += [self._second[key] for key in equal]
        return result

    def _catch_up(self) -> None:
        stocks, changes = self._workers.up_to_date(), self._workers.changes
        for order in self._orders.intersection(changes[self._seen :]):
            self._look_at(order, stocks[order].pairs)
        self._seen = len(changes)

    def _look_at(self, order: int, pairs: tuple[Pair, ...]) -> None:
        """Bring the workers of one node up to date."""
        room = self._room(self._universe.places[order])
        old_pairs, old_room = self._known.get(order, ((), ()))
        if pairs is old_pairs and room == old_room:
            return
        self._known[order] = pairs, room
        stay = set(old_pairs).intersection(pairs) if room == old_room else set()
        for pair in old_pairs:
            if pair not in stay:
                kind = self._kind(pair[0], old_room)
                for each, worker in self._classes(pair):
                    each.drop(kind, worker)
        for pair in pairs:
            if pair not in stay:
                kind = self._kind(pair[0], room)
                for each, worker in self._classes(pair):
                    each.put(kind, worker)

    def _classes(self, pair: Pair) -> Iterable[tuple[_Class, Worker]]:
        first, second = pair
        runner = first.runner
        yield self._first[runner.first], first
        if first is not second:
            yield self._second[runner.first, runner.second], second

    def _kind(self, worker: Worker, room: tuple[int, ...]) -> _Kind:
        if self._exclusive:  # it depends on who else is on the node
            return worker.rank[1:]
        each = worker.each
        return worker.size, worker.count, tuple([each.get(name, 0) for name in self._names]), room

    def _room(self, place: Place) -> tuple[int, ...]:
        """What a worker's room there depends on: for units all that is free or coming, else what is overcommitted."""
        free, coming = place.free, place.coming
        room = tuple([free.get(name, 0) + coming.get(name, 0) for name in self._names])
        return room if self._in_units else tuple([min(0, amount) for amount in room])
