"""When a node will have room: its free resources, and what its running jobs release one after the other (spec 3.1).

- Jobs are taken in the order of their expected ends; the first moment at which what is free, coming and released
  suffices is the node's. Who ends at an unknown time releases nothing: a node that needs such an end has no moment.
- A job that gets room keeps it in this reckoning: how long it will run is not known. So what is promised is never
  promised again, at no moment of the predicted future.
- `Claims` are rooms that waiting jobs are predicted to take without having been promised them. They count in
  predictions only.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from scheduler.model.resources import Amounts, add
from scheduler.preemption.offers import Offers
from scheduler.preemption.pricing import Price
from scheduler.preemption.reservation.ends import expected_end
from scheduler.preemption.reservation.score import sickness
from scheduler.preemption.shapes import Shape, ShapeKey
from scheduler.preemption.universe import Place, Runner, Universe

_NONE: Final[Amounts] = {}
_NOBODY: list[tuple[int, Runner]] = []


class Claims:
    """What waiting jobs are predicted to take, by node."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._of: dict[int, dict[str, int]] = {}

    def of(self, place: Place) -> Amounts:
        """What is claimed of a node."""
        return self._of.get(place.order, _NONE)

    def add(self, placement: Mapping[str, Amounts]) -> None:
        """A waiting job is predicted to take this."""
        for name, amounts in placement.items():
            order = self._universe.by_name[name].order
            add(self._of.setdefault(order, {}), amounts)
            self._universe.log.append(order)


class Moments:
    """The moments of one universe, per shape, kept up to date by its log."""

    def __init__(self, universe: Universe, claims: Claims) -> None:
        self._universe = universe
        self._claims = claims
        self._now = universe.snapshot.now
        self._ends = [expected_end(runner, self._now) for runner in universe.runners]
        self._offers: dict[ShapeKey, Offers] = {}
        self._by_end: list[tuple[int, Runner]] | None = None
        self._forgotten: set[int] = set()
        self._compact_at = 16
        self._on: dict[int, tuple[list[tuple[int, Runner]], int]] = {}

    def earliest(self, shape: Shape, count: int) -> list[tuple[int, Place]]:
        """At most so many nodes with the moment of each, the earliest first; of equal ones the healthiest."""
        offers = self._offers.get(shape.each)
        if offers is None:
            offers = Offers(self._universe, shape.places, lambda place: self._price(place, shape))
            self._offers[shape.each] = offers
        return [(known.cost[0][0], place) for place, known in offers.cheapest(count)]

    def moment(self, place: Place, shape: Shape) -> int | None:
        """When a shape fits onto a node; None when that is not known."""
        return self._alone(place, shape) if shape.exclusive else self._beside(place, shape)

    def ends(self, place: Place) -> list[tuple[int, Runner]]:
        """Who on a node is expected to end and when, the first to end first; those of unknown end are left out, those
        who are stopped or have moved meanwhile may be among them."""
        known, runners = self._on.get(place.order, (_NOBODY, -1))
        if runners != len(place.runners):
            known = self._in_order(place.runners)
            self._on[place.order] = known, len(place.runners)
        return known

    def timeline(self, own: Set[int]) -> Iterator[tuple[int, Place, Amounts]]:
        """What running jobs release on some nodes (by their orders), the first to end first."""
        for end, runner in self._line() if 4 * len(own) > len(self._universe.places) else self._line_of(own):
            if runner.alive:
                for place in runner.places:
                    if place.order in own:
                        yield end, place, runner.alloc[place.node.name]

    def forget(self, orders: Iterable[int]) -> None:
        """Nodes of which nobody gets anything any more in this plan."""
        self._forgotten.update(orders)

    def forgotten(self, place: Place) -> bool:
        """Whether nobody gets anything of a node any more."""
        return place.order in self._forgotten

    def claimed(self, place: Place) -> bool:
        """Whether a waiting job is predicted to take something of a node."""
        return bool(self._claims.of(place))

    def room(self, place: Place, names: list[str]) -> dict[str, int]:
        """What of some resources is free or coming and not claimed; may be below zero."""
        free, coming, claimed = place.free, place.coming, self._claims.of(place)
        return {name: free.get(name, 0) + coming.get(name, 0) - claimed.get(name, 0) for name in names}

    def empty(self, place: Place) -> int | None:
        """When a node holds nobody any more; None when that is not known."""
        staying = [runner for runner in place.runners if runner.alive]
        if len(staying) < place.holders or self.claimed(place):
            return None
        ends = [self._ends[runner.order] for runner in staying]
        return None if None in ends else max([self._now, *(end for end in ends if end is not None)])

    def _line(self) -> list[tuple[int, Runner]]:
        """All running jobs by their ends; those whose nodes are all forgotten drop out from time to time."""
        if self._by_end is None:
            self._by_end = self._in_order(self._universe.runners)
        if len(self._forgotten) >= self._compact_at:
            self._compact_at = 2 * len(self._forgotten)
            self._by_end = [
                entry
                for entry in self._by_end
                if not all(place.order in self._forgotten for place in entry[1].places)
            ]
        return self._by_end

    def _line_of(self, own: Set[int]) -> list[tuple[int, Runner]]:
        """The same for a few nodes."""
        places = self._universe.places
        return self._in_order({runner for order in own for _, runner in self.ends(places[order])})

    def _in_order(self, runners: Iterable[Runner]) -> list[tuple[int, Runner]]:
        known = [
            (end, runner.order, runner) for runner in runners if (end := self._ends[runner.order]) is not None
        ]
        known.sort(key=lambda entry: entry[:2])
        return [(end, runner) for end, _, runner in known]

    def _price(self, place: Place, shape: Shape) -> Price | None:
        moment = self.moment(place, shape)
        return None if moment is None else Price(cost=((moment, 0, 0),), waste=sickness(place))

    def _alone(self, place: Place, shape: Shape) -> int | None:
        fits = all(place.node.total.get(name, 0) >= amount for name, amount in shape.wants)
        return self.empty(place) if fits else None

    def _beside(self, place: Place, shape: Shape) -> int | None:
        free, coming, claimed = place.free, place.coming, self._claims.of(place)
        short = {}
        for name, amount in shape.wants:
            rest = amount - free.get(name, 0) - coming.get(name, 0) + claimed.get(name, 0)
            if rest > place.node.total[name]:
                return None
            if rest > 0:
                short[name] = rest
        if not short:
            return self._now
        node = place.node.name
        for end, runner in self.ends(place):
            gives = runner.alloc.get(node) if runner.alive else None
            if gives is None:
                continue
            enough = True
            for name, rest in short.items():
                rest -= gives.get(name, 0)  # noqa: PLW2901 - a loop that is asked for every node
                short[name] = rest
                enough = enough and rest <= 0
            if enough:
                return end
        return None
