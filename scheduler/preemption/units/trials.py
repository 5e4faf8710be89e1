"""Trying out what becomes of a room when running jobs lose pieces, or all of them, before anything is decided."""

from abc import abstractmethod
from collections.abc import Callable, Iterable

from scheduler.model.resources import Amounts
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.shapes import Shape
from scheduler.preemption.trials import Places, Trial


class PieceTrial(Trial):
    """A room that is asked for, how much of it is still missing, and what pieces of running jobs do for it.

    `exclusive`: on a node all pieces of a job go, or none.
    """

    @abstractmethod
    def missing(self) -> int:
        """How much is missing, in a measure of its own; 0 when it is enough."""

    @abstractmethod
    def pieces(self, runner: RunningJob, place: NodeState, count: int) -> None:
        """A runner loses so many pieces on a node; below zero, it gets them back."""

    def may_be_enough(self, gives: Amounts) -> bool:
        """A quick look: whether so much more, on one node, might be enough. No is certain."""
        return True

    def missing_after(self, lost: Iterable[tuple[RunningJob, NodeState, int]]) -> list[int]:
        """How much would be missing after each of these losses alone: who, where, and how many pieces."""
        rests = []
        for runner, place, count in lost:
            self.pieces(runner, place, count)
            rests.append(self.missing())
            self.pieces(runner, place, -count)
        return rests

    def spare(self) -> int:
        """How much more than enough there is, where that is counted."""
        return 0


class PiecesOn(Places, PieceTrial):
    """What is missing on some nodes."""

    def __init__(self, places: Iterable[NodeState], shape: Shape) -> None:
        super().__init__(places, shape)
        self._scale = {order: {n: max(1, a) for n, a in s.items()} for order, s in self.short.items()}

    def may_be_enough(self, gives: Amounts) -> bool:
        """Whether it covers what is missing on any single node."""
        return any(covers(gives, short) for short in self.short.values())

    def missing(self) -> int:
        """Millionths of what was missing at first, over all nodes and resources."""
        return sum(share(short, self._scale[order]) for order, short in self.short.items())

    def pieces(self, runner: RunningJob, place: NodeState, count: int) -> None:
        """A runner loses so many pieces: directly, for this is asked more than anything else."""
        short = self.short.get(place.order)
        if short is None or not runner.pieces:
            return
        name = place.node.name
        each = runner.pieces.each[name]
        for resource in short:
            short[resource] -= each.get(resource, 0) * count
        if self.exclusive and abs(count) == runner.pieces.counts[name]:
            self.there[place.order] -= 1 if count > 0 else -1


def most(limit: int, fits: Callable[[int], bool], *, whole: bool = False) -> int:
    """The largest number up to a limit that fits, when whatever is less fits too; 0 always does.

    `whole`: the limit or nothing.
    """
    if limit <= 0 or fits(limit):
        return max(0, limit)
    if whole:
        return 0
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def covers(gives: Amounts, short: Amounts) -> bool:
    """Whether it is all that is missing."""
    for name, rest in short.items():  # noqa: SIM110 - asked for every worker; a loop is twice as fast
        if rest > 0 and gives.get(name, 0) < rest:
            return False
    return True


def share(short: Amounts, scale: Amounts) -> int:
    """What is missing in millionths of `scale`, over all resources together."""
    return sum(rest * 1_000_000 // scale[name] + 1 for name, rest in short.items() if rest > 0)
