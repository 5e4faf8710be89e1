"""One worker, and the workers of one node with its room.

Amounts that are compared again and again are rows of numbers, in the order of `Workers.names`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add as sum_of

from scheduler.model.resources import Amounts
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.ranking import SECOND_TIER, PreemptionScope

Row = tuple[int, ...]
"""So much of each resource."""


@dataclass(frozen=True, slots=True, eq=False)
class Lot:
    """So many equal pieces. Workers that may lose the same share one, so lots are compared as objects.

    `size`: of one piece, its resources as shares of what the partition has of them, added up. `each`: one piece;
    `all`: all of them, and `gives` the same as a row.
    """

    count: int
    size: int
    each: Amounts
    all: Amounts
    gives: Row


@dataclass(slots=True, eq=False)
class Worker:
    """What an elastic job may lose on one node: at most `count` pieces of one `size`, as its lot says.

    `rank`: its class (`PreemptionScope.class_of`), then the later submitted; no two are equal. Never changed: who may
    lose another number is another worker. (Not frozen, for thousands are made, and that takes three times as long.)
    """

    runner: RunningJob
    place: NodeState
    lot: Lot
    rank: tuple[int, int]
    count: int
    size: int
    _second: "Worker | None" = None

    def within(self, scope: PreemptionScope) -> "Worker | None":
        """As a worker of the first tier counts for whoever has this scope; None: out of it."""
        first, floor = self.rank[0], scope.second_floor
        if first < scope.first_floor:
            return self
        if floor is not None and first == scope.first and self.runner.second < floor:
            return self.in_second_tier()
        return None

    def in_second_tier(self) -> "Worker":
        """As a worker of the first tier counts in the second: for jobs that are equal to its own on the first axis."""
        known = self._second
        if known is None:
            rank = SECOND_TIER + self.runner.second, self.rank[1]
            known = self._second = Worker(self.runner, self.place, self.lot, rank, self.count, self.size)
        return known


class OnNode:
    """The workers on one node, and its room.

    `soon`: what is free or coming; `could`: the same, with all that they may lose. `version`: another one whenever any
    of this is other than before, or somebody came or went. `workers`: as they count in the first tier; `own`: where
    they come in `Workers.all`. `top`: the most that one of them may lose; `smallest`: the size of the smallest piece.
    `lowest` and `highest`: of their classes; above all of them when there are none.
    """

    __slots__ = (
        "_known",
        "_most",
        "could",
        "highest",
        "holders",
        "lowest",
        "own",
        "place",
        "smallest",
        "soon",
        "top",
        "version",
        "workers",
    )

    def __init__(self, place: NodeState, width: int) -> None:
        self.place = place
        self.own: list[int] = []
        self.version = self.holders = 0
        self.soon = self.could = self._most = self.top = (0,) * width
        self.workers: Sequence[Worker] = ()
        self.smallest = 0
        self.lowest = self.highest = SECOND_TIER
        self._known: tuple[PreemptionScope | None, Sequence[Worker]] = None, ()

    def put(self, workers: Sequence[Worker]) -> None:
        """Other workers are there than before."""
        self.workers = workers
        self._known = None, ()
        if not workers:
            self.smallest, self.lowest, self.highest = 0, SECOND_TIER, SECOND_TIER
            self.top = self._most = (0,) * len(self._most)
            return
        worker, *others = workers
        self.smallest, self.lowest, self.highest = worker.size, worker.rank[0], worker.rank[0]
        self.top = self._most = worker.lot.gives
        for worker in others:
            self.smallest = min(self.smallest, worker.size)
            self.lowest, self.highest = min(self.lowest, worker.rank[0]), max(self.highest, worker.rank[0])
            self.top = tuple(map(max, self.top, worker.lot.gives))
            self._most = tuple(map(sum_of, self._most, worker.lot.gives))

    def room(self, soon: Row) -> None:
        """So much is free or coming, or other workers are there."""
        self.soon = soon
        self.could = tuple(map(sum_of, soon, self._most))

    def within(self, scope: PreemptionScope) -> Sequence[Worker]:
        """Those of jobs that a pending one outranks. Limits on stops do not hold them back.

        Kept for those who ask with the same object next: many requests do, one after the other.
        """
        known, result = self._known
        if known is not scope:
            if self.highest < scope.first_floor:
                result = self.workers
            elif self.lowest > scope.highest:
                result = ()
            else:
                result = [mine for worker in self.workers if (mine := worker.within(scope))]
            self._known = scope, result
        return result
