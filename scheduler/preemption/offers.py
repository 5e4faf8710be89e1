"""The nodes that can take a shape, the cheapest first, kept up to date instead of worked out again.

A heap per shape and way of pricing. When it is asked, it prices again only the nodes that the universe's
log names since the last time; entries of the heap whose price has changed since are dropped when they
come to the top.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from scheduler.preemption.pricing import Cost, Price
from scheduler.preemption.universe import Place, Universe

Pricer = Callable[[Place], Price | None]
_Entry = tuple[Cost, int, int, int, int]


class Offers:
    """The prices of some nodes, by one pricer."""

    def __init__(
        self, universe: Universe, places: Sequence[Place], pricer: Pricer, since: int | None = None
    ) -> None:
        """`since`: a point in the log from which on nodes have to be looked at; before it none could be
        had."""
        self._universe = universe
        self._pricer = pricer
        self._seen = len(universe.log)
        self._prices: dict[int, Price | None] = {place.order: None for place in places}
        fresh = None if since is None else set(universe.log[since:])
        for place in places:
            if fresh is None or place.order in fresh:
                self._prices[place.order] = pricer(place)
        self._stamps: dict[int, int] = {}
        self._heap: list[_Entry] = [
            self._entry(order, price) for order, price in self._prices.items() if price is not None
        ]
        heapify(self._heap)

    def price(self, place: Place) -> Price | None:
        """The present price of a node; None when it cannot take the shape, or is not one of these nodes."""
        self._catch_up()
        return self._prices.get(place.order)

    def cheapest(self, count: int, below: int | None = None) -> Sequence[tuple[Place, Price]]:
        """At most `count` nodes, the cheapest first: least harm from the highest class down, then fewest
        victims, then least left over, then the node's name. `below`: only prices whose highest class is
        below this.
        """
        self._catch_up()
        taken: list[_Entry] = []
        while self._heap and len(taken) < count:
            entry = self._heap[0]
            cost, order = entry[0], entry[3]
            if entry[4] != self._stamps.get(order, 0):
                heappop(self._heap)
                continue
            if below is not None and cost and cost[0][0] >= below:
                break
            taken.append(heappop(self._heap))
        for entry in taken:
            heappush(self._heap, entry)
        return [(self._universe.places[entry[3]], self._prices[entry[3]] or Price()) for entry in taken]

    def _catch_up(self) -> None:
        log = self._universe.log
        if self._seen == len(log):
            return
        for order in sorted(set(log[self._seen :])):
            if order in self._prices:
                self._stamps[order] = self._stamps.get(order, 0) + 1
                price = self._prices[order] = self._pricer(self._universe.places[order])
                if price is not None:
                    heappush(self._heap, self._entry(order, price))
        self._seen = len(log)

    def _entry(self, order: int, price: Price) -> _Entry:
        return price.cost, len(price.victims), price.waste, order, self._stamps.get(order, 0)
