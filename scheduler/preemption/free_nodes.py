"""What is left over on the nodes onto which a shape fits without victims, worked out for many nodes at a time."""

from collections.abc import Collection, Sequence

from scheduler.preemption.node_index import NodeIndex
from scheduler.preemption.pricing import Price
from scheduler.preemption.quotes import Entry, Quotes
from scheduler.preemption.stock import Stock, Stocks


class FreeNodes(Quotes):
    """The prices of nodes that cost nobody anything, by what is left over there (`pricing.price_without_victims`)."""

    def __init__(self, index: NodeIndex, there: Stocks, free: Sequence[tuple[str, Stock, int]]) -> None:
        """`there`: where there is enough; `free`: of each resource what is free, and how much is wanted."""
        super().__init__(index, lambda _: None)
        self._there = there
        self._free = free

    def entries(self, node_indices: Collection[int], *, now: bool = False) -> list[Entry]:
        """Those of some nodes onto which it fits."""
        last = self.last
        return [((), 0, waste, order, last[order], 0) for order, waste in self.left_over(node_indices)]

    def left_over(self, node_indices: Collection[int]) -> list[tuple[int, int]]:
        """The same, each with what would be left over there."""
        fitting = self._there.enough(node_indices)
        places, wastes = self.index.places, [0] * len(fitting)
        for name, stock, amount in self._free:
            free = stock.now()
            shares = [(free[order] - amount) * 1000 // places[order].node.total[name] for order in fitting]
            wastes = [*map(int.__add__, wastes, shares)]
        return [*zip(fitting, wastes, strict=True)]

    def price(self, order: int) -> Price:
        """The price of a node onto which it fits."""
        return Price(waste=self.left_over((order,))[0][1])
