"""All nodes that some shapes allow, in the order of what they cost at least for so much of one resource.

Requests that ask for the same of what they need most of, and differ in the rest, share one line; so do amounts that are
about the same (`step_below`), for what costs less for less is a bound for more. A line is brought up to date when one of
those who read it asks: bounds that may have become lower at once, the others only when somebody comes to them.
"""

from bisect import bisect_left, bisect_right, insort

from scheduler.preemption.quotes import ONLY_A_BOUND, Entry, Quotes
from scheduler.preemption.stock import Stocks

DIGITS = 3
"""Amounts are rounded down to so many binary digits."""

BEFORE_ALL: Entry = ((), -1, 0, 0, 0, 0)
BEHIND_ALL: Entry = (((1 << 80, 0, 0),), 0, 0, 0, 0, 0)
"""Where a reader stands who has not begun, or has passed all nodes."""


def step_below(amount: int) -> int:
    """The largest amount up to this for which there is a line."""
    rest = max(0, amount.bit_length() - DIGITS)
    return amount >> rest << rest


class BoundLine:
    """The line of some nodes. `quotes`: of the one resource; `stocks`: where there might be enough of it."""

    def __init__(self, orders: frozenset[int], quotes: Quotes, stocks: Stocks) -> None:
        self.quotes = quotes
        self._stocks = stocks
        self._own = orders
        self._watch = quotes.index.changes.watch()
        self._sorted = sorted(quotes.entries(stocks.enough(orders)))
        self._known: dict[int, Entry] = {entry[3]: entry for entry in self._sorted}

    def catch_up(self) -> None:
        """Bounds that may have become lower are made anew."""
        seen, own, cheaper = self._watch.seen, self._own, self.quotes.cheaper
        changed = [order for order in self._watch.changed() if cheaper[order] > seen and order in own]
        if changed:
            enough = {entry[3]: entry for entry in self.quotes.entries(self._stocks.enough(changed))}
            for order in changed:
                self._put(order, enough.get(order))

    def of(self, order: int) -> Entry | None:
        """The entry of a node; None when it cannot be had."""
        return self._known.get(order)

    def next(self, entry: Entry) -> Entry | None:
        """The first one behind an entry, as it is now: whoever turns out to be dearer goes further back."""
        number = bisect_right(self._sorted, entry)
        while number < len(self._sorted):
            entry = self._sorted[number]
            order = entry[3]
            if entry[4] == self.quotes.last[order] and entry[5] == ONLY_A_BOUND:
                return entry
            self._put(order, self.quotes.entry(order))
        return None

    def _put(self, order: int, new: Entry | None) -> None:
        old = self._known.get(order)
        if new is old:
            return
        if old is not None:
            del self._sorted[bisect_left(self._sorted, old)]
            del self._known[order]
        if new is not None:
            self._known[order] = new
            insort(self._sorted, new)
