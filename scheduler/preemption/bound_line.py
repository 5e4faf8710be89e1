"""All nodes that some shapes allow, in the order of what they cost at least for so much of one resource.

Requests that ask for the same of what they need most of, and differ in the rest, share one line; so do amounts that
are about the same (`step_below`), for what is a bound for less is one for more. A line is brought up to date when one
of those who read it asks: bounds that may have become lower at once, the others only when somebody comes to them.
"""

from bisect import bisect_left, bisect_right, insort

from scheduler.preemption.quotes import ONLY_A_BOUND, Entry, Quotes
from scheduler.preemption.stock import Stocks

DIGITS = 3
"""Amounts are rounded down to so many binary digits."""

BoundPlace = tuple[int, int, int, int]
"""Where an entry stands in a line: by the highest class, the cost in it, the number of victims, the node. The same
order as that of entries; numbers side by side compare in a fraction of the time."""

InLine = tuple[BoundPlace, Entry]
"""A node in a line."""

_FREE = -(1 << 70)
"""Instead of a class, where nobody has to go: below every weight of a level."""
BEFORE_ALL: BoundPlace = (_FREE, -1, 0, 0)
BEHIND_ALL: BoundPlace = (1 << 80, 0, 0, 0)
"""Where a reader stands who has not begun, or has passed all nodes."""


def step_below(amount: int) -> int:
    """The largest amount up to this for which there is a line."""
    rest = max(0, amount.bit_length() - DIGITS)
    return amount >> rest << rest


def place_of(entry: Entry) -> BoundPlace:
    """Where an entry with a bound stands."""
    cost = entry[0]
    return (*cost[0], entry[3]) if cost else (_FREE, 0, 0, entry[3])


class BoundLine:
    """The line of some nodes. `quotes`: of the one resource; `stocks`: where there might be enough of it."""

    def __init__(self, node_indices: frozenset[int], quotes: Quotes, stocks: Stocks) -> None:
        self._quotes = quotes
        self._stocks = stocks
        self._own = node_indices
        self._watch = quotes.index.changes.watch()
        quotes.index.look()
        entries = quotes.entries(stocks.enough(node_indices))
        self._known: dict[int, InLine] = {entry[3]: (place_of(entry), entry) for entry in entries}
        self._sorted = sorted([stands for stands, _ in self._known.values()])

    def catch_up(self) -> None:
        """Bounds that may have become lower are made anew."""
        seen, own, cheaper = self._watch.seen, self._own, self._quotes.cheaper
        changed = [order for order in self._watch.changed() if cheaper[order] > seen and order in own]
        if changed:
            enough = {entry[3]: entry for entry in self._quotes.entries(self._stocks.enough(changed))}
            for order in changed:
                self._put(order, enough.get(order))

    def of(self, order: int) -> InLine | None:
        """A node in the line; None when it cannot be had."""
        return self._known.get(order)

    def next(self, reached: BoundPlace) -> InLine | None:
        """The first one behind, as it is now: whoever turns out to be dearer goes further back."""
        line, known, last = self._sorted, self._known, self._quotes.last
        number = bisect_right(line, reached)
        while number < len(line):
            order = line[number][3]
            found = known[order]
            if found[1][5] == ONLY_A_BOUND and found[1][4] == last[order]:
                return found
            self._put(order, self._quotes.entry(order))
        return None

    def _put(self, order: int, entry: Entry | None) -> None:
        before = self._known.pop(order, None)
        stands = place_of(entry) if entry else None
        if before and before[0] != stands:
            del self._sorted[bisect_left(self._sorted, before[0])]
        if entry and stands:
            self._known[order] = stands, entry
            if not before or before[0] != stands:
                insort(self._sorted, stands)
