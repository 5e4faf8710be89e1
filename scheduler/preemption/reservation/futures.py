"""What each node has as time goes on. Running jobs only release, so of each resource that is a row of amounts that
rises: when a request fits is found by bisection.

- What is there now changes often, what is released seldom: they are kept apart, and added up when asked.
- All of it is worked out once for all requests, until the universe's log names the node.
- A row of what is released that is out of date says too much, never too little, since running jobs only go. So it is
  worked out again only for a request that seems to fit; a sum that is not enough rules the node out at once.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import accumulate

from scheduler.model.resources import Amounts
from scheduler.preemption.shapes import Wants
from scheduler.preemption.universe import Place, Universe

Entry = tuple[int, int, int]
"""A node that a shape fits onto: the moment, what the node lacks of full health, its order."""

Releases = Sequence[tuple[int, int, Amounts]]
"""When, by the running job of which order, and what; the first to come first."""

_NOTHING = -(1 << 62)
"""What there is on a node that gives nothing any more: more is lacking than any node releases."""


class Future(dict[str, list[int]]):
    """What is released on one node, added up: of each resource nothing now, and so much after each of its releases."""

    __slots__ = ("_releases", "moments")

    def __init__(self, now: int, releases: Releases) -> None:
        self.moments = [now, *[end for end, _, _ in releases]]
        self._releases = releases

    def __missing__(self, name: str) -> list[int]:
        amounts = [gives.get(name, 0) for _, _, gives in self._releases]
        row = self[name] = [*accumulate(amounts, initial=0)]
        return row

    def most(self, name: str, by: int | None) -> int:
        """What is released of a resource in the end, or by a moment."""
        return self[name][-1 if by is None else bisect_right(self.moments, by) - 1]


class Futures:
    """The futures of all nodes of a universe. `changed`: the orders of those that may have become other ones."""

    def __init__(
        self,
        universe: Universe,
        claimed: Callable[[Place], Amounts],
        make: Callable[[Place], Future],
        ending: Callable[[int | None], set[int]],
        forgotten: Set[int],
    ) -> None:
        """`claimed`: of what is there, not to be had. `ending`: the nodes on which somebody ends, or does by a moment.
        `forgotten`: nodes that give nothing, and never will."""
        self.changed: list[int] = []
        self._universe = universe
        self._claimed = claimed
        self._make = make
        self._ending = ending
        self._forgotten = forgotten
        self._gone: set[int] = set()
        self._start = universe.snapshot.now
        self._seen = len(universe.log)
        self._on = [place.runners.copy() for place in universe.places]
        self._made: dict[int, Future] = {}
        self._outdated: set[int] = set()
        self._there: dict[str, list[int]] = {}
        self._most: dict[str, dict[int | None, list[int]]] = {}
        self._gaining: dict[int | None, set[int]] = {}

    def fitting(self, wants: Wants, by: int | None, orders: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Of some nodes those onto which so much fits, with the moment and the order of each; `by`: until then."""
        for name, amount in wants:
            most = self.most(name, by)
            orders = [order for order in orders if most[order] >= amount]
        for order in orders:
            moment = self._when(wants, order)
            if moment is not None and (by is None or moment <= by):
                yield moment, order

    def most(self, name: str, by: int | None) -> Sequence[int]:
        """What there is at most of a resource in the end, or by a moment, by node. It may be less, never more."""
        known = self._most.setdefault(name, {})
        amounts = known.get(by)
        if amounts is None:
            amounts = self.there(name).copy()
            for order in self.gaining(by):
                amounts[order] += self._of(order).most(name, by)
            known[by] = amounts
        return amounts

    def gaining(self, by: int | None) -> Set[int]:
        """The nodes on which something is released, or may be by a moment: elsewhere there is what there is now."""
        orders = self._gaining.get(by)
        if orders is None:
            orders = self._gaining[by] = self._ending(by) - self._gone
        return orders

    def there(self, name: str) -> list[int]:
        """What there is of a resource now, by node: below zero where it was promised away, or is overcommitted."""
        amounts = self._there.get(name)
        if amounts is None:
            claimed = self._claimed
            amounts = self._there[name] = [
                place.free.get(name, 0) + place.coming.get(name, 0) - claimed(place).get(name, 0)
                for place in self._universe.places
            ]
        return amounts

    def catch_up(self) -> None:
        """Look again at the nodes that the log has named."""
        log = self._universe.log
        if self._seen == len(log):
            return
        named = set(log[self._seen :]) - self._gone
        self._seen = len(log)
        gone = named & self._forgotten
        self._gone |= gone
        self._let_go(gone)
        for order in named - gone:
            self._look_at(order, self._universe.places[order])

    def _let_go(self, gone: Set[int]) -> None:
        """These nodes give nothing any more."""
        known = [amounts for by_moment in self._most.values() for amounts in by_moment.values()]
        for amounts in [*self._there.values(), *known]:
            for order in gone:
                amounts[order] = _NOTHING
        self.changed.extend(gone)

    def _look_at(self, order: int, place: Place) -> None:
        changed = order in self._made
        if changed:
            self._outdated.add(order)
        free, coming, claimed = place.free, place.coming, self._claimed(place)
        for name, there in self._there.items():
            more = free.get(name, 0) + coming.get(name, 0) - claimed.get(name, 0) - there[order]
            if more:
                changed = True
                there[order] += more
                for most in self._most[name].values():
                    most[order] += more
        if place.runners != self._on[order]:
            if not set(place.runners) <= set(self._on[order]):
                # Somebody has moved there.
                for gaining in self._gaining.values():
                    gaining.add(order)
                self._renew(order)
                changed = True
            self._on[order] = place.runners.copy()
        if changed:
            self.changed.append(order)

    def _when(self, wants: Wants, order: int) -> int | None:
        """When so much is there; None when that is not known."""
        at, future = 0, None
        for name, amount in wants:
            there = self._there[name][order]
            lacks = amount - there
            if lacks > 0:
                # A node that lacks more than all that it is made of has been promised away, or is overcommitted.
                if there < 0 and lacks > self._universe.places[order].node.total[name]:
                    return None
                if future is None:
                    future = self._of(order)
                row = future[name]
                at = bisect_left(row, lacks, at)
                if at == len(row):
                    return None
        return self._start if future is None else future.moments[at]

    def _of(self, order: int) -> Future:
        """What is released on a node, as it is now."""
        if order in self._outdated:
            return self._renew(order)
        future = self._made.get(order)
        if future is None:
            future = self._made[order] = self._make(self._universe.places[order])
        return future

    def _renew(self, order: int) -> Future:
        future = self._made[order] = self._make(self._universe.places[order])
        self._outdated.discard(order)
        for name, known in self._most.items():
            for by, most in known.items():
                most[order] = self._there[name][order] + future.most(name, by)
        return future


class Line:
    """The nodes that a shape fits onto some time, the earliest first, kept up to date by a log."""

    def __init__(
        self, own: frozenset[int], log: Sequence[int], look: Callable[[Iterable[int]], Iterable[Entry]]
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
            changed = self._own.intersection(log[self._seen :])
            self._seen = len(log)
            before = {self._known.pop(order) for order in changed & self._known.keys()}
            now = {*self._look(changed)}
            self._known.update({entry[2]: entry for entry in now})
            for entry in before - now:
                del self._sorted[bisect_left(self._sorted, entry)]
            for entry in now - before:
                insort(self._sorted, entry)
        return self._sorted
