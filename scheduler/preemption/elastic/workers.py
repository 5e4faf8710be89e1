"""The workers of elastic jobs: what each of them may lose on one node, whoever asks.

A worker is what an elastic job holds on one node; of a job in units, so many of its units there as it may lose.
What a node has is worked out once for all requests, and again when the universe's log names the node.

Amounts that are compared again and again are rows of numbers, in the order of `Workers.names`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import add as sum_of
from operator import attrgetter

from scheduler.model.resources import Amounts, add
from scheduler.preemption.pieces import Pieces
from scheduler.preemption.ranking import SECOND_TIER, Reach
from scheduler.preemption.universe import Place, Runner, Universe

SCALE = 10**9
"""The size of all that the partition has of one resource."""

Row = tuple[int, ...]
"""So much of each resource."""


@dataclass(frozen=True, slots=True, eq=False)
class Lot:
    """So many equal pieces. Workers that may lose the same share one, so lots are compared as objects.

    `size`: of one piece, its resources as shares of what the partition has of them, added up. `each`: one piece;
    `all`: all of them, and `gives` the same as a row.
    """

    count: int
    size: int
    each: Amounts
    all: Amounts
    gives: Row


@dataclass(slots=True, eq=False)
class Worker:
    """What an elastic job may lose on one node: at most `count` pieces of one `size`, as its lot says.

    `rank`: its class (`Reach.class_of`), then the later submitted; no two are equal. Never changed: who may lose
    another number is another worker. (Not frozen, for thousands are made, and that takes three times as long.)
    """

    runner: Runner
    place: Place
    lot: Lot
    rank: tuple[int, int]
    count: int
    size: int


Pair = tuple[Worker, Worker]
"""A worker as it counts in the first tier, and as it counts in the second."""

_Mine = tuple[Runner, Pieces, int]
"""An elastic job, its pieces, and where its worker on some node comes among those of one class (`Worker.rank`)."""


class OnNode:
    """The workers on one node, and its room.

    `soon`: what is free or coming; `could`: the same, with all that they may lose. `version`: another one whenever any
    of this is other than before, or somebody came or went.
    """

    __slots__ = (
        "_known",
        "_most",
        "could",
        "elastic",
        "held",
        "holders",
        "pairs",
        "place",
        "soon",
        "version",
    )

    def __init__(self, place: Place, width: int) -> None:
        self.place = place
        self.elastic: list[_Mine] = []
        self.held = self.version = 0
        self.holders = -1
        self.soon = self.could = self._most = (0,) * width
        self.pairs: tuple[Pair, ...] = ()
        self._known: tuple[Reach | None, list[Worker]] = None, []

    def put(self, pairs: tuple[Pair, ...]) -> None:
        """Other workers are there than before."""
        self.pairs = pairs
        most = (0,) * len(self._most)
        for first, _ in pairs:
            most = tuple(map(sum_of, most, first.lot.gives))
        self._most = most
        self._known = None, []

    def room(self, soon: Row) -> None:
        """So much is free or coming, or other workers are there."""
        self.soon = soon
        self.could = tuple(map(sum_of, soon, self._most))

    def within(self, reach: Reach) -> list[Worker]:
        """Those of jobs that a pending one outranks. Limits on stops do not hold them back.

        Kept for those who ask with the same object next: many requests do, one after the other.
        """
        known, result = self._known
        if known is not reach:
            result = []
            for first, second in self.pairs:
                own_class = reach.class_of(first.runner.first, first.runner.second)
                if own_class is not None:
                    result.append(first if own_class == first.rank[0] else second)
            self._known = reach, result
        return result


class Workers:
    """The workers of one universe, by node."""

    def __init__(self, universe: Universe) -> None:
        amounts: dict[str, int] = {}
        for place in universe.places:
            add(amounts, place.node.total)
        self.names = sorted(amounts)
        self.total = tuple([amounts[name] for name in self.names])
        """What the partition has of each resource."""
        self.changes: list[int] = []
        """As the universe's log, only the nodes where something is other than it was: most of those that the log names
        got as much as they gave since the last look. For `up_to_date` to continue."""
        self._universe = universe
        self._two_axes = universe.ranking.two_axes
        self._seen = -1
        self._lots: dict[tuple[object, ...], Lot] = {}
        self._nodes: dict[int, OnNode] = {}
        self._among: dict[tuple[Place, ...], Mapping[int, OnNode]] = {}
        self.pairs: list[Pair | None] = []
        """All workers, those of one class in their order; None for one that may lose nothing."""
        for runner in sorted(universe.elastic, key=_later_first):
            for place in sorted(runner.places, key=_by_order) if len(runner.places) > 1 else runner.places:
                node = self._nodes.get(place.order)
                if node is None:
                    node = self._nodes[place.order] = OnNode(place, len(self.names))
                if runner.pieces:
                    node.elastic.append((runner, runner.pieces, len(self.pairs)))
                    self.pairs.append(None)
        self.orders = self._nodes.keys()
        """The nodes on which there are any, by their orders."""

    def up_to_date(self) -> Mapping[int, OnNode]:
        """The workers of each node, by its order. A node is always the same object, brought up to date."""
        log = self._universe.log
        if self._seen < 0:
            self._look_at(self.orders)
        elif self._seen < len(log):
            self._look_at(self.orders & log[self._seen :])
        self._seen = len(log)
        return self._nodes

    def among(self, places: tuple[Place, ...]) -> Mapping[int, OnNode]:
        """Of some nodes those on which there are any, by their orders; many shapes ask for the same ones."""
        known = self._among.get(places)
        if known is None:
            nodes = self._nodes
            known = {place.order: nodes[place.order] for place in places if place.order in nodes}
            self._among[places] = known
        return known

    def on(self, place: Place) -> OnNode:
        """The workers on one of the nodes on which there are any."""
        return self.up_to_date()[place.order]

    def left(self, worker: Worker, gone: int) -> Worker | None:
        """A worker when its job has lost so many pieces elsewhere; None when it may lose no more."""
        pieces = worker.runner.pieces
        if not gone or pieces is None:
            return worker
        count = min(worker.count, pieces.surplus - gone)
        if count <= 0:
            return None
        lot = self._lot(worker.lot.each, count)
        return Worker(worker.runner, worker.place, lot, worker.rank, count, lot.size)

    def _look_at(self, orders: Iterable[int]) -> None:
        names, zeros, first_look = self.names, (0,) * len(self.names), self._seen < 0
        for order in orders:
            node = self._nodes[order]
            place = node.place
            free, coming = place.free, place.coming
            soon = tuple(map(free.get, names, zeros))
            if coming:
                soon = tuple(map(sum_of, soon, map(coming.get, names, zeros)))
            # Elastic jobs only ever lose pieces, end, or are left alone for good: together they hold as much only if
            # nothing became of any of them.
            held = 0
            for runner, pieces, _ in node.elastic:
                if runner.alive and not runner.lasting:
                    held += pieces.held
            pairs = node.pairs
            if held != node.held:
                node.held = held
                pairs = self._pairs_on(node)
            if soon != node.soon or place.holders != node.holders or pairs != node.pairs or first_look:
                if pairs != node.pairs:
                    node.put(pairs)
                node.room(soon)
                node.holders = place.holders
                self.changes.append(order)
                node.version = len(self.changes)

    def _pairs_on(self, node: OnNode) -> tuple[Pair, ...]:
        name, result = node.place.node.name, []
        for runner, pieces, at in node.elastic:
            # One whose end is awaited may not shrink any more.
            going_on = runner.alive and not runner.lasting
            count = 0
            if going_on:
                count = min(pieces.counts.get(name, 0), pieces.held - pieces.least)
            pair = self.pairs[at]
            if count <= 0:
                pair = None
            elif pair is None or pair[0].count != count:
                pair = self._pair(runner, node.place, self._lot(pieces.each[name], count), at)
            self.pairs[at] = pair
            if pair:
                result.append(pair)
        return tuple(result)

    def _pair(self, runner: Runner, place: Place, lot: Lot, at: int) -> Pair:
        count, size = lot.count, lot.size
        first = Worker(runner, place, lot, (runner.first, at), count, size)
        if not self._two_axes:
            return first, first
        return first, Worker(runner, place, lot, (SECOND_TIER + runner.second, at), count, size)

    def _lot(self, each: Amounts, count: int) -> Lot:
        key = count, *each.items()
        known = self._lots.get(key)
        if known is None:
            total = dict(zip(self.names, self.total, strict=True))
            size = sum([amount * SCALE // total[name] for name, amount in each.items() if amount])
            everything = {name: amount * count for name, amount in each.items()}
            gives = tuple([everything.get(name, 0) for name in self.names])
            known = self._lots[key] = Lot(count, size, each, everything, gives)
        return known


def _later_first(runner: Runner) -> tuple[int, int]:
    return -runner.job.submit, runner.order


_by_order = attrgetter("order")
