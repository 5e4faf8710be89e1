"""What shrinking elastic jobs costs on a node at least: so few nodes are ever priced.

Costs are compared by the number of workers, then by their size, then by the highest class (`Reach.class_of`).
"""

from collections.abc import Iterable, Sequence

from scheduler.preemption.elastic.on_node import OnNode, Worker
from scheduler.preemption.elastic.workers import SCALE, Workers
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape

Least = tuple[int, int, int]
"""Number of workers, size, class."""
NOTHING: Least = (0, 0, 0)
Short = list[tuple[int, int]]
"""What is missing of which resources: their place in a row (`workers.Row`), and how much."""


class ShrinkBounds:
    """The least costs of nodes for one shape."""

    def __init__(self, workers: Workers, shape: Shape) -> None:
        self._exclusive = shape.exclusive
        self._total = workers.total
        self._wants = [(workers.names.index(name), amount) for name, amount in shape.wants]

    def rough(self, nodes: Iterable[OnNode]) -> list[tuple[Least, OnNode]]:
        """Of some nodes those on which there would be enough if all workers there went, with what they cost at least,
        whoever asks: not as close as `least`, but found out in no time."""
        if self._exclusive:
            return [(NOTHING, node) for node in nodes]
        for at, amount in self._wants:
            nodes = [node for node in nodes if node.could[at] >= amount]
        return [(self._rough(node), node) for node in nodes]

    def _rough(self, node: OnNode) -> Least:
        soon, top, result = node.soon, node.top, NOTHING
        for at, amount in self._wants:
            rest = amount - soon[at]
            if rest > top[at]:
                return 2, 2 * node.smallest, node.lowest
            if rest > 0:
                result = 1, node.smallest, node.lowest
        return result

    def short(self, node: OnNode) -> Short:
        """What is missing on a node."""
        soon = node.soon
        return [(at, amount - soon[at]) for at, amount in self._wants if amount > soon[at]]

    def least(self, node: OnNode, scope: PreemptionScope) -> Least | None:
        """What a node costs at least; None when the workers within scope are not enough."""
        if self._exclusive:
            workers = node.within(scope)
            return _all(workers) if len(workers) == node.place.holders else None
        short = self.short(node)
        if not short:
            return NOTHING
        workers = node.within(scope)
        if not workers:
            return None
        alone = [(n * worker.size, worker.rank[0]) for worker in workers if (n := pieces(worker, short))]
        if alone:
            return 1, *min(alone)
        if len(workers) == 1:
            return None
        number = max(2, fewest(workers, short))
        if number > len(workers):
            return None
        # Fewer pieces than workers there cannot be, and in all they hold what is missing, but for rounding.
        rounded = len(short) * sum([worker.count for worker in workers])
        sizes, classes = sorted([w.size for w in workers]), sorted([w.rank[0] for w in workers])
        size = sum([rest * SCALE // self._total[at] for at, rest in short])
        return number, max(size - rounded, sum(sizes[:number])), classes[number - 1]


def fewest(workers: Sequence[Worker], short: Short) -> int:
    """How many workers it takes at least; more than there are when all are not enough."""
    result = 0
    for at, rest in short:
        gives = [worker.lot.gives[at] for worker in workers]
        if sum(gives) < rest:
            return len(workers) + 1
        together = 0
        for number, most in enumerate(sorted(gives, reverse=True), 1):
            together += most
            if together >= rest:
                result = max(result, number)
                break
    return result


def _all(workers: Sequence[Worker]) -> Least:
    """What it takes that nobody is left on a node."""
    size = sum(worker.count * worker.size for worker in workers)
    return len(workers), size, max((worker.rank[0] for worker in workers), default=0)


def pieces(worker: Worker, short: Short) -> int:
    """How many pieces of one worker cover what is missing; 0 when all that may go do not."""
    gives, count, needed = worker.lot.gives, worker.count, 1
    for at, rest in short:
        there = gives[at]
        if there < rest:
            return 0
        if rest * count > there * needed:
            needed = -(-rest * count // there)
    return needed
