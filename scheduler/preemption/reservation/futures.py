"""What a node has as time goes on: each resource is a row of amounts that only rises, since running jobs only release.

So the moment at which a request fits is found by bisection in each of the rows, and a row is worked out once for all
requests, until the universe's log names the node.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place

Entry = tuple[int, int, int]
"""A node that a shape fits onto: the moment, what the node lacks of full health, its order."""


class Future:
    """One node's amounts now and after each of its releases, as long as nothing changes there."""

    __slots__ = ("_claimed", "_moments", "_place", "_releases", "_rows")

    def __init__(
        self, place: Place, claimed: Amounts, now: int, releases: Sequence[tuple[int, Amounts]]
    ) -> None:
        """`releases`: when and what, the first to come first. `claimed`: of what is free, not to be had."""
        self._place = place
        self._claimed = claimed
        self._moments = [now, *[end for end, _ in releases]]
        self._releases = releases
        self._rows: dict[str, list[int]] = {}

    def when(self, wants: Sequence[tuple[str, int]]) -> int | None:
        """When so much is there; None when that is not known."""
        at = 0
        for name, amount in wants:
            row = self._rows.get(name)
            if row is None:
                row = self._row(name)
            if row[0] < amount:
                # A node that lacks more than all that it is made of has been promised away, or is overcommitted.
                if amount - row[0] > self._place.node.total[name]:
                    return None
                at = bisect_left(row, amount, at)
                if at == len(row):
                    return None
        return self._moments[at]

    def _row(self, name: str) -> list[int]:
        place = self._place
        there = place.free.get(name, 0) + place.coming.get(name, 0) - self._claimed.get(name, 0)
        row = self._rows[name] = [there]
        for _, gives in self._releases:
            there += gives.get(name, 0)
            row.append(there)
        return row


class Line:
    """The nodes that a shape fits onto some time, the earliest first, kept up to date by a log."""

    def __init__(self, shape: Shape, log: Sequence[int], look: Callable[[int], Entry | None]) -> None:
        """`look` works out the entry of a node."""
        self._own = frozenset(place.order for place in shape.places)
        self._log = log
        self._look = look
        self._seen = len(log)
        self._known = {order: entry for order in self._own if (entry := look(order)) is not None}
        self._sorted = sorted(self._known.values())

    def entries(self) -> Sequence[Entry]:
        """As it is now; of equal moments the healthiest first."""
        log = self._log
        if self._seen < len(log):
            changed = self._own.intersection(log[self._seen :])
            self._seen = len(log)
            for order in changed:
                self._look_again(order)
        return self._sorted

    def _look_again(self, order: int) -> None:
        old, new = self._known.get(order), self._look(order)
        if old == new:
            return
        if old is not None:
            del self._sorted[bisect_left(self._sorted, old)]
            del self._known[order]
        if new is not None:
            insort(self._sorted, new)
            self._known[order] = new
