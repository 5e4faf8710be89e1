"""The nodes by how much they could give of a resource: where something might fit, without a look at all the others."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence

from scheduler.preemption.universe import Place, Universe


class Stock:
    """What every node could give of one resource, the least first, brought up to date by the universe's log."""

    def __init__(self, universe: Universe, most: Callable[[Place], int]) -> None:
        """`most`: how much a node could give."""
        self._universe = universe
        self._most = most
        self._seen = len(universe.log)
        self._has = [most(place) for place in universe.places]
        self._sorted = sorted((has, order) for order, has in enumerate(self._has))

    def at_least(self, amount: int) -> list[int]:
        """The nodes, by their orders, that could give so much."""
        return [order for _, order in self._sorted[self._first(amount) :]]

    def count(self, amount: int) -> int:
        """How many could give so much."""
        return len(self._sorted) - self._first(amount)

    def among(self, orders: Iterable[int], amount: int) -> list[int]:
        """Those of some nodes that could give so much."""
        self._catch_up()
        has = self._has
        return [order for order in orders if has[order] >= amount]

    def _first(self, amount: int) -> int:
        self._catch_up()
        return bisect_left(self._sorted, (amount, -1))

    def _catch_up(self) -> None:
        log = self._universe.log
        if self._seen == len(log):
            return
        for order in set(log[self._seen :]):
            has, had = self._most(self._universe.places[order]), self._has[order]
            if has != had:
                del self._sorted[bisect_left(self._sorted, (had, order))]
                insort(self._sorted, (has, order))
                self._has[order] = has
        self._seen = len(log)


class Stocks:
    """What a shape wants of each node, with the stock of each resource: on which nodes there might be enough."""

    def __init__(self, wanted: Sequence[tuple[Stock, int]]) -> None:
        self._wanted = wanted

    def enough(self, orders: Iterable[int] | None = None) -> list[int]:
        """Of some nodes, or of all, those that could give enough of everything."""
        if orders is None:
            fewest, amount = min(self._wanted, key=lambda each: each[0].count(each[1]))
            orders = fewest.at_least(amount)
        for stock, amount in self._wanted:
            orders = stock.among(orders, amount)
        return list(orders)
