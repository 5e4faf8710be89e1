"""The compute-power topology of one universe (spec 5.1): nodes by their measured power of one resource, with the
compute unit that they belong to."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from scheduler.preemption.balance.evenset import Member, scaled
from scheduler.preemption.pricing import price_without_victims
from scheduler.preemption.shapes import Shape, ShapeKey
from scheduler.preemption.universe import Place, Universe


class Powers:
    """What is measured. Of a node it is one figure per resource, so all its processors of that resource count alike."""

    def __init__(self, universe: Universe, resource: str) -> None:
        self._universe = universe
        self.of = {
            place.order: scaled(place.node.power[resource])
            for place in universe.places
            if resource in place.node.power
        }
        self.units = {
            place.order: place.node.unit for place in universe.places if place.node.unit is not None
        }
        self._sorted = sorted((power, order) for order, power in self.of.items())
        self._shapes: dict[tuple[Shape, object], Shape] = {}
        self._measured: dict[Shape, Shape] = {}
        self._sorted_places: dict[ShapeKey, list[Place]] = {}

    def distance(self, orders: Iterable[int]) -> int:
        """How far apart measured nodes are."""
        powers = [self.of[order] for order in orders]
        return max(powers) - min(powers)

    def between(self, low: int, high: int) -> list[Place]:
        """The nodes with a power from `low` to `high`, the least first."""
        first = bisect_left(self._sorted, (low, -1))
        last = bisect_right(self._sorted, (high, len(self._universe.places)))
        return [self._universe.places[order] for _, order in self._sorted[first:last]]

    def measured(self, shape: Shape) -> Shape:
        """The shape on measured nodes only: itself when all of its nodes are."""
        known = self._measured.get(shape)
        if known is None:
            every = all(place.order in self.of for place in shape.places)
            known = shape if every else self._restricted(shape, "measured", lambda: self._by_power(shape))
            self._measured[shape] = known
        return known

    def _by_power(self, shape: Shape) -> list[Place]:
        """The measured nodes of a shape, the least power first."""
        known = self._sorted_places.get(shape.each)
        if known is None:
            own = {place.order for place in shape.places}
            known = [self._universe.places[order] for _, order in self._sorted if order in own]
            self._sorted_places[shape.each] = known
        return known

    def within(self, shape: Shape, low: int, high: int, unit: str | None = None) -> Shape:
        """The shape on nodes with a power from `low` to `high` only, in one unit if one is named."""

        def inside() -> list[Place]:
            places = self._by_power(shape)
            first = bisect_left(places, low, key=self._power)
            last = bisect_right(places, high, key=self._power)
            return [each for each in places[first:last] if unit is None or each.node.unit == unit]

        return self._restricted(shape, (low, high, unit), inside)

    def _power(self, place: Place) -> int:
        return self.of[place.order]

    def _restricted(self, shape: Shape, key: object, places: Callable[[], Iterable[Place]]) -> Shape:
        """One object per restriction: what is kept about a shape is kept by its identity and its keys."""
        full = (shape, key)
        known = self._shapes.get(full)
        if known is None:
            known = self._shapes[full] = replace(
                shape, each=(*shape.each, key), pool=(*shape.pool, key), places=tuple(places())
            )
        return known


class Fitting:
    """The measured nodes on which a shape fits without stopping anybody, sorted, kept up to date by the universe's
    log. `coming`: with what is coming."""

    def __init__(self, universe: Universe, shape: Shape, powers: Powers, *, coming: bool) -> None:
        self._universe = universe
        self._shape = shape
        self._powers = powers
        self._coming = coming
        self._own = frozenset(place.order for place in shape.places)
        self._known: dict[int, Member] = {}
        self._sorted: list[Member] = []
        self._seen = len(universe.log)
        self._look_at(shape.places)

    def members(self) -> Sequence[Member]:
        """Those nodes as they are now."""
        log = self._universe.log
        if self._seen < len(log):
            places = self._universe.places
            self._look_at([places[order] for order in self._own.intersection(log[self._seen :])])
            self._seen = len(log)
        return self._sorted

    def _look_at(self, places: Sequence[Place]) -> None:
        for place in places:
            old = self._known.pop(place.order, None)
            if old is not None:
                del self._sorted[bisect_left(self._sorted, old)]
        # Most nodes are full: one resource says so.
        for name, amount in () if self._coming else self._shape.wants[:1]:
            places = [place for place in places if place.free.get(name, 0) >= amount]
        for place in places:
            found = price_without_victims(place, self._shape, self._coming)
            if found is not None:
                member = Member(self._powers.of[place.order], found.waste, place.order)
                self._known[place.order] = member
                insort(self._sorted, member)
