"""How much each node could give of a resource: so that nobody looks at nodes that could not give enough."""

from collections.abc import Callable, Collection, Iterable, Sequence

from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState


class Stock:
    """What every node could give of one resource, brought up to date by the universe's log."""

    def __init__(self, universe: ClusterState, most: Callable[[NodeState], int]) -> None:
        """`most`: how much a node could give."""
        self._universe = universe
        self._most = most
        self._seen = len(universe.log)
        self._has = [most(place) for place in universe.places]

    def among(self, orders: Iterable[int], amount: int) -> list[int]:
        """Those of some nodes, by their orders, that could give so much."""
        log, has = self._universe.log, self._has
        if self._seen < len(log):
            for order in set(log[self._seen :]):
                has[order] = self._most(self._universe.places[order])
            self._seen = len(log)
        return [order for order in orders if has[order] >= amount]


class Stocks:
    """What a shape wants of each node, with the stock of each resource: on which nodes there might be enough."""

    def __init__(self, wanted: Sequence[tuple[Stock, int]]) -> None:
        self._wanted = wanted

    def enough(self, orders: Collection[int]) -> Collection[int]:
        """Of some nodes those that could give enough of everything."""
        for stock, amount in self._wanted:
            orders = stock.among(orders, amount)
        return orders
