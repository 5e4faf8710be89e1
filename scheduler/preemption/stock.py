"""How much each node could give of a resource: so that nobody looks at nodes that could not give enough."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from functools import partial

from scheduler.preemption.node_index import NodeIndex
from scheduler.preemption.node_state import GIVEN_AWAY, NodeState
from scheduler.preemption.pricing import obtainable, present
from scheduler.preemption.shapes import Wants

FEW = 16
"""So many nodes are looked at one by one."""


class Stock:
    """What every node could give of one resource, as the index of nodes has it."""

    def __init__(self, index: NodeIndex, most: Callable[[NodeState], int]) -> None:
        """`most`: how much a node could give."""
        self._index = index
        self._most = most
        self._watch = index.changes.watch()
        self._has = [most(place) for place in index.places]
        self._sorted: list[tuple[int, int]] | None = None
        """Amounts with their nodes; made when many nodes are asked for."""

    def among(self, node_indices: Iterable[int], amount: int) -> list[int]:
        """Those of some nodes, by their indices, that could give so much."""
        has = self.now()
        return [order for order in node_indices if has[order] >= amount]

    def now(self) -> Sequence[int]:
        """What each node could give, by its order: always the same list, brought up to date."""
        for order in self._watch.changed() if self._watch.behind else ():
            before, after = self._has[order], self._most(self._index.places[order])
            if before != after:
                self._has[order] = after
                if self._sorted is not None:
                    del self._sorted[bisect_left(self._sorted, (before, order))]
                    insort(self._sorted, (after, order))
        return self._has

    def count(self, amount: int) -> int:
        """How many of all nodes could give so much."""
        has = self.now()
        if self._sorted is None:
            self._sorted = sorted(zip(has, range(len(has)), strict=True))
        return len(self._sorted) - bisect_left(self._sorted, (amount,))

    def lacking(self, amount: int, most: int) -> Sequence[int] | None:
        """Those of all nodes that could not give so much, and have not been given away as a whole; None where they are
        more than `most`."""
        end = len(self._has) - self.count(amount)
        known = self._sorted or ()
        first = bisect_left(known, (GIVEN_AWAY,))
        return None if end - first > most else [order for _, order in known[first:end]]

    def having(self, amount: int) -> list[int]:
        """Those of all nodes that could give so much."""
        count = self.count(amount)
        return [order for _, order in (self._sorted or ())[-count:]] if count else []


class Stocks:
    """What a shape wants of each node, with the stock of each resource: on which nodes there might be enough."""

    def __init__(self, wanted: Sequence[tuple[Stock, int]]) -> None:
        self._wanted = wanted
        self._rows = [(stock.now(), amount) for stock, amount in wanted]

    def catch_up(self) -> None:
        """Bring all of them up to date, for `enough_on`."""
        for stock, _ in self._wanted:
            stock.now()

    def enough_on(self, order: int) -> bool:
        """Whether one node could give enough of everything, when `catch_up` was called last."""
        for has, amount in self._rows:  # noqa: SIM110 - asked for many nodes; a loop is twice as fast
            if has[order] < amount:
                return False
        return True

    def enough(self, node_indices: Collection[int]) -> Collection[int]:
        """Of some nodes those that could give enough of everything."""
        if isinstance(node_indices, Set) and len(node_indices) > FEW:
            return self._of_many(node_indices)
        for stock, amount in self._wanted:
            node_indices = stock.among(node_indices, amount)
        return node_indices

    def _of_many(self, own: Set[int]) -> Collection[int]:
        """The same, from the resource that fewest nodes have enough of."""
        fewest, scarce = len(own), None
        for stock, amount in self._wanted:
            count = stock.count(amount)
            if count < fewest:
                fewest, scarce = count, (stock, amount)
            if not count:
                return ()
        node_indices: Collection[int] = own
        if scarce:
            node_indices = [order for order in scarce[0].having(scarce[1]) if order in own]
        for stock, amount in self._wanted:
            if not scarce or stock is not scarce[0]:
                node_indices = stock.among(node_indices, amount)
        return node_indices


class NodeStocks:
    """The stocks of all resources, made when first asked for."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._known: dict[tuple[str, bool | None], Stock] = {}

    def of(self, name: str, *, coming: bool | None) -> Stock:
        """What each node has of a resource, counting what is coming or not; None: what it could give at most."""
        stock = self._known.get((name, coming))
        if stock is None:
            most = partial(obtainable, name) if coming is None else partial(present, coming, name)
            stock = self._known[name, coming] = Stock(self._index, most)
        return stock

    def present(self, wants: Wants, *, coming: bool) -> Stocks:
        """What each node has of what is wanted, counting what is coming or not."""
        return Stocks([(self.of(name, coming=coming), amount) for name, amount in wants])

    def obtainable(self, wants: Wants) -> Stocks:
        """What each node could give at most of what is wanted."""
        return Stocks([(self.of(name, coming=None), amount) for name, amount in wants])
