"""The nodes on which workers of elastic jobs make room for one shape, the cheapest first, for whoever asks.

One heap serves all pending jobs that ask the same of a node, whatever they reach:
1. Nodes enter it with a quick bound. One that comes to the top gets a closer bound, and when it comes there again, its
   price; so few nodes are ever priced.
2. A node that cannot be had is dropped until something is other on it (`Workers.changes`).
3. Jobs are decided from the highest rank down. For one that reaches no more than the one before it (`within`) all
   bounds hold still, and what was dropped stays so; only the nodes that were looked at closely enter it again.
   For any other one everything is looked at anew.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from scheduler.preemption.elastic.bounds import NOTHING, Bounds, Least
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import Reach
from scheduler.preemption.universe import Place

Pricer = Callable[[Place, Reach], Price | None]

_QUICK, _CLOSER, _PRICED = range(3)
_Entry = tuple[Least, int, int, int]
"""What it costs (at least), the node, a stamp, and how well that is known."""


class Nodes:
    """The prices of some nodes, by one pricer."""

    def __init__(self, workers: Workers, places: Iterable[Place], bounds: Bounds, pricer: Pricer) -> None:
        self._workers = workers
        self._places = {place.order: place for place in places if place.order in workers.orders}
        self._bounds = bounds
        self._pricer = pricer
        self._seen = 0
        self._reach: Reach | None = None
        self._heap: list[_Entry] = []
        self._stamps = dict.fromkeys(self._places, 0)
        self._close: set[int] = set()
        self._prices: dict[int, Price] = {}

    def cheapest(self, count: int, reach: Reach) -> Sequence[tuple[Place, Price]]:
        """At most `count` nodes, the cheapest first: fewest workers, smallest, of the lowest class, the node's name."""
        self._catch_up(reach)
        heap, taken = self._heap, list[_Entry]()
        while heap and len(taken) < count:
            entry = heappop(heap)
            _, order, stamp, known = entry
            if stamp != self._stamps[order]:
                continue
            if known == _PRICED:
                taken.append(entry)
                continue
            least = self._closer(order, known, reach)
            if least is None:
                self._close.discard(order)
            else:
                self._close.add(order)
                heappush(heap, (least, order, stamp, known + 1))
        for entry in taken:
            heappush(heap, entry)
        return [(self._places[order], self._prices[order]) for _, order, _, _ in taken]

    def _closer(self, order: int, known: int, reach: Reach) -> Least | None:
        """The next better knowledge of what a node costs."""
        place = self._places[order]
        if known == _QUICK:
            return self._bounds.least(place, reach)
        price = self._pricer(place, reach)
        if price is None:
            return None
        self._prices[order] = price
        return least_of(price)

    def _catch_up(self, reach: Reach) -> None:
        stocks, changes = self._workers.up_to_date(), self._workers.changes
        if self._reach is None or not reach.within(self._reach):
            self._heap.clear()
            changed: Iterable[int] = self._places
        else:
            changed = self._places.keys() & changes[self._seen :]
            if reach != self._reach:
                changed |= self._close
        self._seen = len(changes)
        self._reach = reach
        for order in changed:
            self._stamps[order] += 1
            self._close.discard(order)
            least = self._bounds.rough(self._places[order], stocks[order], reach)
            if least is not None:
                heappush(self._heap, (least, order, self._stamps[order], _QUICK))


def least_of(price: Price) -> Least:
    """What a node costs, for comparison."""
    if not price.cost:
        return NOTHING
    (number, size, _), (highest, _, _) = price.cost
    return number, size, highest
