"""Finding room for a pending job: free, coming, or made by victims."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler.model.resources import Amounts
from scheduler.preemption.bound_line import BoundLine, step_below
from scheduler.preemption.by_one_resource import ByOneResource, LackingNodes, Offers, most_needed
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.cheapest_nodes import CheapestNodes
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.free_nodes import FreeNodes
from scheduler.preemption.giving_way import AS_A_WHOLE, GivingWay
from scheduler.preemption.multi_node_search import MadeRoom, MultiNodeSearch, Spanning, highest_class
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Price, price_without_victims
from scheduler.preemption.quotes import Quotes
from scheduler.preemption.ranking import SECOND_TIER, PreemptionScope
from scheduler.preemption.rooms import Rooms
from scheduler.preemption.shapes import Shape, ShapeKey, Wants, with_type
from scheduler.preemption.spread import Pool
from scheduler.preemption.stock import NodeStocks
from scheduler.preemption.victim_prefix_sums import Stopping, Tiers, VictimPrefixSums

Placement = Mapping[str, Amounts]

PoolOf = Callable[[Shape], type[Pool] | None]
"""What a request that names no number of nodes is counted in, if not in amounts (`methods.Method.pool`)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pending job's question: its shape and what it may stop."""

    shape: Shape
    scope: PreemptionScope


class RoomSearch:
    """Answers for one state of the cluster; keeps what it has worked out, and brings it up to date when asked again."""

    def __init__(
        self, cluster_state: ClusterState, way: GivingWay = AS_A_WHOLE, pools: Sequence[PoolOf] = ()
    ) -> None:
        self._cluster_state = cluster_state
        self._way = way
        self._pools_of = pools
        self._candidates = Candidates(cluster_state, way.is_fixed)
        self._spanning = Spanning(cluster_state)
        self._pools: dict[ShapeKey, Pool] = {}
        self._rooms: dict[ShapeKey, Rooms] = {}
        self._without: dict[tuple[ShapeKey, bool], CheapestNodes] = {}
        self._ladders: dict[tuple[str, Tiers], VictimPrefixSums] = {}
        self._stopping: dict[tuple[ShapeKey, Tiers], CheapestNodes] = {}
        self._by_one_resource: dict[tuple[ShapeKey, Tiers], ByOneResource] = {}
        self._alike: dict[tuple[object, ...], CheapestNodes] = {}
        self._quoted: dict[tuple[Wants, bool, str, Tiers], Quotes] = {}
        self._lines: dict[tuple[frozenset[int], Quotes], BoundLine] = {}
        self._noted: set[tuple[str, frozenset[int]]] = set()
        self._stocks = NodeStocks(cluster_state.index)
        self._failed: dict[ShapeKey, int] = {}

    def room(self, shape: Shape, *, coming: bool) -> Placement | None:
        """Room without stopping anybody, counting what is coming or not."""
        if not shape.count:
            pool = self.pool(shape)
            return pool.placement(shape, coming=coming) if pool.fits(shape, coming=coming) else None
        found = self._fits(shape, coming=coming).cheapest(shape.count)
        return placed(shape, [place for place, _ in found]) if len(found) == shape.count else None

    def free_places(self, shape: Shape, most: int, *, coming: bool) -> list[NodeState]:
        """At most so many nodes on which a shape fits without victims, counting what is coming or not."""
        return [place for place, _ in self._fits(shape, coming=coming).cheapest(most)]

    def fitting(self, shape: Shape, *, coming: bool) -> Sequence[tuple[NodeState, Price]]:
        """All nodes on which the shape fits without victims, the one with the least left over first."""
        return self._fits(shape, coming=coming).cheapest(len(shape.places))

    def each(self, shape: Shape, *, coming: bool) -> Iterable[tuple[int, Amounts]]:
        """What each node (by its order) has free or coming of what a spread request asks for."""
        return self.pool(shape).each(coming=coming)

    def cheapest(self, wanted: Wanted, count: int, *, both: bool) -> Sequence[tuple[NodeState, Price]]:
        """At most so many nodes one by one, with the price of each: by the first tier of victims alone, or both."""
        return (self._both if both else self._first)(wanted, count)

    def victims(self, wanted: Wanted) -> MadeRoom | None:
        """Who has to go so that the job fits (with what is free and coming), and where it then runs.

        For a spread request the room names no nodes: what is used where is seen once the victims are stopped.
        """
        shape = wanted.shape
        if not shape.count:
            found = self.pool(shape).price(shape, wanted.scope) if self._could_be(wanted) else None
            return MadeRoom((), found) if found and found.victims else None
        room = self._nodes(wanted)
        if room is None:
            self._note_failure(wanted)
        return room

    def placement(self, shape: Shape, room: MadeRoom) -> Placement:
        """What the job takes on each node, its victims being stopped."""
        return (
            placed(shape, list(room.places))
            if shape.count
            else self.pool(shape).placement(shape, coming=True)
        )

    def free(self, shape: Shape, nodes: Iterable[str]) -> dict[str, int]:
        """What is free now of what the shape wants: on these nodes together, or anywhere for a spread
        request."""
        if not shape.count and not shape.part:
            return dict(self.pool(shape).now())
        places = [self._cluster_state.by_name[node] for node in nodes] if shape.count else shape.places
        rooms = [place.free for place in places]
        return {name: sum(max(0, room.get(name, 0)) for room in rooms) for name, _ in shape.wants}

    def _nodes(self, wanted: Wanted) -> MadeRoom | None:
        """The first tier alone if that is enough, else both tiers (spec 1.4)."""
        shape, scope = wanted.shape, wanted.scope
        found, tiers = self._first(wanted, shape.count), None
        if len(found) < shape.count and scope.second_floor is not None:
            found, tiers = self._both(wanted, shape.count), (scope.first, scope.first_floor)
        if len(found) < shape.count:
            return None
        if shape.count > 1 and self._spanning.is_needed(scope, dearest := highest_class(found)):
            ladders = self._on_nodes(shape.cost_in, tiers)
            together = MultiNodeSearch(self._spanning, ladders, shape, scope, dearest)
            room = together.room(self._offers(shape, tiers))
            return self._way.settled(room, shape, scope)
        places = sorted((place for place, _ in found), key=lambda place: place.order)
        victims = [known for _, known in reversed(found)]
        return MadeRoom(tuple(places), _sum(victims))

    def _fits(self, shape: Shape, *, coming: bool) -> CheapestNodes:
        offers = self._without.get((shape.each, coming))
        if offers is None:
            if shape.exclusive:
                quotes = Quotes(
                    self._cluster_state.index, lambda place: price_without_victims(place, shape, coming)
                )
                stocks = self._stocks.present(shape.wants, coming=coming)
                offers = CheapestNodes(shape.node_indices, quotes, stocks=stocks)
            else:
                offers = CheapestNodes(shape.node_indices, self.free_nodes(shape, coming=coming))
            self._without[shape.each, coming] = offers
        return offers

    def free_nodes(self, shape: Shape, *, coming: bool) -> FreeNodes:
        """The nodes onto which a shape fits that shares them, without victims, counting what is coming or not."""
        wanted = [(name, self._stocks.of(name, coming=False), amount) for name, amount in shape.wants]
        return FreeNodes(self._cluster_state.index, self._stocks.present(shape.wants, coming=coming), wanted)

    def _first(self, wanted: Wanted, count: int) -> Sequence[tuple[NodeState, Price]]:
        """The cheapest nodes by the first tier alone."""
        return self._offers(wanted.shape, None).cheapest(count, wanted.scope.first_floor)

    def _both(self, wanted: Wanted, count: int) -> Sequence[tuple[NodeState, Price]]:
        """The cheapest nodes by both tiers: where the first is enough, the second changes nothing."""
        scope = wanted.scope
        below = SECOND_TIER + (scope.second_floor or 0)
        return self._offers(wanted.shape, (scope.first, scope.first_floor)).cheapest(count, below)

    def _offers(self, shape: Shape, tiers: Tiers) -> Offers:
        """Prices in which nobody of the last tier is out of scope: the caller cuts it off."""
        if shape.exclusive or len(shape.wants) < 2 or not shape.places:
            return self._own_offers(shape, tiers)
        offers = self._by_one_resource.get((shape.each, tiers))
        if offers is None:
            offers = self._by_one_resource[shape.each, tiers] = self._by_one(shape, tiers)
        return offers.now() or self._own_offers(shape, tiers)

    def _own_offers(self, shape: Shape, tiers: Tiers) -> CheapestNodes:
        """Nodes that are kept for this shape alone."""
        offers = self._stopping.get((shape.each, tiers))
        if offers is None:
            since = self._failed.get(shape.each) if tiers else None
            offers = self._stopping[shape.each, tiers] = self._made(shape, tiers, since)
        return offers

    def _by_one(self, shape: Shape, tiers: Tiers) -> ByOneResource:
        """Nodes that are kept for all shapes that need as much of what they need most of."""
        one = most_needed(shape)
        key = one, shape.node_indices, shape.cost_in, tiers
        alike = self._alike.get(key)
        if alike is None:
            alike = self._alike[key] = self._made(replace(shape, wants=(one,)), tiers)
        stocks = self._stocks.obtainable(shape.wants)
        return ByOneResource(alike, self.lacking(shape, one), self._quotes(shape, tiers), stocks)

    def _made(self, shape: Shape, tiers: Tiers, since: int | None = None) -> CheapestNodes:
        if not self._way.is_fixed(shape.cost_in):
            self._note_loss(shape)
        stocks = None if shape.exclusive else self._stocks.obtainable(shape.wants)
        quotes, line = self._quotes(shape, tiers), self._line(shape, tiers)
        return CheapestNodes(shape.node_indices, quotes, stocks=stocks, since=since, line=line)

    def lacking(self, shape: Shape, one: tuple[str, int]) -> LackingNodes:
        """On which of its nodes a shape lacks something besides the one resource."""
        others = [(self._stocks.of(name, coming=True), n) for name, n in shape.wants if name != one[0]]
        return LackingNodes(shape.node_indices, others)

    def _note_loss(self, shape: Shape) -> None:
        """Who loses a part costs less from then on: what it is now is noted of all these nodes at the same time."""
        if (shape.cost_in, shape.node_indices) not in self._noted:
            self._noted.add((shape.cost_in, shape.node_indices))
            for place in shape.places:
                self._candidates.on(place, shape.cost_in)

    def _quotes(self, shape: Shape, tiers: Tiers) -> Quotes:
        """What single nodes cost: the same for all shapes that ask the same of a node, whatever nodes they allow."""
        key = shape.wants, shape.exclusive, shape.cost_in, tiers
        if key not in self._quoted:
            first = self._quotes(shape, None) if tiers else None
            stopping = Stopping(self._on_nodes(shape.cost_in, tiers), shape, self._way.choice, first)
            self._quoted[key] = Quotes(self._cluster_state.index, stopping.price, stopping.bounds)
        return self._quoted[key]

    def _line(self, shape: Shape, tiers: Tiers) -> BoundLine | None:
        """These nodes by what they cost at least: the same for all shapes that ask for about as much of what they need
        most of."""
        if shape.exclusive or not shape.places:
            return None
        name, amount = most_needed(shape)
        alike = replace(shape, wants=((name, step_below(amount)),))
        quotes = self._quotes(alike, tiers)
        line = self._lines.get((shape.node_indices, quotes))
        if line is None:
            stocks = self._stocks.obtainable(alike.wants)
            line = self._lines[shape.node_indices, quotes] = BoundLine(shape.node_indices, quotes, stocks)
        return line

    def _on_nodes(self, cost_in: str, tiers: Tiers) -> VictimPrefixSums:
        ladders = self._ladders.get((cost_in, tiers))
        if ladders is None:
            first = self._on_nodes(cost_in, None) if tiers else None
            index = self._cluster_state.index
            ladders = self._ladders[cost_in, tiers] = VictimPrefixSums(
                index, self._candidates, cost_in, first, tiers, self._way.ladder
            )
        return ladders

    def _note_failure(self, wanted: Wanted) -> None:
        """Remember from which change on a node could serve this shape again.

        Jobs are decided from the highest rank down and whoever comes later reaches no further, so a node
        that could not be had now cannot be had later unless something changes on it. Not so with bands in
        a mode of two axes, where a lower job may reach another band's jobs; and not for several nodes,
        where some of them may be had.
        """
        ranking = self._cluster_state.ranking
        if wanted.shape.count == 1 and not (ranking.two_axes and ranking.bands):
            self._failed[wanted.shape.each] = self._cluster_state.index.changes.now

    def pool(self, shape: Shape) -> Pool:
        """What a request that names no number of nodes is counted in."""
        pool = self._pools.get(shape.pool)
        if pool is None:
            rooms = self._rooms.get(Rooms.key(shape)) or Rooms(self._cluster_state, shape)
            self._rooms[Rooms.key(shape)] = rooms
            kind = next((kind for pool_of in self._pools_of if (kind := pool_of(shape))), Pool)
            pool = kind(self._cluster_state, self._candidates, shape, rooms, self._way.trial)
            self._pools[shape.pool] = pool
        return pool

    def _could_be(self, wanted: Wanted) -> bool:
        """A quick no: not even with all that the jobs in scope hold, wherever they are.

        Not for a job that wants nodes for itself: there a small victim may free a whole node.
        """
        if wanted.shape.exclusive:
            return True
        held = self._cluster_state.below(wanted.scope).held()
        pool = self.pool(wanted.shape)
        soon, least = pool.soon(), pool.least(wanted.shape)
        return all(soon.get(name, 0) + held.get(name, 0) >= amount for name, amount in least)


def placed(shape: Shape, places: list[NodeState]) -> Placement:
    """What a shape takes on the nodes it gets, in their order."""
    return {
        place.node.name: dict(place.node.total) if shape.exclusive else with_type(place, dict(shape.wants))
        for place in sorted(places, key=lambda place: place.order)
    }


def _sum(prices: list[Price]) -> Price:
    """Prices of different nodes whose victims have nothing to do with each other, the dearest first.

    Who loses something on several of them is named once.
    """
    if len(prices) == 1:
        return prices[0]
    victims = dict.fromkeys(runner for known in prices for runner in known.victims)
    return Price(victims=tuple(victims), losses=tuple(loss for known in prices for loss in known.losses))
