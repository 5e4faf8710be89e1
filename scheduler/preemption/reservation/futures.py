"""What each node has as time goes on. Running jobs only release, so of each resource that is a row of amounts that
rises: when a request fits is found by bisection, and a row that does not end high enough rules the node out at once.

Rows are worked out once for all requests, until the universe's log names the node and it is not as before.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence, Set

from scheduler.model.resources import Amounts
from scheduler.preemption.universe import Place, Universe

Entry = tuple[int, int, int]
"""A node that a shape fits onto: the moment, what the node lacks of full health, its order."""

Releases = Sequence[tuple[int, Amounts]]
"""When and what, the first to come first."""


class Future:
    """One node: what is there now, and after each of its releases."""

    __slots__ = ("_claimed", "_place", "_releases", "moments", "rows")

    def __init__(self, place: Place, claimed: Amounts, now: int, releases: Releases) -> None:
        """`claimed`: of what is free, not to be had."""
        self.moments = [now, *[end for end, _ in releases]]
        self.rows: dict[str, list[int]] = {}
        self._place = place
        self._claimed = claimed
        self._releases = releases

    def add(self, name: str) -> None:
        """Work out the row of a resource. It begins below zero where it was promised away, or is overcommitted."""
        place = self._place
        there = place.free.get(name, 0) + place.coming.get(name, 0) - self._claimed.get(name, 0)
        row = self.rows[name] = [there]
        for _, gives in self._releases:
            there += gives.get(name, 0)
            row.append(there)

    def most(self, name: str, by: int | None) -> int:
        """What is there in the end, or by a moment."""
        return self.rows[name][-1 if by is None else bisect_right(self.moments, by) - 1]

    def when(self, wants: Sequence[tuple[str, int]]) -> int | None:
        """When so much is there; None when that is not known."""
        at = 0
        for name, amount in wants:
            row = self.rows[name]
            if row[0] < amount:
                # A node that lacks more than all that it is made of has been promised away, or is overcommitted.
                if amount - row[0] > self._place.node.total[name]:
                    return None
                at = bisect_left(row, amount, at)
                if at == len(row):
                    return None
        return self.moments[at]


class Futures:
    """The futures of all nodes of a universe. `changed`: the orders of those that became other ones."""

    def __init__(self, universe: Universe, make: Callable[[Place], Future]) -> None:
        self.changed: list[int] = []
        self._universe = universe
        self._make = make
        self._seen = len(universe.log)
        self._all = [make(place) for place in universe.places]
        self._names: list[str] = []
        self._most: dict[tuple[str, int | None], list[int]] = {}

    def fitting(
        self, wants: Sequence[tuple[str, int]], by: int | None, orders: Iterable[int]
    ) -> list[tuple[int, int]]:
        """Of some nodes those onto which so much fits, with the moment and the order of each; `by`: until then."""
        for name, amount in wants:
            most = self.most(name, by)
            orders = [order for order in orders if most[order] >= amount]
        found = [(self._all[order].when(wants), order) for order in orders]
        return [(moment, order) for moment, order in found if moment is not None]

    def most(self, name: str, by: int | None) -> Sequence[int]:
        """What there is most of a resource in the end, or by a moment, by node."""
        amounts = self._most.get((name, by))
        if amounts is None:
            if name not in self._names:
                self._names.append(name)
                for future in self._all:
                    future.add(name)
            amounts = self._most[name, by] = [future.most(name, by) for future in self._all]
        return amounts

    def catch_up(self) -> None:
        """Look again at the nodes that the log has named."""
        log = self._universe.log
        if self._seen == len(log):
            return
        for order in set(log[self._seen :]):
            future = self._make(self._universe.places[order])
            for name in self._names:
                future.add(name)
            before, self._all[order] = self._all[order], future
            if future.rows != before.rows or future.moments != before.moments:
                self.changed.append(order)
                for (name, by), most in self._most.items():
                    most[order] = future.most(name, by)
        self._seen = len(log)


class Line:
    """The nodes that a shape fits onto some time, the earliest first, kept up to date by a log."""

    def __init__(
        self, own: Set[int], log: Sequence[int], look: Callable[[Iterable[int]], Iterable[Entry]]
    ) -> None:
        """`look` gives the entries of those nodes, of some, that the shape fits onto."""
        self._own = own
        self._log = log
        self._look = look
        self._seen = len(log)
        self._known = {entry[2]: entry for entry in look(own)}
        self._sorted = sorted(self._known.values())

    def entries(self) -> Sequence[Entry]:
        """As it is now; of equal moments the healthiest first."""
        log = self._log
        if self._seen < len(log):
            changed = self._own & set(log[self._seen :])
            self._seen = len(log)
            now = {entry[2]: entry for entry in self._look(changed)}
            for order in now.keys() | (changed & self._known.keys()):
                self._replace(order, now.get(order))
        return self._sorted

    def _replace(self, order: int, new: Entry | None) -> None:
        old = self._known.pop(order, None)
        if old is not None and old != new:
            del self._sorted[bisect_left(self._sorted, old)]
        if new is not None:
            self._known[order] = new
            if old != new:
                insort(self._sorted, new)
