"""What a node costs for one shape: who of its workers go so that the shape fits there."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from scheduler.preemption.elastic.bounds import Short, ShrinkBounds, fewest, pieces
from scheduler.preemption.elastic.covering import MOST_COMBINED, cover, on_one_node, smallest_first
from scheduler.preemption.elastic.on_node import OnNode, Worker
from scheduler.preemption.elastic.workers import Workers
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import FREE, Cost, Loss, Price
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape
from scheduler.preemption.units.trials import PiecesOn


class Prices:
    """The prices of nodes for one shape."""

    def __init__(self, workers: Workers, shape: Shape) -> None:
        self.bounds = ShrinkBounds(workers, shape)
        self._workers = workers
        self._shape = shape

    def of(self, node: OnNode, scope: PreemptionScope) -> Price | None:
        """Fewest workers, then the smallest, then the lowest rank; None when all of them are not enough."""
        return self._price(node, node.within(scope))

    def beside(self, node: OnNode, scope: PreemptionScope, used: Mapping[RunningJob, int]) -> Price | None:
        """The same when jobs have lost so many pieces elsewhere."""
        left = [self._workers.left(worker, used.get(worker.runner, 0)) for worker in node.within(scope)]
        return self._price(node, [worker for worker in left if worker])

    def _price(self, node: OnNode, workers: Sequence[Worker]) -> Price | None:
        place, shape = node.place, self._shape
        losses: Sequence[Loss] | None
        if shape.exclusive:
            losses = _everybody(place, shape, workers)
        else:
            short = self.bounds.short(node)
            if not short:
                return FREE
            alone = _alone(workers, short)
            if alone:
                return _price_of_one(*alone)
            number = max(2, fewest(workers, short))
            if number > len(workers):
                return None
            if len(workers) <= MOST_COMBINED and all(worker.count == 1 for worker in workers):
                losses = _whole(workers, short, number)
            else:
                losses = cover(PiecesOn((place,), shape), on_one_node(workers), number)
        if losses is None:
            return None
        known = {worker.runner: worker for worker in workers}
        size = sum(known[runner].size * count for runner, _, count in losses)
        highest = max((known[runner].rank[0] for runner, _, _ in losses), default=0)
        cost: Cost = ((len(losses), size, 0), (highest, 0, 0))
        return Price(cost, tuple(runner for runner, _, _ in losses), 0, tuple(losses))


def _alone(workers: Iterable[Worker], short: Short) -> tuple[Worker, int] | None:
    """The smallest single worker that covers what is missing, and how much of it: as in `covering`, point 2."""
    best: tuple[int, tuple[int, int]] | None = None
    found = None
    for worker in sorted(workers, key=smallest_first):
        if best and worker.size >= best[0]:
            break
        count = pieces(worker, short)
        key = count * worker.size, worker.rank
        if count and (best is None or key < best):
            best, found = key, (worker, count)
    return found


def _whole(workers: Sequence[Worker], short: Short, number: int) -> list[Loss]:
    """Which workers of one piece each cover what is missing, all of them being enough: as in `covering`, point 3. Of
    the fewest that do, none can have its piece back, so sums of them are all that it takes."""
    while True:
        found = [
            chosen
            for chosen in combinations(workers, number)
            if all(sum([worker.lot.gives[at] for worker in chosen]) >= rest for at, rest in short)
        ]
        if found:
            best = min(found, key=_size_and_ranks) if len(found) > 1 else found[0]
            return [(worker.runner, worker.place.node.name, 1) for worker in best]
        number += 1


def _size_and_ranks(workers: Iterable[Worker]) -> tuple[int, list[tuple[int, int]]]:
    return sum([worker.size for worker in workers]), sorted([worker.rank for worker in workers])


def _price_of_one(worker: Worker, count: int) -> Price:
    loss = worker.runner, worker.place.node.name, count
    return Price(((1, worker.size * count, 0), (worker.rank[0], 0, 0)), (worker.runner,), 0, (loss,))


def _everybody(place: NodeState, shape: Shape, workers: Sequence[Worker]) -> list[Loss] | None:
    """For a node that must be empty: all who are on it, if they may all go from it."""
    name = place.node.name
    going = [w for w in workers if w.runner.pieces and w.count == w.runner.pieces.counts[name]]
    enough = all(place.node.total.get(resource, 0) >= amount for resource, amount in shape.wants)
    return [(w.runner, name, w.count) for w in going] if enough and len(going) == place.holders else None
