"""Which nodes a balanced job gets (spec 5.2, 5.5): without stopping anybody, and where others may be stopped for it.

- Applies to jobs that are to have an even set and ask for the resource that is measured, on several nodes or counted
  over nodes, or for several of one node where a node's own differ; requests in units are placed like any others.
- Nodes without a measured power are no candidates as long as the measured ones that the request allows suffice.
- Free room: the set inside one compute unit with the smallest distance if that is small enough, else the set with the
  smallest distance anywhere (`evenset`). What is counted over nodes comes from one node first, if one has it all.
- Where somebody must be stopped, cost_in comes first: nodes are looked at from the cheapest on, until some of them are
  close enough together. The dearest node is then as cheap as it can be. Victims are chosen on nodes of that range of
  power only (`search`), so whatever they are, the set is even. A set inside one unit is preferred where that does
  hardly more harm (`inside_a_unit`).
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple, TypeVar

from scheduler.model.jobs import SnapshotJob
from scheduler.model.nodes import figures
from scheduler.model.policy import Balance
from scheduler.model.resources import add, covers, subtract
from scheduler.preemption.balance.evenset import Member, best_set, distance_of, first_set, scaled
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Price, present, price_without_victims
from scheduler.preemption.search import Placement, RoomSearch, Wanted, placed
from scheduler.preemption.shapes import Shape, ShapeKey, indices_of

# --- The compute-power topology of the cluster (spec 5.1): nodes by the measured power of their processors of one
# resource, with the compute unit that they belong to.


LeftOver = Callable[[Collection[int]], Iterable[tuple[int, int]]]
"""Those of some nodes onto which a shape fits, each with what is left over there."""


class Powers:
    """What is measured: of each node, by its order, the lowest (`of`) and the highest (`high`) power of its processors
    of one resource. `differ`: whether they are unlike on any node."""

    def __init__(self, cluster_state: ClusterState, resource: str) -> None:
        self._cluster_state = cluster_state
        measured = {
            place.order: figures(place.node.power[resource])
            for place in cluster_state.places
            if resource in place.node.power
        }
        self.of = {order: scaled(min(each)) for order, each in measured.items()}
        self.high = {order: scaled(max(each)) for order, each in measured.items()}
        self.differ = self.of != self.high
        self.units = {
            place.order: place.node.unit for place in cluster_state.places if place.node.unit is not None
        }
        self._sorted = sorted((power, order) for order, power in self.of.items())
        self._shapes: dict[tuple[Shape, object], Shape] = {}
        self._measured: dict[Shape, Shape] = {}
        self._sorted_places: dict[ShapeKey, list[NodeState]] = {}
        self._of_same_places: dict[tuple[NodeState, ...], list[NodeState]] = {}

    def distance(self, node_indices: Iterable[int]) -> int:
        """How far apart the processors of measured nodes are."""
        return distance_of(self.member(order) for order in node_indices)

    def member(self, order: int, waste: int = 0) -> Member:
        """A measured node as one of a set."""
        return Member(self.of[order], waste, order, self.high[order])

    def between(self, low: int, high: int) -> list[NodeState]:
        """The nodes all of whose processors have a power from `low` to `high`, the least first."""
        first = bisect_left(self._sorted, (low, -1))
        last = bisect_right(self._sorted, (high, len(self._cluster_state.places)))
        inside = (order for _, order in self._sorted[first:last] if self.high[order] <= high)
        return [self._cluster_state.places[order] for order in inside]

    def measured(self, shape: Shape) -> Shape:
        """The shape on measured nodes only: itself when all of its nodes are."""
        known = self._measured.get(shape)
        if known is None:
            every = len(self.of) == len(self._cluster_state.places) or all(
                place.order in self.of for place in shape.places
            )
            known = shape if every else self._restricted(shape, "measured", lambda: self._by_power(shape))
            self._measured[shape] = known
        return known

    def _by_power(self, shape: Shape) -> list[NodeState]:
        """The measured nodes of a shape, the least power first."""
        known = self._sorted_places.get(shape.each)
        if known is None:
            known = self._of_same_places.get(shape.places)
            if known is None:
                places, own = self._cluster_state.places, shape.node_indices
                known = [places[order] for _, order in self._sorted if order in own]
                self._of_same_places[shape.places] = known
            self._sorted_places[shape.each] = known
        return known

    def alone(self, shape: Shape, order: int) -> Shape:
        """The shape on one node only."""
        return self._restricted(shape, ("alone", order), lambda: [self._cluster_state.places[order]])

    def within(self, shape: Shape, low: int, high: int, unit: str | None = None) -> Shape:
        """The shape only on nodes whose processors have a power from `low` to `high`, in one unit if one is named."""

        def inside() -> list[NodeState]:
            places = self._by_power(shape)
            first = bisect_left(places, low, key=self._power)
            last = bisect_right(places, high, key=self._power)
            near = [each for each in places[first:last] if self.high[each.order] <= high]
            return [each for each in near if unit is None or each.node.unit == unit]

        return self._restricted(shape, (low, high, unit), inside)

    def _power(self, place: NodeState) -> int:
        return self.of[place.order]

    def _restricted(self, shape: Shape, key: object, places: Callable[[], Iterable[NodeState]]) -> Shape:
        """One object per restriction: what is kept about a shape is kept by its identity and its keys."""
        full = (shape, key)
        known = self._shapes.get(full)
        if known is None:
            own = tuple(places())
            known = self._shapes[full] = replace(
                shape,
                each=(*shape.each, key),
                pool=(*shape.pool, key),
                places=own,
                node_indices=indices_of(own),
            )
        return known


class Alerts:
    """Tells many shapes which nodes to look at again: nearly all nodes that change are full before and after, and one
    resource says so. Free now, or (`coming`) free and coming."""

    def __init__(self, cluster_state: ClusterState, name: str, *, coming: bool) -> None:
        self.has = [present(coming, name, place) for place in cluster_state.places]
        self._cluster_state = cluster_state
        self._name = name
        self._coming = coming
        self._watch = cluster_state.index.changes.watch()
        self._told: list[tuple[int, set[int]]] = []

    def tell(self, amount: int) -> set[int]:
        """From now on `catch_up` puts into this set each node, by its order, that changes and has so much then or had
        it before."""
        changed: set[int] = set()
        self._told.append((amount, changed))
        return changed

    def catch_up(self) -> None:
        """Look at the nodes that have changed."""
        has, places = self.has, self._cluster_state.places
        for order in self._watch.changed():
            before, after = has[order], present(self._coming, self._name, places[order])
            has[order] = after
            most = max(before, after)
            if most > 0:
                for amount, changed in self._told:
                    if amount <= most:
                        changed.add(order)


class Fitting:
    """The measured nodes on which a shape fits without stopping anybody, sorted, and kept up to date."""

    def __init__(self, shape: Shape, powers: Powers, alerts: Alerts, left_over: LeftOver) -> None:
        """`alerts`: of the first resource that the shape wants."""
        amount = shape.wants[0][1]
        alerts.catch_up()
        self._alerts = alerts
        self._changed = alerts.tell(amount)
        self._powers = powers
        self._left_over = left_over
        self._own = shape.node_indices
        enough = [order for order in self._own if alerts.has[order] >= amount]
        self._known = {order: powers.member(order, waste) for order, waste in left_over(enough)}
        self._sorted = sorted(self._known.values())

    def members(self) -> Sequence[Member]:
        """Those nodes as they are now."""
        self._alerts.catch_up()
        if self._changed:
            self._look_at(self._changed & self._own)
            self._changed.clear()
        return self._sorted

    def _look_at(self, node_indices: Collection[int]) -> None:
        for order in node_indices:
            old = self._known.pop(order, None)
            if old is not None:
                del self._sorted[bisect_left(self._sorted, old)]
        for order, waste in self._left_over(node_indices):
            member = self._powers.member(order, waste)
            self._known[order] = member
            insort(self._sorted, member)


def each_left_over(cluster_state: ClusterState, shape: Shape, *, coming: bool) -> LeftOver:
    """Node by node, for a shape that wants nodes for itself."""
    places = cluster_state.places

    def left_over(node_indices: Collection[int]) -> list[tuple[int, int]]:
        prices = ((order, price_without_victims(places[order], shape, coming)) for order in node_indices)
        return [(order, price.waste) for order, price in prices if price is not None]

    return left_over


# --- Even sets for requests that are counted over nodes together: the narrowest range of powers with enough in it.


Amounts = Mapping[str, int]
Wants = Sequence[tuple[str, int]]


class Giving(NamedTuple):
    """What a node could give. `power`, `high`: the lowest and the highest power of its processors; `order`: its place
    among all nodes."""

    power: int
    high: int
    order: int
    gives: Amounts


def narrowest_range(nodes: Sequence[Giving], wants: Wants) -> tuple[int, int] | None:
    """The lowest and the highest power of the narrowest range whose nodes together give enough; of equal ones the
    lowest. `nodes` are sorted. None when all together are not enough.
    """
    if any(node.high != node.power for node in nodes):
        return _narrowest_of_unlike(nodes, wants)
    have: dict[str, int] = {}
    best: tuple[int, int] | None = None
    first = 0
    for node in nodes:
        add(have, node.gives)
        while _enough(have, wants):
            low = nodes[first].power
            if best is None or node.power - low < best[1] - best[0]:
                best = low, node.power
            subtract(have, nodes[first].gives)
            first += 1
    return best


def _narrowest_of_unlike(nodes: Sequence[Giving], wants: Wants) -> tuple[int, int] | None:
    """The same where processors of one node differ: for each lowest power the nodes above it, by their highest one."""
    best: tuple[int, int] | None = None
    by_high = sorted(nodes, key=lambda node: (node.high, node.order))
    for low in sorted({node.power for node in nodes}):
        have: dict[str, int] = {}
        for node in by_high:
            if best is not None and node.high - low >= best[1] - best[0]:
                break
            if node.power < low:
                continue
            add(have, node.gives)
            if _enough(have, wants):
                best = low, node.high
                break
    return best


def _enough(have: Amounts, wants: Wants) -> bool:
    return all(have.get(name, 0) >= amount for name, amount in wants)


def fullest_ranges(nodes: Iterable[Giving], wants: Wants, lows: Iterable[int], wide: int) -> list[int]:
    """Of the ranges of power that begin at `lows` and are so wide, those first in which most of what is wanted can be
    given: of the scarcest resource, and of equal ones the lowest. By the nodes' lowest powers."""
    ordered = sorted(nodes, key=lambda node: (node.power, node.order))
    powers = [node.power for node in ordered]
    sums = {name: [0, *accumulate(node.gives.get(name, 0) for node in ordered)] for name, _ in wants}

    def share(low: int) -> int:
        first, last = bisect_left(powers, low), bisect_right(powers, low + wide)
        return min((sums[name][last] - sums[name][first]) * 1000 // amount for name, amount in wants)

    return sorted(lows, key=lambda low: (-share(low), low))


MOST_RANGES = 2
"""How many ranges of power are tried for a request counted over nodes that needs victims, or time."""

WORTH_S = 600
"""So much more of the job's own room, in seconds, may be lost on a node for a set inside one unit."""
MOST_NEAR = 64
"""So many of the cheapest nodes are looked at for it, or eight times as many as the job asks for."""

Priced = Sequence[tuple[NodeState, Price]]
T = TypeVar("T")


class Balancing:
    """The even sets of one state of the cluster."""

    def __init__(self, cluster_state: ClusterState, search: RoomSearch, balance: Balance) -> None:
        self.balance = balance
        self.most = scaled(balance.max_distance)
        self.powers = Powers(cluster_state, balance.resource)
        self._cluster_state = cluster_state
        self._search = search
        self._fitting: dict[tuple[ShapeKey, bool], Fitting] = {}
        self._alerts: dict[tuple[str, bool], Alerts] = {}
        self._enough: dict[Shape, bool] = {}

    def applies(self, job: SnapshotJob, shape: Shape) -> bool:
        """Whether the job is to get an even set."""
        if not job.balanced or job.request is None or job.request.count:
            return False
        amount = dict(shape.wants).get(self.balance.resource, 0)
        return amount > 1 and self.powers.differ if shape.count == 1 else amount > 0

    def measured_suffice(self, shape: Shape) -> bool:
        """Whether the measured nodes that the request allows, were they empty, would be enough."""
        known = self._enough.get(shape)
        if known is None:
            places = self.powers.measured(shape).places
            known = self._enough[shape] = len(places) >= shape.count and all(
                sum(place.node.total.get(name, 0) for place in places) >= amount
                for name, amount in (() if shape.count else shape.wants)
            )
        return known

    def best(self, shape: Shape, *, coming: bool) -> tuple[int, Placement] | None:
        """The best set of measured nodes that needs no victims, with its distance, even enough or not."""
        if not shape.count:
            return self._best_range(shape, coming)
        found = best_set(self.members(shape, coming=coming), self.powers.units, shape.count, self.most)
        if found is None:
            return None
        return found.distance, placed(
            shape, [self._cluster_state.places[order] for order in found.node_indices]
        )

    def even(self, shape: Shape, *, coming: bool) -> Placement | None:
        """The best set if it is even enough."""
        found = self.best(shape, coming=coming)
        return found[1] if found and found[0] <= self.most else None

    def takes_nearest(self, job: SnapshotJob) -> bool:
        """Whether the partition lets it start all the same where no set is even: all jobs, or it has waited enough."""
        return self.balance.takes_nearest(self._cluster_state.snapshot.now - job.submit)

    def nearest(self, shape: Shape, *, coming: bool) -> Placement | None:
        """For a job that `takes_nearest`: the best set, however uneven. Nodes that are not measured fill it up where
        the measured ones would never be enough."""
        found = self.best(shape, coming=coming)
        if found:
            return found[1]
        return None if self.measured_suffice(shape) else self._filled_up(shape, coming)

    def members(self, shape: Shape, *, coming: bool) -> Sequence[Member]:
        """The measured nodes on which the shape fits without victims, sorted by power."""
        coming = coming and self._cluster_state.coming
        fitting = self._fitting.get((shape.each, coming))
        if fitting is None:
            first, measured = shape.wants[0][0], self.powers.measured(shape)
            if (first, coming) not in self._alerts:
                self._alerts[first, coming] = Alerts(self._cluster_state, first, coming=coming)
            alerts = self._alerts[first, coming]
            left_over = (
                each_left_over(self._cluster_state, measured, coming=coming)
                if shape.exclusive
                else self._search.free_nodes(measured, coming=coming).left_over
            )
            fitting = Fitting(measured, self.powers, alerts, left_over)
            self._fitting[shape.each, coming] = fitting
        return fitting.members()

    def for_victims(self, wanted: Wanted, *, nearest: bool) -> list[Shape]:
        """The shape on nodes among which every set is even enough, or the `nearest` there is: what to look for victims
        with, the most promising first. Nothing when no victims would do."""
        shape = wanted.shape
        if not self.measured_suffice(shape):
            return [shape] if nearest else []
        measured = self.powers.measured(shape)
        if not shape.count:
            return [*self.ranges(shape), *([measured] if nearest else [])]
        wanted = replace(wanted, shape=measured)
        for prices in self._tiers(wanted):
            found = first_set(self._as_members(gradually(prices, shape.count)), shape.count, self.most)
            if found:
                low = min(member.power for member in found)
                return [self.powers.within(shape, low, low + self.most)]
        return self._nearest_for_victims(wanted) if nearest else []

    def inside_a_unit(self, wanted: Wanted) -> Shape | None:
        """The shape on nodes of one unit among which every set is even, if room there does hardly more harm than
        anywhere: on no node of it victims of a higher class, more victims, or much more loss than on the dearest node
        of the cheapest even set."""
        if wanted.shape.count < 2 or not self.powers.units or not self.measured_suffice(wanted.shape):
            return None
        wanted = replace(wanted, shape=self.powers.measured(wanted.shape))
        return next(filter(None, (self._near(wanted, prices) for prices in self._tiers(wanted))), None)

    def window(self, ordered: Iterable[int], count: int) -> list[int] | None:
        """From nodes, by their indices, in the order in which they are welcome: the first even set that they
        complete."""
        found = first_set(map(self.powers.member, ordered), count, self.most)
        return [member.order for member in found] if found else None

    def ranges(self, shape: Shape) -> list[Shape]:
        """A shape that is counted over nodes, in a few ranges of power as wide as may be: those in which most is free
        or coming."""
        soon = [each for each in self._giving(shape, coming=True) if each.high - each.power <= self.most]
        lows = {self.powers.of[place.order] for place in self.powers.measured(shape).places}
        fullest = fullest_ranges(soon, shape.wants, lows, self.most)
        return [self.powers.within(shape, low, low + self.most) for low in fullest[:MOST_RANGES]]

    # --- Parts ----------------------------------------------------------------------------------------------

    def _tiers(self, wanted: Wanted) -> Iterator[Callable[[int], Priced]]:
        """The nodes that could be had, the cheapest first: by the first tier of victims alone, then by both."""
        yield lambda count: self._search.cheapest(wanted, count, both=False)
        if wanted.scope.second_floor is not None:
            yield lambda count: self._search.cheapest(wanted, count, both=True)

    def _near(self, wanted: Wanted, prices: Callable[[int], Priced]) -> Shape | None:
        """In one tier, which is only asked for as many nodes as are looked at."""
        shape, dearest = wanted.shape, Price()
        looked_at: list[tuple[NodeState, Price]] = []

        def noted() -> Iterator[Member]:
            nonlocal dearest
            for place, dearest in gradually(prices, shape.count):
                looked_at.append((place, dearest))
                yield self.powers.member(place.order, dearest.waste)

        if first_set(noted(), shape.count, self.most) is None:
            return None
        worth = WORTH_S * dict(shape.wants).get(shape.cost_in, 1)
        looked_at += prices(max(MOST_NEAR, 8 * shape.count))[len(looked_at) :]
        by_unit: dict[str, list[Member]] = {}
        for place, price in looked_at:
            unit = self.powers.units.get(place.order)
            if unit is None or not hardly_dearer(price, dearest, worth):
                continue
            inside = by_unit.setdefault(unit, [])
            inside.append(self.powers.member(place.order, price.waste))
            found = first_set(inside, shape.count, self.most) if len(inside) >= shape.count else None
            if found:
                low = min(member.power for member in found)
                return self.powers.within(shape, low, low + self.most, unit)
        return None

    def _as_members(self, prices: Iterable[tuple[NodeState, Price]]) -> Iterator[Member]:
        return (self.powers.member(place.order, known.waste) for place, known in prices)

    def _nearest_for_victims(self, wanted: Wanted) -> list[Shape]:
        *_, prices = self._tiers(wanted)
        everywhere = sorted(self._as_members(prices(len(wanted.shape.places))))
        chosen = best_set(everywhere, {}, wanted.shape.count, self.most)
        if chosen is None:
            return []
        low = min(self.powers.of[order] for order in chosen.node_indices)
        return [self.powers.within(wanted.shape, low, low + chosen.distance)]

    def _filled_up(self, shape: Shape, coming: bool) -> Placement | None:
        """Measured nodes first, the others where they are not enough."""
        if not shape.count:
            return self._search.room(shape, coming=coming)
        own = [self._cluster_state.places[member.order] for member in self.members(shape, coming=coming)]
        chosen = {place.order for place in own}
        others = (place for place, _ in self._search.fitting(shape, coming=coming))
        places = own + [place for place in others if place.order not in chosen]
        return placed(shape, places[: shape.count]) if len(places) >= shape.count else None

    def _best_range(self, shape: Shape, coming: bool) -> tuple[int, Placement] | None:
        """The same for a request that is counted over nodes: on one node, else inside a unit, else anywhere."""
        if not self._search.pool(self.powers.measured(shape)).fits(shape, coming=coming):
            return None
        alone = self._alone(shape, coming)
        if alone is not None:
            placement = self._search.room(self.powers.alone(shape, alone.order), coming=coming)
            return (alone.high - alone.power, placement) if placement else None
        found = self._ranges(shape, coming)
        near = min((each for each in found if each[2] is not None), default=None, key=lambda each: each[:2])
        if near is None or near[0] > self.most:
            near = next((each for each in found if each[2] is None), None)
        if near is None:
            return None
        distance, low, unit = near
        placement = self._search.room(self.powers.within(shape, low, low + distance, unit), coming=coming)
        return (distance, placement) if placement else None

    def _alone(self, shape: Shape, coming: bool) -> Giving | None:
        """The node that has it all and whose own processors are closest; of equal ones the least left over."""
        wants = dict(shape.wants)
        given = self._giving(shape, coming=coming)
        enough = (node for node in given if node.high - node.power <= self.most and covers(node.gives, wants))

        def order(node: Giving) -> tuple[int, int, int]:
            total = self._cluster_state.places[node.order].node.total
            left = sum((node.gives[name] - n) * 1000 // total[name] for name, n in shape.wants)
            return node.high - node.power, left, node.order

        return min(enough, default=None, key=order)

    def _ranges(self, shape: Shape, coming: bool) -> list[tuple[int, int, str | None]]:
        """The narrowest range anywhere and in each unit: how wide, from which power on, the unit."""
        nodes = sorted(self._giving(shape, coming=coming), key=lambda node: (node.power, node.order))
        groups: dict[str | None, list[Giving]] = {None: nodes}
        for node in nodes:
            if node.order in self.powers.units:
                groups.setdefault(self.powers.units[node.order], []).append(node)
        found = ((narrowest_range(each, shape.wants), unit) for unit, each in groups.items())
        return [(ends[1] - ends[0], ends[0], unit) for ends, unit in found if ends]

    def _giving(self, shape: Shape, *, coming: bool) -> list[Giving]:
        given = self._search.each(self.powers.measured(shape), coming=coming)
        return [
            Giving(self.powers.of[order], self.powers.high[order], order, gives) for order, gives in given
        ]


def hardly_dearer(price: Price, dearest: Price, worth: int) -> bool:
    """Whether a node costs hardly more than another one: no higher class, no more victims, not much more loss."""
    if not price.cost:
        return True
    if not dearest.cost or price.cost[0][0] > dearest.cost[0][0] or len(price.victims) > len(dearest.victims):
        return False
    return price.cost[0][0] < dearest.cost[0][0] or price.cost[0][1] <= dearest.cost[0][1] + worth


def gradually(fetch: Callable[[int], Sequence[T]], count: int) -> Iterator[T]:
    """What comes first one by one, asked for in growing portions."""
    asked, given = 2 * count, 0
    while True:
        found = fetch(asked)
        yield from found[given:]
        if len(found) < asked:
            return
        asked, given = asked + max(count, asked // 2), len(found)
