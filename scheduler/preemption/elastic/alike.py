"""The nodes on which workers make room for a shape, found by the one resource that it needs most of.

As `by_one_resource`: where there is enough of everything else, requests that differ in the rest ask the same.
"""

from collections.abc import Callable, Sequence, Set

from scheduler.preemption.by_one_resource import LackingNodes
from scheduler.preemption.elastic.nodes import ElasticNodes
from scheduler.preemption.elastic.prices import Prices
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import PreemptionScope

_Place = tuple[int, int, int, int]
"""Where a price stands: number of workers, size, highest class (`bounds.Least`), the node."""


class AlikeNodes:
    """The nodes of one shape, the cheapest first."""

    def __init__(
        self,
        workers: Workers,
        alike: ElasticNodes,
        lacking: LackingNodes,
        prices: Prices,
        own: Callable[[], ElasticNodes],
    ) -> None:
        """`alike`: the nodes by the one resource. `prices`: of the whole shape; `own`: makes nodes that are kept for it
        alone."""
        self._workers = workers
        self._alike = alike
        self._lacking = lacking
        self._prices = prices
        self._make_own = own
        self._own: ElasticNodes | None = None

    def cheapest(self, count: int, scope: PreemptionScope) -> Sequence[tuple[NodeState, Price]]:
        """As `ElasticNodes.cheapest`."""
        lacking = self._lacking.now()
        if lacking is None:
            if self._own is None:
                self._own = self._make_own()
            return self._own.cheapest(count, scope)
        found = self._alike.cheapest(count, scope, lacking)
        return self._with(lacking, found, count, scope) if lacking else found

    def _with(
        self,
        lacking: Set[int],
        found: Sequence[tuple[NodeState, Price]],
        count: int,
        scope: PreemptionScope,
    ) -> Sequence[tuple[NodeState, Price]]:
        """The cheapest of those found and of those that lack something."""
        nodes = self._workers.up_to_date()
        best = [(_place(place, price), place, price) for place, price in found]
        for _, node in self._prices.bounds.rough([nodes[order] for order in lacking if order in nodes]):
            least = self._prices.bounds.least(node, scope)
            if least is None or (len(best) >= count and (*least, node.place.order) > best[count - 1][0]):
                continue
            price = self._prices.of(node, scope)
            if price:
                best.append((_place(node.place, price), node.place, price))
                best.sort(key=_first)
        return [(place, price) for _, place, price in best[:count]]


def _place(place: NodeState, price: Price) -> _Place:
    (number, size, _), (highest, _, _) = price.cost or _NOTHING
    return number, size, highest, place.order


def _first(found: tuple[_Place, NodeState, Price]) -> _Place:
    return found[0]


_NOTHING = (0, 0, 0), (0, 0, 0)
