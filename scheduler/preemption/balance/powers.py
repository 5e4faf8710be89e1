"""The compute-power topology of the cluster (spec 5.1): nodes by the measured power of their processors of one
resource, with the compute unit that they belong to."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from scheduler.model.nodes import figures
from scheduler.preemption.balance.evenset import Member, distance_of, scaled
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import present, price_without_victims
from scheduler.preemption.shapes import Shape, ShapeKey, indices_of

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
