"""The nodes that can take a shape, the cheapest first, kept up to date instead of worked out again.

A heap per shape and way of pricing. When it is asked, it looks again only at the nodes that the universe's log names
since the last time, and of those only at the ones that could give enough (`stock`); entries of the heap that are out of
date are dropped when they come to the top. With a lower bound, which is cheap to get, a node is priced only when its
bound comes to the top.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

from scheduler.preemption.pricing import Cost, Price
from scheduler.preemption.stock import Stocks
from scheduler.preemption.universe import Place, Universe

Pricer = Callable[[Place], Price | None]
Bound = Callable[[Place], tuple[Cost, int] | None]
"""What a node costs at least, and if it costs just that, how many victims at least; None when it cannot be had."""

_Entry = tuple[Cost, int, int, int, int, bool]
"""Cost, number of victims, waste, node, stamp, and whether that is the price (or only the bound)."""


class Offers:
    """The prices of some nodes, by one pricer."""

    def __init__(
        self,
        universe: Universe,
        places: Sequence[Place],
        pricer: Pricer,
        *,
        bound: Bound | None = None,
        stocks: Stocks | None = None,
        since: int | None = None,
    ) -> None:
        """`stocks`: where there might be enough; other nodes are not looked at. `since`: a point in the log from which
        on nodes have to be looked at; before it none could be had."""
        self._universe = universe
        self._pricer = pricer
        self._bound = bound
        self._stocks = stocks
        self._seen = len(universe.log)
        self._seen_dearer = len(universe.dearer)
        self._own = frozenset(place.order for place in places)
        self._prices: dict[int, Price | None] = {}
        self._stamps: dict[int, int] = {}
        orders = self._own if since is None else self._own.intersection(universe.log[since:])
        self._heap: list[_Entry] = list(self._entries(self._might(orders)))
        heapify(self._heap)

    def cheapest(self, count: int, below: int | None = None) -> Sequence[tuple[Place, Price]]:
        """At most `count` nodes, the cheapest first: least harm from the highest class down, then fewest
        victims, then least left over, then the node's name. `below`: only prices whose highest class is
        below this.
        """
        self._catch_up()
        heap = self._heap
        taken: list[_Entry] = []
        while heap and len(taken) < count:
            cost, _, _, order, stamp, priced = heap[0]
            if stamp != self._stamps.get(order, 0):
                heappop(heap)
            elif below is not None and cost and cost[0][0] >= below:
                break
            elif priced:
                taken.append(heappop(heap))
            else:
                heappop(heap)
                entry = self._priced(order)
                if entry is not None:
                    heappush(heap, entry)
        for found in taken:
            heappush(heap, found)
        return [(self._universe.places[found[3]], self._prices[found[3]] or Price()) for found in taken]

    def _catch_up(self) -> None:
        log = self._universe.log
        if self._seen == len(log):
            return
        changed = self._own.intersection(log[self._seen :])
        self._seen = len(log)
        again = set(self._might(changed))
        if self._bound is not None:
            # A bound still is one where pieces have become dearer; a price has to be worked out again.
            dearer = self._prices.keys() & self._universe.dearer[self._seen_dearer :]
            again |= dearer
            changed |= dearer
            self._seen_dearer = len(self._universe.dearer)
        for order in self._stamps.keys() & changed:
            self._stamps[order] += 1
            self._prices.pop(order, None)
        for entry in self._entries(again):
            heappush(self._heap, entry)

    def _might(self, orders: Iterable[int]) -> Iterable[int]:
        """Those of some nodes that could give enough."""
        return self._stocks.enough(orders) if self._stocks else orders

    def _entries(self, orders: Iterable[int]) -> Iterable[_Entry]:
        for order in orders:
            if self._bound is None:
                entry = self._priced(order)
                if entry is not None:
                    yield entry
            else:
                least = self._bound(self._universe.places[order])
                if least is not None:
                    yield *least, 0, order, self._stamps.setdefault(order, 0), False

    def _priced(self, order: int) -> _Entry | None:
        found = self._prices[order] = self._pricer(self._universe.places[order])
        if found is None:
            return None
        return found.cost, len(found.victims), found.waste, order, self._stamps.setdefault(order, 0), True
