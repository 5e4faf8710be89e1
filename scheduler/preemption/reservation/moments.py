"""When a node will have room: its free resources, and what its running jobs release one after the other (spec 3.1).

- Jobs are taken in the order of their expected ends; the first moment at which what is free, coming and released
  suffices is the node's. Who ends at an unknown time releases nothing: a node that needs such an end has no moment.
- What a node has at each moment is kept until the universe's log names it (`futures`).
- A job that gets room keeps it in this reckoning: how long it will run is not known. So what is promised is never
  promised again, at no moment of the predicted future.
- `Claims` are rooms that waiting jobs are predicted to take without having been promised them. They count in
  predictions only.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Final

from scheduler.model.resources import Amounts, add
from scheduler.preemption.reservation.ends import expected_end
from scheduler.preemption.reservation.futures import Entry, Future, Futures, Line
from scheduler.preemption.reservation.score import sickness
from scheduler.preemption.shapes import Shape, ShapeKey
from scheduler.preemption.universe import Place, Runner, Universe

_NONE: Final[Amounts] = {}

End = tuple[int, int, Runner]
"""When a running job is expected to end, its order, and who it is."""


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
        self._futures: Futures | None = None
        self._sickness = [sickness(place) for place in universe.places]
        self._forgotten: set[int] = set()
        self._cleared = len(universe.places)
        self._lines_of_jobs: dict[int | None, list[End]] = {}

    def earliest(self, shape: Shape, by: int | None = None) -> Sequence[Entry]:
        """The nodes that a shape fits onto some time, the earliest first; of equal ones the healthiest.

        `by`: later moments are of no interest.
        """
        futures = self.futures()
        line = self._lines.get((shape.each, by))
        if line is None:
            log = self._universe.log if shape.exclusive else futures.changed
            line = self._lines[shape.each, by] = Line(
                shape.orders, log, partial(self._entries, futures, shape, by)
            )
        return line.entries()

    def futures(self) -> Futures:
        """What all nodes have as time goes on."""
        if self._futures is None:
            self._futures = Futures(
                self._universe, self._claims.of, self._future, self._ending, self._forgotten
            )
        self._futures.catch_up()
        return self._futures

    def take_apart(self) -> None:
        """Nothing is asked any more: what refers to this is let go of."""
        self._futures = None
        self._lines.clear()

    def ends(self, place: Place) -> list[End]:
        """Who on a node is expected to end and when; those of unknown end are left out, those who are stopped may be
        among them."""
        return self._known(place.runners)

    def timeline(self, own: Set[int], by: int | None) -> Iterator[tuple[int, Place, Amounts]]:
        """What running jobs release on some nodes (by their orders), the first to end first; `by`: no later ones."""
        many = by is not None or 4 * len(own) > len(self._universe.places) - len(self._forgotten)
        for end, _, runner in self._line(by) if many else self._line_of(own):
            if runner.alive:
                for place in runner.places:
                    if place.order in own:
                        yield end, place, runner.alloc[place.node.name]

    def forget(self, orders: Iterable[int]) -> None:
        """Nodes of which nobody gets anything any more in this plan."""
        self._forgotten.update(orders)

    def left(self, orders: Set[int]) -> set[int]:
        """Of some nodes those of which somebody may still get something."""
        return {*orders} - self._forgotten

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

    def _line(self, by: int | None) -> list[End]:
        """All running jobs by their ends, or those that end by a moment; those whose nodes are all forgotten drop out
        from time to time."""
        line = self._lines_of_jobs.get(by)
        if line is None:
            runners, until = self._universe.runners, math.inf if by is None else by
            ending = [order for order, end in enumerate(self._ends) if end is not None and end <= until]
            line = self._known([runners[order] for order in ending if self._concerns(runners[order])])
            line.sort()
            self._lines_of_jobs[by] = line
        left = len(self._universe.places) - len(self._forgotten)
        if by is None and 2 * left < self._cleared:
            self._cleared = left
            line = self._lines_of_jobs[by] = [end for end in line if self._concerns(end[2])]
        return line

    def _concerns(self, runner: Runner) -> bool:
        """Whether anybody may still get anything of what a running job holds."""
        if runner.alive:
            for place in runner.places:
                if place.order not in self._forgotten:
                    return True
        return False

    def _line_of(self, own: Set[int]) -> list[End]:
        """The same for a few nodes."""
        places = self._universe.places
        return sorted({end for order in own for end in self.ends(places[order])})

    def _known(self, runners: Iterable[Runner]) -> list[End]:
        ends = self._ends
        return [(end, runner.order, runner) for runner in runners if (end := ends[runner.order]) is not None]

    def _entries(
        self, futures: Futures, shape: Shape, by: int | None, orders: Iterable[int]
    ) -> Iterator[Entry]:
        """The entries of those of some nodes that a shape fits onto in time."""
        sick = self._sickness
        if not shape.exclusive:
            return (
                (moment, sick[order], order) for moment, order in futures.fitting(shape.wants, by, orders)
            )
        alone = ((self._alone(self._universe.places[order], shape), order) for order in orders)
        return (
            (moment, sick[order], order)
            for moment, order in alone
            if moment is not None and (by is None or moment <= by)
        )

    def _alone(self, place: Place, shape: Shape) -> int | None:
        fits = all(place.node.total.get(name, 0) >= amount for name, amount in shape.wants)
        return self.empty(place) if fits else None

    def _ending(self, by: int | None) -> set[int]:
        """The nodes on which somebody is expected to end, or is by a moment; those that are forgotten may lack."""
        if by is not None:
            return {place.order for _, _, runner in self._line(by) for place in runner.places}
        ends, forgotten = self._ends, self._forgotten
        left = [place for place in self._universe.places if place.order not in forgotten]
        return {
            place.order
            for place in left
            for runner in place.runners
            if runner.alive and ends[runner.order] is not None
        }

    def _future(self, place: Place) -> Future:
        ends, name = self._ends, place.node.name
        releases = [
            (end, runner.order, runner.alloc[name])
            for runner in place.runners
            if (end := ends[runner.order]) is not None and runner.alive
        ]
        releases.sort()
        return Future(self._now, releases)
