"""The nodes that can take a shape, the cheapest first, kept up to date instead of worked out again.

What single nodes cost is kept in `Quotes`, for all shapes that ask the same of a node; which of its own nodes come
first, in a heap per shape. When it is asked, it looks again only at the nodes that have changed since the last time,
and of those only at the ones that could give enough (`stock`); entries of the heap that are out of date are dropped
when they come to the top. With a lower bound, which is cheap to get, a node is priced only when its bound comes to the
top; and it still is a lower bound after most changes (`NodeIndex.cheaper`), so that a new one is needed only then.

With a line of bounds that many shapes share (`bound_line`), nodes enter the heap only as far as they might be the
cheapest: another size of request then costs a look at a few nodes, not at all of them.
"""

from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from scheduler.preemption.bound_line import BEFORE_ALL, BEHIND_ALL, BoundLine, InLine
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import Price
from scheduler.preemption.quotes import ONLY_A_BOUND, Entry, Quotes
from scheduler.preemption.stock import Stocks

FEW = 8
"""So many changes are followed one by one, besides one for each node that is known: after more it begins anew."""


class CheapestNodes:
    """The cheapest of some nodes."""

    def __init__(
        self,
        node_indices: frozenset[int],
        quotes: Quotes,
        *,
        stocks: Stocks | None = None,
        since: int | None = None,
        line: BoundLine | None = None,
    ) -> None:
        """`stocks`: where there might be enough; other nodes are not looked at. `since`: a change of nodes (`Changes`)
        from which on they have to be looked at; before it none could be had. `line`: of these nodes."""
        self._quotes = quotes
        self._stocks = stocks
        self._index = index = quotes.index
        self._changes, self._weights = index.changes.watch(), index.weights.watch()
        self._own = node_indices
        self._priced: set[int] = set()
        self._line = line
        self._heap: list[Entry] = []
        index.look()
        self._entered: set[int] = set()
        """Nodes out of the line that are in the heap, or turned out impossible."""
        self._reached = BEFORE_ALL
        self._from_the_beginning = since is None
        if since is not None:
            self._reached, self._changes.seen = BEHIND_ALL, since
        elif line is None:
            self._begin()

    def cheapest(
        self, count: int, below: int | None = None, without: Collection[int] = ()
    ) -> Sequence[tuple[NodeState, Price]]:
        """At most `count` nodes, the cheapest first: least cost from the highest class down, then fewest
        victims, then least left over, then the node's name. `below`: only prices whose highest class is
        below this. `without`: nodes, by their indices, that are passed over this time.
        """
        self._catch_up()
        heap, quotes = self._heap, self._quotes
        last, cheaper, weights = quotes.last, quotes.cheaper, quotes.weights
        line, taken, passed = self._line, list[Entry](), list[Entry]()
        coming = line.next(self._reached) if line else None
        while len(taken) < count:
            if line and coming and (not heap or coming[1] < heap[0]):
                coming = self._enter(line, coming, below)
            if not heap:
                break
            cost, _, _, order, seen, seen_weights = heap[0]
            if order in without:
                passed.append(heappop(heap))
                continue
            only_a_bound = seen_weights < 0
            if (
                seen < cheaper[order]
                if only_a_bound
                else seen != last[order] or seen_weights != weights[order]
            ):
                heappop(heap)
            elif below is not None and cost and cost[0][0] >= below:
                break
            elif not only_a_bound:
                taken.append(heappop(heap))
            else:
                self._sharpen(order, is_close=seen_weights == ONLY_A_BOUND and seen == last[order])
        for found in (*taken, *passed):
            heappush(heap, found)
        places = self._index.places
        return [(places[found[3]], quotes.price(found[3])) for found in taken]

    def _enter(self, line: BoundLine, coming: InLine | None, below: int | None) -> InLine | None:
        """Put into the heap what comes next in the line, as far as it might be cheaper than what is there; returns what
        comes then, or nothing where that is of no interest."""
        heap, entered = self._heap, self._entered
        while coming is not None and (not heap or coming[1] < heap[0]):
            stands, entry = coming
            if below is not None and entry[0] and stands[0] >= below:
                return None
            self._reached = stands
            order = entry[3]
            if order not in entered and (self._stocks is None or self._stocks.enough_on(order)):
                entered.add(order)
                heappush(heap, entry)
            coming = line.next(stands)
        return coming

    def _begin(self) -> None:
        """Look at everything anew."""
        self._changes.skip()
        self._weights.skip()
        self._priced.clear()
        self._entered.clear()
        self._reached = BEFORE_ALL
        self._heap = [] if self._line else self._quotes.entries(self._might(self._own))
        heapify(self._heap)

    def _catch_up(self) -> None:
        self._index.look()
        if self._line:
            self._line.catch_up()
            if self._stocks:
                self._stocks.catch_up()
        if self._from_the_beginning and self._changes.behind > FEW + len(self._heap) + len(self._entered):
            self._begin()
            return
        seen = self._changes.seen
        again = self._to_look_at(self._changes.changed(), seen)
        if reweighed := self._weights.changed():
            # A bound still is one where pieces have become dearer; a price has to be worked out again.
            more = self._priced.intersection(reweighed)
            again = [*again, *more]
            self._priced -= more
        if self._line:
            self._again(self._line, again)
        elif again:
            for entry in self._quotes.entries(self._might(again)):
                heappush(self._heap, entry)

    def _again(self, line: BoundLine, node_indices: Iterable[int]) -> None:
        """Nodes enter the heap again, or later when the line comes to them."""
        entered = self._entered
        for order in node_indices:
            entered.discard(order)
            found = line.of(order)
            if (
                found
                and found[0] <= self._reached
                and (self._stocks is None or self._stocks.enough_on(order))
            ):
                entered.add(order)
                heappush(self._heap, found[1])

    def _to_look_at(self, named: Iterable[int], since: int) -> list[int]:
        """The nodes that have to be looked at again: of those that have changed since a change, the ones that may have
        become cheaper, and the ones that were priced. The bounds of others still are bounds."""
        own, cheaper, priced = self._own, self._quotes.cheaper, self._priced
        result = [order for order in named if order in own and (cheaper[order] > since or order in priced)]
        priced.difference_update(result)
        return result

    def _sharpen(self, order: int, *, is_close: bool) -> None:
        """The node on top of the heap gets its price where its bound is close, else a close bound."""
        if is_close:
            self._priced.add(order)
        entry = self._quotes.priced(order) if is_close else self._quotes.entry(order)
        if entry is None:
            heappop(self._heap)
        else:
            heapreplace(self._heap, entry)

    def _might(self, node_indices: Collection[int]) -> Collection[int]:
        """Those of some nodes that could give enough."""
        return self._stocks.enough(node_indices) if self._stocks else node_indices
