"""The nodes that can take a shape, the cheapest first, kept up to date instead of worked out again.

What single nodes cost is kept in `Quotes`, for all shapes that ask the same of a node; which of its own nodes come
first, in a heap per shape. When it is asked, it looks again only at the nodes that have changed since the last time,
and of those only at the ones that could give enough (`stock`); entries of the heap that are out of date are dropped
when they come to the top. With a lower bound, which is cheap to get, a node is priced only when its bound comes to the
top; and it still is a lower bound after most changes (`Changes.cheaper`), so that a new one is needed only then.
"""

from collections.abc import Callable, Collection, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Protocol

from scheduler.preemption.changes import Changes
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Cost, Price
from scheduler.preemption.stock import Stocks

Entry = tuple[Cost, int, int, int, int, int]
"""Cost, number of victims, waste, node, and as of which change of it (`Changes`): of the node, and of what its pieces
count for, or ONLY_A_BOUND: it costs that at least, and if it costs just that, so many victims at least."""

ONLY_A_BOUND = -1

Pricer = Callable[[NodeState], Price | None]


class NodeBounds(Protocol):
    """The bounds of some nodes, by their orders, without those that cannot be had: as they are now, or as they were at
    some time since when none of them can have become lower (`Changes.cheaper`)."""

    def __call__(self, orders: Collection[int], *, now: bool) -> list[Entry]: ...


class Quotes:
    """What single nodes cost, by one pricer, until something changes there."""

    def __init__(
        self,
        changes: Changes,
        pricer: Pricer,
        bounds: NodeBounds | None = None,
        rough: "Quotes | None" = None,
    ) -> None:
        """Without bounds, nodes are priced at once, and whatever pieces count for. `rough`: whose bounds will do, until
        one comes to the top."""
        self.changes = changes
        self.cheaper = changes.cheaper if bounds else changes.last
        self.dearer = changes.dearer if bounds else [0] * len(changes.dearer)
        self._places = changes.universe.places
        self._pricer = pricer
        self._bounds = bounds
        self._rough = rough
        self._known: list[tuple[int, Entry | None]] = [(-1, None)] * len(changes.last)
        self._prices: dict[int, tuple[int, int, Price | None]] = {}

    def entries(self, orders: Collection[int], *, now: bool = False) -> list[Entry]:
        """What is known of some nodes without pricing them; bounds may be as of an earlier change, unless they are to
        be as of `now`."""
        if self._bounds is None:
            return [entry for entry in map(self.priced, orders) if entry]
        if self._rough and not now:
            return self._rough.entries(orders)
        known, last = self._known, self.changes.last
        valid = last if now else self.cheaper
        new = [order for order in orders if known[order][0] < valid[order]]
        if new:
            for order in new:
                known[order] = last[order], None
            for bound in self._bounds(new, now=now):
                known[bound[3]] = bound[4], bound
        return [entry for order in orders if (entry := known[order][1])]

    def priced(self, order: int) -> Entry | None:
        """A node with its price; None when it cannot be had."""
        last, dearer = self.changes.last[order], self.dearer[order]
        known = self._prices.get(order)
        if known is None or known[0] != last or known[1] != dearer:
            known = self._prices[order] = last, dearer, self._pricer(self._places[order])
        found = known[2]
        return found and (found.cost, len(found.victims), found.waste, order, last, dearer)

    def price(self, order: int) -> Price:
        """The price of a node that has one."""
        return self._prices[order][2] or Price()


class CheapestNodes:
    """The cheapest of some nodes."""

    def __init__(
        self,
        orders: frozenset[int],
        quotes: Quotes,
        *,
        stocks: Stocks | None = None,
        since: int | None = None,
    ) -> None:
        """`stocks`: where there might be enough; other nodes are not looked at. `since`: a point in the log from which
        on nodes have to be looked at; before it none could be had."""
        self._quotes = quotes
        self._stocks = stocks
        self._universe = universe = quotes.changes.universe
        self._seen, self._seen_dearer = len(universe.log), len(universe.dearer)
        self._own = orders
        self._priced: set[int] = set()
        quotes.changes.catch_up()
        at_first = orders if since is None else self._changed(since)
        self._heap = quotes.entries(self._might(at_first))
        heapify(self._heap)

    def cheapest(self, count: int, below: int | None = None) -> Sequence[tuple[NodeState, Price]]:
        """At most `count` nodes, the cheapest first: least harm from the highest class down, then fewest
        victims, then least left over, then the node's name. `below`: only prices whose highest class is
        below this.
        """
        self._catch_up()
        heap, quotes = self._heap, self._quotes
        last, cheaper, dearer = quotes.changes.last, quotes.cheaper, quotes.dearer
        taken: list[Entry] = []
        while heap and len(taken) < count:
            cost, _, _, order, seen, seen_dearer = heap[0]
            only_a_bound = seen_dearer == ONLY_A_BOUND
            if seen < cheaper[order] if only_a_bound else seen != last[order] or seen_dearer != dearer[order]:
                heappop(heap)
            elif below is not None and cost and cost[0][0] >= below:
                break
            elif not only_a_bound:
                taken.append(heappop(heap))
            else:
                entry = self._price(order) if seen == last[order] else self._bound(order)
                if entry is None:
                    heappop(heap)
                else:
                    heapreplace(heap, entry)
        for found in taken:
            heappush(heap, found)
        return [(self._universe.places[found[3]], quotes.price(found[3])) for found in taken]

    def _catch_up(self) -> None:
        log, dearer = self._universe.log, self._universe.dearer
        self._quotes.changes.catch_up()
        again: Collection[int] = ()
        if self._seen < len(log):
            again = self._might(self._changed(self._seen))
            self._seen = len(log)
        if self._seen_dearer < len(dearer):
            # A bound still is one where pieces have become dearer; a price has to be worked out again.
            more = self._priced.intersection(dearer[self._seen_dearer :])
            again = [*again, *more]
            self._priced -= more
            self._seen_dearer = len(dearer)
        for entry in self._quotes.entries(again):
            heappush(self._heap, entry)

    def _changed(self, since: int) -> Collection[int]:
        """The nodes that have to be looked at again: of those that have changed since a point in the log, the ones that
        may have become cheaper, and the ones that were priced. The bounds of others still are bounds."""
        changed = self._own.intersection(self._universe.log[since:])
        cheaper, priced = self._quotes.cheaper, self._priced & changed
        self._priced -= priced
        return [order for order in changed if cheaper[order] > since or order in priced]

    def _price(self, order: int) -> Entry | None:
        self._priced.add(order)
        return self._quotes.priced(order)

    def _bound(self, order: int) -> Entry | None:
        return next(iter(self._quotes.entries((order,), now=True)), None)

    def _might(self, orders: Collection[int]) -> Collection[int]:
        """Those of some nodes that could give enough."""
        return self._stocks.enough(orders) if self._stocks else orders
