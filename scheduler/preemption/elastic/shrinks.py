"""Where workers of elastic jobs make room: on one node, on several, or anywhere (spec 4.1 to 4.3).

For a request for one node, the node whose workers come cheapest; for several nodes, one after the other, each
shrink counted before the next; for amounts or units anywhere, what `covering` finds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush

from scheduler.preemption.by_one_resource import LackingNodes, most_needed
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.elastic.covering import cover
from scheduler.preemption.elastic.nodes import ElasticNodes
from scheduler.preemption.elastic.prices import Prices
from scheduler.preemption.elastic.supply import Supply
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import Cost, Loss, Price
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.search import RoomSearch
from scheduler.preemption.shapes import Shape, ShapeKey
from scheduler.preemption.units.anywhere import trial_in_pieces

# --- The nodes on which workers make room for a shape, found by the one resource that it needs most of ---
# As `by_one_resource`: where there is enough of everything else, requests that differ in the rest ask the same.


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


Losses = dict[RunningJob, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Who loses how many pieces where, and the nodes that a request for nodes then gets."""

    losses: Losses
    places: tuple[NodeState, ...] = ()


class Shrinks:
    """Finds workers for one state of the cluster; prices of nodes are kept and brought up to date."""

    def __init__(self, cluster_state: ClusterState, search: RoomSearch) -> None:
        self._cluster_state = cluster_state
        self._search = search
        self._workers = Workers(cluster_state)
        self._alike: dict[ShapeKey, ElasticNodes] = {}
        self._nodes: dict[ShapeKey, tuple[Prices, ElasticNodes | AlikeNodes]] = {}
        self._supplies: dict[ShapeKey, Supply] = {}
        self._same: dict[tuple[object, ...], Supply] = {}
        self._scopes: dict[PreemptionScope, PreemptionScope] = {}
        """Of equal ones always the first: what is within scope on a node is kept for it (`OnNode.within`)."""

    def find(self, shape: Shape, scope: PreemptionScope) -> Shrunk | None:
        """The workers that make room for a request; None when all that may be taken is not enough."""
        scope = self._scopes.setdefault(scope, scope)
        if not shape.count:
            return self._anywhere(shape, scope)
        if shape.count == 1:
            _, nodes = self._priced(shape)
            cheapest = nodes.cheapest(1, scope)
            if not cheapest:
                return None
            ((place, price),) = cheapest
            return Shrunk(by_runner(price.losses), (place,))
        return self._several(shape, scope)

    def take_apart(self) -> None:
        """Nothing is asked any more: the prices of nodes, which refer to this, are let go of."""
        self._nodes.clear()
        self._alike.clear()

    def _anywhere(self, shape: Shape, scope: PreemptionScope) -> Shrunk | None:
        """Workers on any nodes; a look at their sum often says at once that all of them are not enough."""
        pool = self._search.pool(shape)
        short: dict[str, int] = {}
        if not shape.exclusive:
            soon = pool.soon()
            short = {name: rest for name, amount in shape.asked if (rest := amount - soon.get(name, 0)) > 0}
        choice = self._supply(shape).choice(scope, short)
        losses = cover(trial_in_pieces(pool, shape), choice) if choice else None
        return Shrunk(by_runner(losses)) if losses else None

    def _supply(self, shape: Shape) -> Supply:
        known = self._supplies.get(shape.pool)
        if known is None:
            made = Supply(self._workers, shape)
            known = self._supplies[shape.pool] = self._same.setdefault(made.key, made)
        return known

    def _priced(self, shape: Shape) -> tuple[Prices, ElasticNodes | AlikeNodes]:
        """The nodes on which workers of elastic jobs are, with what it takes that the shape fits there."""
        key = shape.wants, shape.exclusive, shape.node_indices
        known = self._nodes.get(key)
        if known is None:
            prices = Prices(self._workers, shape)
            known = self._nodes[key] = prices, self._made(shape, prices)
        return known

    def _made(self, shape: Shape, prices: Prices) -> ElasticNodes | AlikeNodes:
        """What is kept of these nodes: shared with all shapes that need as much of what they need most of."""
        if shape.exclusive or not shape.places:
            return self._own(shape, prices)
        one = most_needed(shape)
        key = one, shape.node_indices
        alike = self._alike.get(key)
        if alike is None:
            single = replace(shape, wants=(one,))
            alike = self._alike[key] = self._own(single, Prices(self._workers, single))
        if len(shape.wants) == 1:
            return alike
        lacking = self._search.lacking(shape, one)
        return AlikeNodes(self._workers, alike, lacking, prices, partial(self._own, shape, prices))

    def _own(self, shape: Shape, prices: Prices) -> ElasticNodes:
        return ElasticNodes(self._workers, shape.places, prices.bounds, prices.of)

    def _several(self, shape: Shape, scope: PreemptionScope) -> Shrunk | None:
        """Nodes that are free first, then the cheapest, one after the other."""
        prices, nodes = self._priced(shape)
        look_at = shape.count
        offers = nodes.cheapest(look_at, scope)
        if not offers:
            return None
        free = self._search.free_places(shape, shape.count, coming=self._cluster_state.coming)
        if len(free) >= shape.count:
            return None
        while True:
            found = self._one_by_one(shape.count, scope, prices, free, offers)
            if len(offers) < look_at:
                return found and found[0]
            last, price = offers[-1]
            if found and found[1] <= (price.cost, last.order):
                return found[0]
            look_at *= 4
            offers = nodes.cheapest(look_at, scope)

    def _one_by_one(
        self,
        count: int,
        scope: PreemptionScope,
        prices: Prices,
        free: Sequence[NodeState],
        offers: Iterable[tuple[NodeState, Price]],
    ) -> tuple[Shrunk, tuple[Cost, int]] | None:
        """Of some nodes the cheapest, each priced again with what jobs lose on those before it; and the last one with
        its cost."""
        chosen, losses, used = list(free), Counter[tuple[RunningJob, str]](), dict[RunningJob, int]()
        known = {place.order for place in free}
        heap = [(price.cost, place.order) for place, price in offers if place.order not in known]
        heapify(heap)
        last: tuple[Cost, int] = (), -1
        while heap and len(chosen) < count:
            last = cost, order = heappop(heap)
            place = self._cluster_state.places[order]
            price = prices.beside(self._workers.on(place), scope, used)
            if price is None:
                continue
            if price.cost > cost:
                heappush(heap, (price.cost, order))
                continue
            chosen.append(place)
            for runner, node, lost in price.losses:
                losses[runner, node] += lost
                used[runner] = used.get(runner, 0) + lost
        if len(chosen) < count:
            return None
        by = by_runner((runner, node, lost) for (runner, node), lost in losses.items())
        return Shrunk(by, tuple(sorted(chosen, key=lambda place: place.order))), last


def by_runner(losses: Iterable[Loss]) -> Losses:
    """Losses by job, in the order of the jobs; of each by node."""
    result: Losses = {}
    for runner, node, count in sorted(losses, key=lambda loss: (loss[0].order, loss[1])):
        mine = result.setdefault(runner, {})
        mine[node] = mine.get(node, 0) + count
    return result
