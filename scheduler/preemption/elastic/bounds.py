"""What shrinking elastic jobs costs on a node at least: so most nodes are never priced.

Costs are compared by the number of workers, then by their size, then by the highest class (`Reach.class_of`).
"""

from collections.abc import Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.elastic.workers import SCALE, OnNode, Worker, Workers
from scheduler.preemption.pricing import missing
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place

Least = tuple[int, int, int]
"""Number of workers, size, class."""
NOTHING: Least = (0, 0, 0)


class Bounds:
    """The least costs of nodes for one shape."""

    def __init__(self, workers: Workers, shape: Shape) -> None:
        self._workers = workers
        self._shape = shape
        self._wants = [(name, amount, workers.total.get(name, 0)) for name, amount in shape.wants]

    def rough(self, place: Place, stock: OnNode, reach: Reach) -> Least | None:
        """A quick look, as if all the workers there were within reach; None when even so they are not enough."""
        if self._shape.exclusive:
            return self.least(place, reach)
        fewest, size = 0, 0
        free, coming = place.free, place.coming
        for name, amount, total in self._wants:
            rest = amount - free.get(name, 0) - coming.get(name, 0)
            if rest > 0:
                if stock.most.get(name, 0) < rest:
                    return None
                number = -(-rest // stock.biggest[name])
                if number > fewest:
                    fewest = number
                # Sizes are rounded down, that of each piece by less than 1.
                size += rest * SCALE // total - stock.pieces
        if not fewest:
            return NOTHING
        first, second = stock.lowest
        lowest = reach.class_of(first, second)
        if lowest is None:
            if first >= reach.first:
                return None
            lowest = first
        return fewest, max(size, fewest * stock.smallest), lowest

    def least(self, place: Place, reach: Reach) -> Least | None:
        """A closer look at those within reach; None when they are not enough."""
        workers = self._workers.on(place).within(reach)
        if self._shape.exclusive:
            return _all(workers) if len(workers) == place.holders else None
        short = missing(place, self._shape)
        if not short:
            return NOTHING
        fewest = max(_fewest(workers, resource, rest) for resource, rest in short.items())
        if fewest > len(workers):
            return None
        if fewest == 1:
            alone = [(n * worker.size, worker.rank[0]) for worker in workers if (n := _pieces(worker, short))]
            if alone:
                return 1, *min(alone)
            fewest = 2
        # Fewer pieces than workers there cannot be, and in all they hold what is missing, but for rounding.
        rounded = len(short) * sum(worker.count for worker in workers)
        sizes, classes = sorted(w.size for w in workers), sorted(w.rank[0] for w in workers)
        size = max(self._workers.size(short) - rounded, sum(sizes[:fewest]))
        return fewest, size, classes[min(fewest, len(classes)) - 1]


def _all(workers: Sequence[Worker]) -> Least:
    """What it takes that nobody is left on a node."""
    size = sum(worker.count * worker.size for worker in workers)
    return len(workers), size, max((worker.rank[0] for worker in workers), default=0)


def _fewest(workers: Sequence[Worker], resource: str, rest: int) -> int:
    """How many workers it takes at least for one resource; more than there are when all are not enough."""
    for number, gives in enumerate(sorted((w.all.get(resource, 0) for w in workers), reverse=True), 1):
        rest -= gives
        if rest <= 0:
            return number
    return len(workers) + 1


def _pieces(worker: Worker, short: Amounts) -> int:
    """How many pieces of one worker cover what is missing; 0 when all that may go do not."""
    each = worker.each
    if not all(each.get(name) for name in short):
        return 0
    needed = max(-(-rest // each[name]) for name, rest in short.items())
    return needed if needed <= worker.count else 0
