"""When a node will have room: its free resources, and what its running jobs release one after the other (spec 3.1).

- Jobs are taken in the order of their expected ends; the first moment at which what is free, coming and released
  suffices is the node's. Who ends at an unknown time releases nothing: a node that needs such an end has no moment.
- What a node has at each moment is kept until the universe's log names it (`futures`).
- A job that gets room keeps it in this reckoning: how long it will run is not known. So what is promised is never
  promised again, at no moment of the predicted future.
- `Claims` are rooms that waiting jobs are predicted to take without having been promised them. They count in
  predictions only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Final

from scheduler.model.resources import Amounts, add
from scheduler.preemption.reservation.ends import expected_end
from scheduler.preemption.reservation.futures import Entry, Future, Line
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
        self._lines: dict[tuple[ShapeKey, int | None], Line] = {}
        self._futures: dict[int, Future] = {}
        self._seen = len(universe.log)
        self._sickness = [sickness(place) for place in universe.places]
        self._by_end: list[tuple[int, Runner]] | None = None
        self._forgotten: set[int] = set()
        self._compact_at = 16
        self._on: dict[int, tuple[list[tuple[int, Runner]], int]] = {}

    def earliest(self, shape: Shape, by: int | None = None) -> Sequence[Entry]:
        """The nodes that a shape fits onto some time, the earliest first; of equal ones the healthiest.

        `by`: later moments are of no interest.
        """
        line = self._lines.get((shape.each, by))
        if line is None:
            line = Line(shape, self._universe.log, partial(self._entry, shape, by))
            self._lines[shape.each, by] = line
        return line.entries()

    def moment(self, place: Place, shape: Shape) -> int | None:
        """When a shape fits onto a node; None when that is not known."""
        return self._alone(place, shape) if shape.exclusive else self._future(place).when(shape.wants)

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

    def _entry(self, shape: Shape, by: int | None, order: int) -> Entry | None:
        moment = self.moment(self._universe.places[order], shape)
        if moment is None or (by is not None and moment > by):
            return None
        return moment, self._sickness[order], order

    def _alone(self, place: Place, shape: Shape) -> int | None:
        fits = all(place.node.total.get(name, 0) >= amount for name, amount in shape.wants)
        return self.empty(place) if fits else None

    def _future(self, place: Place) -> Future:
        """A node's future, worked out again if the universe's log has named the node."""
        log, futures = self._universe.log, self._futures
        if self._seen < len(log):
            for order in log[self._seen :]:
                futures.pop(order, None)
            self._seen = len(log)
        known = futures.get(place.order)
        if known is None:
            name = place.node.name
            alive = [(end, runner.alloc) for end, runner in self.ends(place) if runner.alive]
            releases = [(end, alloc[name]) for end, alloc in alive if name in alloc]
            known = futures[place.order] = Future(place, self._claims.of(place), self._now, releases)
        return known
