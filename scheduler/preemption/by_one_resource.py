"""The cheapest nodes for a shape, found by the one resource that it needs most of.

Of everything else there is enough, free or coming, on nearly every node. There a shape costs what it would cost if it
asked for that one resource only: requests that differ in the rest ask the same, and share what is kept about nodes. The
few nodes that lack something else are priced one by one for each of them. Where they are not few, a shape has nodes of
its own, as if there were nobody else.
"""

from collections.abc import Collection, Iterable, Sequence, Set
from typing import Protocol

from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Cost, Price
from scheduler.preemption.quotes import Entry, Quotes
from scheduler.preemption.shapes import Shape
from scheduler.preemption.stock import Stock, Stocks

FEW = 48
"""So many nodes that lack something are priced one by one."""

Found = tuple[Cost, int, int, NodeState, Price]


class Offers(Protocol):
    """The nodes that can take a shape, the cheapest first (`CheapestNodes.cheapest`)."""

    def cheapest(
        self, count: int, below: int | None = None, without: Collection[int] = ()
    ) -> Sequence[tuple[NodeState, Price]]: ...


def most_needed(shape: Shape) -> tuple[str, int]:
    """Of what a shape wants, that of which it needs the largest share of a node."""
    total = shape.places[0].node.total
    return max(shape.wants, key=lambda want: want[1] / total[want[0]])


class LackingNodes:
    """On which of its nodes a shape lacks something besides the one resource."""

    def __init__(self, own: Set[int], others: Sequence[tuple[Stock, int]]) -> None:
        """`others`: what there is, free or coming, of the other resources, and how much is wanted."""
        self._own = own
        self._others = others

    def now(self) -> Set[int] | None:
        """Those nodes; None where they are many."""
        result: set[int] = set()
        for stock, amount in self._others:
            lacking = stock.lacking(amount, FEW)
            if lacking is None:
                return None
            result.update(lacking)
        return result & self._own if result else result


class ByOneResource:
    """The nodes of one shape, by those of the one resource."""

    def __init__(self, alike: Offers, lacking: LackingNodes, quotes: Quotes, stocks: Stocks) -> None:
        """`alike`: the nodes by the one resource. `quotes` and `stocks`: of the whole shape."""
        self._alike = alike
        self._lacking = lacking
        self._quotes = quotes
        self._stocks = stocks

    def now(self) -> Offers | None:
        """The nodes as long as nothing changes; None where many of them lack something."""
        lacking = self._lacking.now()
        if lacking:
            return _BesideThoseLacking(self._alike, lacking, self._quotes, self._stocks)
        return None if lacking is None else self._alike


class _BesideThoseLacking:
    """The cheapest nodes by the one resource, and those that lack something else."""

    def __init__(self, alike: Offers, lacking: Set[int], quotes: Quotes, stocks: Stocks) -> None:
        self._alike = alike
        self._lacking = lacking
        self._quotes = quotes
        self._stocks = stocks

    def cheapest(
        self, count: int, below: int | None = None, without: Collection[int] = ()
    ) -> Sequence[tuple[NodeState, Price]]:
        """As `CheapestNodes.cheapest`."""
        found = self._alike.cheapest(count, below, {*self._lacking, *without})
        self._quotes.index.look()
        lacking = [order for order in self._lacking if order not in without]
        bounds = [bound for order in self._stocks.enough(lacking) if (bound := self._quotes.entry(order))]
        return self._with(sorted(bounds), found, count, below) if bounds else found

    def _with(
        self, bounds: Iterable[Entry], found: Sequence[tuple[NodeState, Price]], count: int, below: int | None
    ) -> Sequence[tuple[NodeState, Price]]:
        """The cheapest of those found and of those with these bounds."""
        quotes = self._quotes
        best = [_found(place, price) for place, price in found]
        for bound in bounds:
            if not _is_below(bound, below):
                continue
            if len(best) >= count and bound[:2] > best[count - 1][:2]:
                break
            entry = quotes.priced(bound[3])
            if entry and _is_below(entry, below):
                best.append(_found(quotes.index.places[bound[3]], quotes.price(bound[3])))
                best.sort(key=_order)
        return [(place, price) for _, _, _, place, price in best[:count]]


def _is_below(entry: Entry, below: int | None) -> bool:
    """Whether the highest class that has to give way is below this."""
    cost = entry[0]
    return below is None or not cost or cost[0][0] < below


def _found(place: NodeState, price: Price) -> Found:
    return price.cost, len(price.victims), place.order, place, price


def _order(found: Found) -> tuple[Cost, int, int]:
    return found[:3]
