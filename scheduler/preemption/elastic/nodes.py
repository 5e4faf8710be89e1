"""The nodes on which workers of elastic jobs make room for one shape, the cheapest first, for whoever asks.

One heap serves all pending jobs that ask the same of a node, whatever they scope:
1. A node on which all workers together would be enough enters it with a rough bound. One that comes to the top gets a
   closer one for whoever asks, then its price; so few nodes are ever looked at closely, and fewer priced.
2. Where room has only become dearer since (`OnNode.version`), a bound still is one, until it comes to the top.
3. A node that cannot be had is dropped until something on it has become cheaper (`Workers.eased`).
4. Jobs are decided from the highest rank down. For one that reaches no more than the one before it (`within`) all
   costs hold still as bounds, and what was dropped stays so. For any other one everything is looked at anew.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush

from scheduler.preemption.elastic.bounds import ShrinkBounds
from scheduler.preemption.elastic.on_node import OnNode
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import PreemptionScope

Pricer = Callable[[OnNode, PreemptionScope], Price | None]

_Entry = tuple[int, int, int, int, int, int]
"""What a node costs at least (`bounds.Least`), the node, its version then, and for which question that was found out:
twice its number, and one more when it is the price."""


class ElasticNodes:
    """The prices of some nodes, by one pricer."""

    def __init__(
        self, workers: Workers, places: Iterable[NodeState], bounds: ShrinkBounds, pricer: Pricer
    ) -> None:
        self._workers = workers
        self._nodes = workers.among(tuple(places))
        self._bounds = bounds
        self._pricer = pricer
        self._watch, self._watch_eased = workers.changes.watch(), workers.eased.watch()
        self._scope: PreemptionScope | None = None
        self._asked = 0
        self._heap: list[_Entry] = []
        self._versions: dict[int, int] = {}
        """Of the nodes that may be had, the version that their entry in the heap is of: others there are of no use."""
        self._prices: dict[int, Price] = {}

    def cheapest(
        self, count: int, scope: PreemptionScope, without: Collection[int] = ()
    ) -> Sequence[tuple[NodeState, Price]]:
        """At most `count` nodes, the cheapest first: fewest workers, smallest, of the lowest class, the node's name.
        `without`: nodes, by their indices, that are passed over this time."""
        self._catch_up(scope)
        heap, taken, passed, versions = self._heap, list[_Entry](), list[_Entry](), self._versions
        bound, highest = 2 * self._asked, scope.highest
        while heap and len(taken) < count:
            entry = heappop(heap)
            number, _, _, order, version, known = entry
            if versions.get(order) != version:
                continue
            if order in without:
                passed.append(entry)
                continue
            node = self._nodes[order]
            if number and node.lowest > highest:
                del versions[order]
            elif known < bound or version != node.version:
                self._bound(node, scope)
            elif known == bound:
                self._price(node, scope)
            else:
                taken.append(entry)
        for entry in (*taken, *passed):
            heappush(heap, entry)
        return [(self._nodes[order].place, self._prices[order]) for _, _, _, order, _, _ in taken]

    def _bound(self, node: OnNode, scope: PreemptionScope) -> None:
        order = node.place.order
        least = self._bounds.least(node, scope)
        if least is None:
            self._versions.pop(order, None)
        else:
            self._versions[order] = node.version
            heappush(self._heap, (*least, order, node.version, 2 * self._asked))

    def _price(self, node: OnNode, scope: PreemptionScope) -> None:
        order = node.place.order
        price = self._pricer(node, scope)
        if price is None:
            del self._versions[order]
        else:
            self._prices[order] = price
            (number, size, _), (highest, _, _) = price.cost or (_NOTHING, _NOTHING)
            heappush(self._heap, (number, size, highest, order, node.version, 2 * self._asked + 1))

    def _catch_up(self, scope: PreemptionScope) -> None:
        self._workers.up_to_date()
        nodes, changes, eased = self._nodes, self._watch.changed(), self._watch_eased.changed()
        if self._scope is None or not scope.within(self._scope):
            self._versions.clear()
            self._heap = self._rough(nodes.values())
            heapify(self._heap)
        else:
            changed = nodes.keys() & eased
            # What covering makes of many workers is no bound for when there are fewer.
            changed |= self._prices.keys() & changes
            for order in changed:
                self._versions.pop(order, None)
                self._prices.pop(order, None)
            for entry in self._rough([nodes[order] for order in changed]):
                heappush(self._heap, entry)
        if scope != self._scope:
            self._asked += 1
            self._scope = scope

    def _rough(self, nodes: Iterable[OnNode]) -> list[_Entry]:
        """Nodes enter the heap."""
        entries = [(*least, node.place.order, node.version, 0) for least, node in self._bounds.rough(nodes)]
        self._versions.update([(order, version) for _, _, _, order, version, _ in entries])
        return entries


_NOTHING = 0, 0, 0
