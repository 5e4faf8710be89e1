"""What single nodes cost, kept until something changes there: bounds, which are cheap to get, and prices."""

from collections.abc import Callable, Collection
from typing import Protocol

from scheduler.preemption.node_index import NodeIndex
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Cost, Price

Entry = tuple[Cost, int, int, int, int, int]
"""Cost, number of victims, waste, node, and as of which change of it (`NodeIndex`): of the node, and of what its pieces
count for, or ONLY_A_BOUND: it costs that at least, and if it costs just that, so many victims at least. ROUGH: a bound
by one resource alone, and perhaps for less of it."""

ONLY_A_BOUND = -1
ROUGH = -2

Pricer = Callable[[NodeState], Price | None]


class NodeBounds(Protocol):
    """The bounds of some nodes, by their indices, without those that cannot be had: as they are now, or as they were at
    some time since when none of them can have become lower (`NodeIndex.cheaper`)."""

    def __call__(self, node_indices: Collection[int], *, now: bool) -> list[Entry]: ...


class Quotes:
    """What single nodes cost, by one pricer, until something changes there."""

    def __init__(self, index: NodeIndex, pricer: Pricer, bounds: NodeBounds | None = None) -> None:
        """Without bounds, nodes are priced at once, and whatever pieces count for."""
        self.index = index
        self.last = index.changes.last
        self.cheaper = index.cheaper if bounds else index.changes.last
        self.weights = index.weights.last if bounds else [0] * len(index.places)
        self._pricer = pricer
        self._bounds = bounds
        self._known: list[tuple[int, Entry | None]] = [(-1, None)] * len(index.places)
        self._prices: dict[int, tuple[int, int, Price | None]] = {}

    def entries(self, node_indices: Collection[int], *, now: bool = False) -> list[Entry]:
        """What is known of some nodes without pricing them; bounds may be as of an earlier change, or rough, unless
        they are to be close and as of `now`."""
        if self._bounds is None:
            return [entry for entry in map(self.priced, node_indices) if entry]
        if now:
            return [entry for entry in map(self.entry, node_indices) if entry]
        known, last, cheaper = self._known, self.last, self.cheaper
        new = [order for order in node_indices if known[order][0] < cheaper[order]]
        if new:
            for order in new:
                known[order] = last[order], None
            for bound in self._bounds(new, now=False):
                known[bound[3]] = bound[4], bound
        return [entry for order in node_indices if (entry := known[order][1])]

    def entry(self, order: int) -> Entry | None:
        """The close bound of one node as it is now."""
        seen, known = self._known[order]
        if self._bounds and (seen != self.last[order] or (known and known[5] == ROUGH)):
            known = next(iter(self._bounds((order,), now=True)), None)
            self._known[order] = self.last[order], known
        return known

    def priced(self, order: int) -> Entry | None:
        """A node with its price; None when it cannot be had."""
        last, weights = self.last[order], self.weights[order]
        known = self._prices.get(order)
        if known is None or known[0] != last or known[1] != weights:
            known = self._prices[order] = last, weights, self._pricer(self.index.places[order])
        found = known[2]
        return found and (found.cost, len(found.victims), found.waste, order, last, weights)

    def price(self, order: int) -> Price:
        """The price of a node that has one."""
        return self._prices[order][2] or Price()
