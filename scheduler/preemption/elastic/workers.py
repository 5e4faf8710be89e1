"""The workers of elastic jobs: what each of them may lose on one node, whoever asks.

A worker is what an elastic job holds on one node; of a job in units, so many of its units there as it may lose.
What a node has is worked out once for all requests, and again when the universe's log names the node.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scheduler.model.resources import Amounts, add, total
from scheduler.preemption.pieces import Pieces
from scheduler.preemption.ranking import SECOND_TIER, Reach
from scheduler.preemption.universe import Place, Runner, Universe

SCALE = 10**9
"""The size of all that the partition has of one resource."""


@dataclass(frozen=True, slots=True, eq=False)
class Worker:
    """What an elastic job may lose on one node: at most `count` pieces.

    `size`: of one piece, its resources as shares of what the partition has of them, added up. `each`: one piece;
    `all`: all that it may lose. `rank`: its class (`Reach.class_of`), then the later submitted; no two are equal.
    """

    runner: Runner
    place: Place
    count: int
    size: int
    rank: tuple[int, int, int, int]
    each: Amounts
    all: Amounts

    def left(self, gone: int) -> "Worker | None":
        """The same when its job has lost so many pieces elsewhere; None when it may lose no more."""
        pieces = self.runner.pieces
        if not gone or pieces is None:
            return self
        count = min(self.count, pieces.surplus - gone)
        return replace(self, count=count, all=_times(self.each, count)) if count > 0 else None


_Room = tuple[tuple[int, ...], tuple[int, ...], int]
"""What is free and what is coming on a node, and how many hold it."""

Pair = tuple[Worker, Worker]
"""A worker as it counts in the first tier, and as it counts in the second."""


@dataclass(frozen=True, slots=True, eq=False)
class OnNode:
    """The workers on one node.

    `most`: all that they may lose together. `biggest`: of each resource, what a single one may lose at most.
    `smallest`: the least size of a piece. `pieces`: how many they may lose. `lowest`: the lowest weights of a job.
    """

    pairs: tuple[Pair, ...] = ()
    most: Mapping[str, int] = field(default_factory=dict)
    biggest: Mapping[str, int] = field(default_factory=dict)
    smallest: int = 0
    pieces: int = 0
    lowest: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, pairs: tuple[Pair, ...]) -> "OnNode":
        """What these have together."""
        workers = [first for first, _ in pairs]
        biggest: dict[str, int] = {}
        for worker in workers:
            for name, amount in worker.all.items():
                biggest[name] = max(amount, biggest.get(name, 0))
        return cls(
            pairs,
            total(worker.all for worker in workers),
            biggest,
            min(worker.size for worker in workers),
            sum(worker.count for worker in workers),
            min((worker.runner.first, worker.runner.second) for worker in workers),
        )

    def within(self, reach: Reach) -> list[Worker]:
        """Those of jobs that a pending one outranks. Limits on stops do not hold them back."""
        result = []
        for first, second in self.pairs:
            own_class = reach.class_of(first.runner.first, first.runner.second)
            if own_class is not None:
                result.append(first if own_class == first.rank[0] else second)
        return result


class Workers:
    """The workers of one universe, by node."""

    def __init__(self, universe: Universe) -> None:
        amounts: dict[str, int] = {}
        for place in universe.places:
            add(amounts, place.node.total)
        self.total: Mapping[str, int] = amounts
        """What the partition has of each resource."""
        self._elastic: dict[int, list[tuple[Runner, Pieces]]] = {}
        divided = [(runner, runner.pieces) for runner in universe.elastic if runner.pieces]
        for runner, pieces in divided:
            for place in runner.places:
                self._elastic.setdefault(place.order, []).append((runner, pieces))
        self.orders = frozenset(self._elastic)
        """The nodes on which there are any, by their orders."""
        self.changes: list[int] = []
        """As the universe's log, only the nodes where something is other than it was: most of those that the log names
        got as much as they gave since the last look. For `up_to_date` to continue."""
        self._universe = universe
        self._two_axes = universe.ranking.two_axes
        self._seen = 0
        self._sizes: dict[tuple[tuple[str, int], ...], int] = {}
        self._pairs: dict[tuple[Runner, int], Pair] = {}
        self._stocks: dict[int, OnNode] = {}
        self._seen_on: dict[int, tuple[_Room, int]] = {}

    def up_to_date(self) -> Mapping[int, OnNode]:
        """The workers of each node; a stock is the same object as long as the workers on its node are the same."""
        log = self._universe.log
        if not self._stocks:
            self._look_at(self.orders)
        elif self._seen < len(log):
            self._look_at(self.orders.intersection(log[self._seen :]))
        self._seen = len(log)
        return self._stocks

    def on(self, place: Place) -> OnNode:
        """The workers on one node."""
        return self.up_to_date().get(place.order, _NONE)

    def _look_at(self, orders: Iterable[int]) -> None:
        for order in orders:
            place = self._universe.places[order]
            room = tuple(place.free.values()), tuple(place.coming.values()), place.holders
            # Elastic jobs only ever lose pieces, end, or are left alone for good: together they hold as much only if
            # nothing became of any of them.
            held = sum([pieces.held for runner, pieces in self._elastic[order] if _may_lose(runner)])
            old_room, old_held = self._seen_on.get(order, (None, 0))
            known = self._stocks.get(order, _NONE)
            pairs = known.pairs if held == old_held else self._pairs_on(place)
            self._seen_on[order] = room, held
            if room != old_room or pairs != known.pairs:
                if pairs != known.pairs:
                    known = OnNode.of(pairs) if pairs else _NONE
                self._stocks[order] = known
                self.changes.append(order)

    def size(self, amounts: Amounts) -> int:
        """Amounts as shares of what the partition has, added up."""
        key = tuple(amounts.items())
        known = self._sizes.get(key)
        if known is None:
            known = sum(amount * SCALE // self.total[name] for name, amount in key if amount)
            self._sizes[key] = known
        return known

    def _pairs_on(self, place: Place) -> tuple[Pair, ...]:
        name, result = place.node.name, []
        for runner, pieces in self._elastic[place.order]:
            count = min(pieces.counts.get(name, 0), pieces.surplus) if _may_lose(runner) else 0
            if count > 0:
                known = self._pairs.get((runner, place.order))
                if known is None or known[0].count != count:
                    known = self._pairs[runner, place.order] = self._pair(
                        runner, place, pieces.each[name], count
                    )
                result.append(known)
        return tuple(result)

    def _pair(self, runner: Runner, place: Place, each: Amounts, count: int) -> Pair:
        after = -runner.job.submit, runner.order, place.order
        first = Worker(
            runner, place, count, self.size(each), (runner.first, *after), each, _times(each, count)
        )
        if not self._two_axes:
            return first, first
        return first, replace(first, rank=(SECOND_TIER + runner.second, *after))


_NONE = OnNode()


def _times(each: Amounts, count: int) -> Amounts:
    return {name: n * count for name, n in each.items()} if count > 1 else each


def _may_lose(runner: Runner) -> bool:
    """Whether a job may still shrink; one whose end is awaited may not."""
    return runner.alive and not runner.lasting
