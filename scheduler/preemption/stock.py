"""The nodes by how much they have of one resource: where something might fit, without a look at all the others."""

from bisect import bisect_left, insort

from scheduler.preemption.universe import Place, Universe


class Stock:
    """What every node has free of a resource, or free and coming, brought up to date by the universe's log."""

    def __init__(self, universe: Universe, name: str, *, coming: bool) -> None:
        self._universe = universe
        self._name = name
        self._coming = coming
        self._seen = len(universe.log)
        self._has = [self._on(place) for place in universe.places]
        self._sorted = sorted((has, order) for order, has in enumerate(self._has))

    def at_least(self, amount: int) -> list[int]:
        """The nodes, by their orders, that have so much."""
        return [order for _, order in self._sorted[self._first(amount) :]]

    def count(self, amount: int) -> int:
        """How many have so much."""
        return len(self._sorted) - self._first(amount)

    def _first(self, amount: int) -> int:
        log = self._universe.log
        if self._seen < len(log):
            for order in set(log[self._seen :]):
                del self._sorted[bisect_left(self._sorted, (self._has[order], order))]
                self._has[order] = self._on(self._universe.places[order])
                insort(self._sorted, (self._has[order], order))
            self._seen = len(log)
        return bisect_left(self._sorted, (amount, -1))

    def _on(self, place: Place) -> int:
        free = place.free.get(self._name, 0)
        return free + place.coming.get(self._name, 0) if self._coming else free
