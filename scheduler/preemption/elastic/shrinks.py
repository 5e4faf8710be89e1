"""Where workers of elastic jobs make room: on one node, on several, or anywhere (spec 4.1 to 4.3).

For a request for one node, the node whose workers come cheapest; for several nodes, one after the other, each
shrink counted before the next; for amounts or units anywhere, what `covering` finds.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from scheduler.model.resources import add, covers, total
from scheduler.preemption.elastic.bounds import Bounds
from scheduler.preemption.elastic.covering import cover, on_one_node
from scheduler.preemption.elastic.nodes import Nodes
from scheduler.preemption.elastic.supply import Supply
from scheduler.preemption.elastic.workers import Worker, Workers
from scheduler.preemption.pricing import FREE, Cost, Loss, Price, missing
from scheduler.preemption.ranking import Reach
from scheduler.preemption.search import Search
from scheduler.preemption.shapes import Shape, ShapeKey
from scheduler.preemption.trials import Places
from scheduler.preemption.universe import Place, Runner, Universe

Losses = dict[Runner, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Who loses how many pieces where, and the nodes that a request for nodes then gets."""

    losses: Losses
    places: tuple[Place, ...] = ()


class Shrinks:
    """Finds workers for one universe; prices of nodes are kept and brought up to date."""

    def __init__(self, universe: Universe, search: Search) -> None:
        self._universe = universe
        self._search = search
        self._workers = Workers(universe)
        self._nodes: dict[ShapeKey, Nodes] = {}
        self._supplies: dict[ShapeKey, Supply] = {}
        self._same: dict[tuple[object, ...], Supply] = {}

    def find(self, shape: Shape, reach: Reach) -> Shrunk | None:
        """The workers that make room for a request; None when all that may be taken is not enough."""
        if not shape.count:
            return self._anywhere(shape, reach)
        if shape.count == 1:
            cheapest = self._priced(shape).cheapest(1, reach)
            if not cheapest:
                return None
            ((place, price),) = cheapest
            return Shrunk(by_runner(price.losses), (place,))
        return self._several(shape, reach)

    def take_apart(self) -> None:
        """Nothing is asked any more: the prices of nodes, which refer to this, are let go of."""
        self._nodes.clear()

    def _anywhere(self, shape: Shape, reach: Reach) -> Shrunk | None:
        """Workers on any nodes; most often a sum says at once that all of them are not enough."""
        pool = self._search.pool(shape)
        supply = self._supply(shape)
        most = supply.most(reach)
        add(most, pool.soon())
        if not (shape.exclusive or covers(most, dict(shape.asked))):
            return None
        choice = supply.choice(reach)
        losses = cover(pool.trial(shape), choice) if choice.number else None
        return Shrunk(by_runner(losses)) if losses else None

    def _supply(self, shape: Shape) -> Supply:
        known = self._supplies.get(shape.pool)
        if known is None:
            made = Supply(self._universe, self._workers, shape)
            known = self._supplies[shape.pool] = self._same.setdefault(made.key, made)
        return known

    def _priced(self, shape: Shape) -> Nodes:
        """The nodes on which workers of elastic jobs are, with what it takes that the shape fits there."""
        nodes = self._nodes.get(shape.each)
        if nodes is None:
            bounds = Bounds(self._workers, shape)
            nodes = Nodes(
                self._workers, shape.places, bounds, lambda place, reach: self._price(place, shape, reach, {})
            )
            self._nodes[shape.each] = nodes
        return nodes

    def _price(self, place: Place, shape: Shape, reach: Reach, used: dict[Runner, int]) -> Price | None:
        """What a node costs: fewest workers, then the smallest, then the lowest rank.

        `used`: what jobs lose elsewhere.
        """
        mine = self._workers.on(place).within(reach)
        workers = [left for worker in mine if (left := worker.left(used.get(worker.runner, 0)))]
        losses: Sequence[Loss] | None
        if shape.exclusive:
            losses = _everybody(place, shape, workers)
        else:
            short = missing(place, shape)
            if not short:
                return FREE
            all_of_them = covers(total(worker.all for worker in workers), short)
            losses = cover(Places((place,), shape), on_one_node(workers)) if all_of_them else None
        if losses is None:
            return None
        known = {worker.runner: worker for worker in workers}
        size = sum(known[runner].size * count for runner, _, count in losses)
        highest = max((known[runner].rank[0] for runner, _, _ in losses), default=0)
        cost: Cost = ((len(losses), size, 0), (highest, 0, 0))
        return Price(cost, tuple(runner for runner, _, _ in losses), 0, tuple(losses))

    def _several(self, shape: Shape, reach: Reach) -> Shrunk | None:
        """Nodes that are free first, then the cheapest, one after the other."""
        free = self._search.free_places(shape, shape.count, coming=True)
        if len(free) >= shape.count:
            return None
        look_at = 2 * shape.count + 8
        while True:
            offers = self._priced(shape).cheapest(look_at, reach)
            found = self._one_by_one(shape, reach, free, offers)
            if len(offers) < look_at:
                return found and found[0]
            if found and found[1] <= offers[-1][1].cost:
                return found[0]
            look_at *= 4

    def _one_by_one(
        self, shape: Shape, reach: Reach, free: Sequence[Place], offers: Iterable[tuple[Place, Price]]
    ) -> tuple[Shrunk, Cost] | None:
        """Of some nodes the cheapest, each priced again with what jobs lose on those before it; and the last's cost."""
        chosen, losses, used = list(free), Counter[tuple[Runner, str]](), dict[Runner, int]()
        known = {place.order for place in free}
        heap = [(price.cost, place.order) for place, price in offers if place.order not in known]
        heapify(heap)
        cost: Cost = ()
        while heap and len(chosen) < shape.count:
            cost, order = heappop(heap)
            place = self._universe.places[order]
            price = self._price(place, shape, reach, used)
            if price is None:
                continue
            if price.cost > cost:
                heappush(heap, (price.cost, order))
                continue
            chosen.append(place)
            for runner, node, count in price.losses:
                losses[runner, node] += count
                used[runner] = used.get(runner, 0) + count
        if len(chosen) < shape.count:
            return None
        lost = by_runner((runner, node, count) for (runner, node), count in losses.items())
        return Shrunk(lost, tuple(sorted(chosen, key=lambda place: place.order))), cost


def by_runner(losses: Iterable[Loss]) -> Losses:
    """Losses by job, in the order of the jobs; of each by node."""
    result: Losses = {}
    for runner, node, count in sorted(losses, key=lambda loss: (loss[0].order, loss[1])):
        mine = result.setdefault(runner, {})
        mine[node] = mine.get(node, 0) + count
    return result


def _everybody(place: Place, shape: Shape, workers: Sequence[Worker]) -> list[Loss] | None:
    """For a node that must be empty: all who are on it, if they may all go from it."""
    name = place.node.name
    going = [w for w in workers if w.runner.pieces and w.count == w.runner.pieces.counts[name]]
    enough = all(place.node.total.get(resource, 0) >= amount for resource, amount in shape.wants)
    return [(w.runner, name, w.count) for w in going] if enough and len(going) == place.holders else None
