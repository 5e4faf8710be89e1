"""Finding room for a pending job: free, coming, or made by victims."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush, heapreplace

from scheduler.model.resources import Amounts
from scheduler.preemption.bound_line import BEFORE_ALL, BEHIND_ALL, BoundLine, InLine, step_below
from scheduler.preemption.by_one_resource import ByOneResource, LackingNodes, Offers, most_needed
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import AS_A_WHOLE, GivingWay
from scheduler.preemption.multi_node_search import MadeRoom, MultiNodeSearch, Spanning, highest_class
from scheduler.preemption.node_index import NodeIndex
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Price, price_without_victims
from scheduler.preemption.quotes import ONLY_A_BOUND, Entry, Quotes
from scheduler.preemption.ranking import SECOND_TIER, PreemptionScope
from scheduler.preemption.rooms import Rooms
from scheduler.preemption.shapes import Shape, ShapeKey, Wants, with_type
from scheduler.preemption.spread import Pool
from scheduler.preemption.stock import NodeStocks, Stock, Stocks
from scheduler.preemption.victim_prefix_sums import Stopping, Tiers, VictimPrefixSums

# --- The nodes that can take a shape, the cheapest first, kept up to date instead of worked out again ---
# What single nodes cost is kept in `Quotes`, for all shapes that ask the same of a node; which of its own nodes come
# first, in a heap per shape. When it is asked, it looks again only at the nodes that have changed since the last time,
# and of those only at the ones that could give enough (`stock`); entries of the heap that are out of date are dropped
# when they come to the top. With a lower bound, which is cheap to get, a node is priced only when its bound comes to
# the top; and it still is a lower bound after most changes (`NodeIndex.cheaper`), so that a new one is needed only
# then.
#
# With a line of bounds that many shapes share (`bound_line`), nodes enter the heap only as far as they might be the
# cheapest: another size of request then costs a look at a few nodes, not at all of them.


FEW = 8
"""So many changes are followed one by one, besides one for each node that is known: after more it begins anew."""


class CheapestNodes:
    """The cheapest of some nodes."""

    def __init__(
        self,
        node_indices: frozenset[int],
        quotes: Quotes,
        *,
        stocks: Stocks | None = None,
        since: int | None = None,
        line: BoundLine | None = None,
    ) -> None:
        """`stocks`: where there might be enough; other nodes are not looked at. `since`: a change of nodes (`Changes`)
        from which on they have to be looked at; before it none could be had. `line`: of these nodes."""
        self._quotes = quotes
        self._stocks = stocks
        self._index = index = quotes.index
        self._changes, self._weights = index.changes.watch(), index.weights.watch()
        self._own = node_indices
        self._priced: set[int] = set()
        self._line = line
        self._heap: list[Entry] = []
        index.look()
        self._entered: set[int] = set()
        """Nodes out of the line that are in the heap, or turned out impossible."""
        self._reached = BEFORE_ALL
        self._from_the_beginning = since is None
        if since is not None:
            self._reached, self._changes.seen = BEHIND_ALL, since
        elif line is None:
            self._begin()

    def cheapest(
        self, count: int, below: int | None = None, without: Collection[int] = ()
    ) -> Sequence[tuple[NodeState, Price]]:
        """At most `count` nodes, the cheapest first: least cost from the highest class down, then fewest
        victims, then least left over, then the node's name. `below`: only prices whose highest class is
        below this. `without`: nodes, by their indices, that are passed over this time.
        """
        self._catch_up()
        heap, quotes = self._heap, self._quotes
        last, cheaper, weights = quotes.last, quotes.cheaper, quotes.weights
        line, taken, passed = self._line, list[Entry](), list[Entry]()
        coming = line.next(self._reached) if line else None
        while len(taken) < count:
            if line and coming and (not heap or coming[1] < heap[0]):
                coming = self._enter(line, coming, below)
            if not heap:
                break
            cost, _, _, order, seen, seen_weights = heap[0]
            if order in without:
                passed.append(heappop(heap))
                continue
            only_a_bound = seen_weights < 0
            if (
                seen < cheaper[order]
                if only_a_bound
                else seen != last[order] or seen_weights != weights[order]
            ):
                heappop(heap)
            elif below is not None and cost and cost[0][0] >= below:
                break
            elif not only_a_bound:
                taken.append(heappop(heap))
            else:
                self._sharpen(order, is_close=seen_weights == ONLY_A_BOUND and seen == last[order])
        for found in (*taken, *passed):
            heappush(heap, found)
        places = self._index.places
        return [(places[found[3]], quotes.price(found[3])) for found in taken]

    def _enter(self, line: BoundLine, coming: InLine | None, below: int | None) -> InLine | None:
        """Put into the heap what comes next in the line, as far as it might be cheaper than what is there; returns what
        comes then, or nothing where that is of no interest."""
        heap, entered = self._heap, self._entered
        while coming is not None and (not heap or coming[1] < heap[0]):
            stands, entry = coming
            if below is not None and entry[0] and stands[0] >= below:
                return None
            self._reached = stands
            order = entry[3]
            if order not in entered and (self._stocks is None or self._stocks.enough_on(order)):
                entered.add(order)
                heappush(heap, entry)
            coming = line.next(stands)
        return coming

    def _begin(self) -> None:
        """Look at everything anew."""
        self._changes.skip()
        self._weights.skip()
        self._priced.clear()
        self._entered.clear()
        self._reached = BEFORE_ALL
        self._heap = [] if self._line else self._quotes.entries(self._might(self._own))
        heapify(self._heap)

    def _catch_up(self) -> None:
        self._index.look()
        if self._line:
            self._line.catch_up()
            if self._stocks:
                self._stocks.catch_up()
        if self._from_the_beginning and self._changes.behind > FEW + len(self._heap) + len(self._entered):
            self._begin()
            return
        seen = self._changes.seen
        again = self._to_look_at(self._changes.changed(), seen)
        if reweighed := self._weights.changed():
            # A bound still is one where pieces have become dearer; a price has to be worked out again.
            more = self._priced.intersection(reweighed)
            again = [*again, *more]
            self._priced -= more
        if self._line:
            self._again(self._line, again)
        elif again:
            for entry in self._quotes.entries(self._might(again)):
                heappush(self._heap, entry)

    def _again(self, line: BoundLine, node_indices: Iterable[int]) -> None:
        """Nodes enter the heap again, or later when the line comes to them."""
        entered = self._entered
        for order in node_indices:
            entered.discard(order)
            found = line.of(order)
            if (
                found
                and found[0] <= self._reached
                and (self._stocks is None or self._stocks.enough_on(order))
            ):
                entered.add(order)
                heappush(self._heap, found[1])

    def _to_look_at(self, named: Iterable[int], since: int) -> list[int]:
        """The nodes that have to be looked at again: of those that have changed since a change, the ones that may have
        become cheaper, and the ones that were priced. The bounds of others still are bounds."""
        own, cheaper, priced = self._own, self._quotes.cheaper, self._priced
        result = [order for order in named if order in own and (cheaper[order] > since or order in priced)]
        priced.difference_update(result)
        return result

    def _sharpen(self, order: int, *, is_close: bool) -> None:
        """The node on top of the heap gets its price where its bound is close, else a close bound."""
        if is_close:
            self._priced.add(order)
        entry = self._quotes.priced(order) if is_close else self._quotes.entry(order)
        if entry is None:
            heappop(self._heap)
        else:
            heapreplace(self._heap, entry)

    def _might(self, node_indices: Collection[int]) -> Collection[int]:
        """Those of some nodes that could give enough."""
        return self._stocks.enough(node_indices) if self._stocks else node_indices


# --- What is left over on the nodes onto which a shape fits without victims, worked out for many nodes at a time.


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

        Not for a job that wants nodes for itself: there a small victim may free a whole node. Nor for one in parts:
        what is free counts there only where a whole part is, and a small victim may give what is missing of one.
        """
        if wanted.shape.exclusive or wanted.shape.part:
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
