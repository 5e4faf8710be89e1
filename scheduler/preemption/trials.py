"""Trying out what becomes of a room when running jobs leave, or lose pieces, before anything is decided."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from scheduler.model.resources import Amounts
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.shapes import Shape


class Trial(ABC):
    """A room that is asked for, and how much of it is still missing.

    Whoever leaves makes room; whoever comes back takes it again. `exclusive`: only nodes on which nobody is left
    count, so on a node all pieces of a job go, or none.
    """

    exclusive = False

    @abstractmethod
    def enough(self) -> bool:
        """Whether nothing is missing."""

    @abstractmethod
    def missing(self) -> int:
        """How much is missing, in a measure of its own; 0 when it is enough."""

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

    @abstractmethod
    def change(self, place: NodeState, gives: Amounts, leaving: int) -> None:
        """Somebody leaves (`leaving` 1) or comes back (-1) on a node, or only gives or takes there (0).

        `gives` is what that adds on the node, below zero when it is taken again.
        """

    def stop(self, runner: RunningJob) -> None:
        """Stop a runner."""
        for place, gives in runner.parts:
            self.change(place, gives, 1)

    def restore(self, runner: RunningJob) -> None:
        """Let a runner go on after all."""
        for place, gives in runner.parts:
            self.change(place, {name: -amount for name, amount in gives.items()}, -1)

    def pieces(self, runner: RunningJob, place: NodeState, count: int) -> None:
        """A runner loses so many pieces on a node; below zero, it gets them back."""
        if runner.pieces and count:
            each = runner.pieces.each[place.node.name]
            whole = abs(count) == runner.pieces.counts[place.node.name]
            leaving = (1 if count > 0 else -1) if whole else 0
            self.change(place, {name: amount * count for name, amount in each.items()}, leaving)


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


class Places(Trial):
    """What is missing on some nodes, each by resource; below zero, what is left over there."""

    def __init__(self, places: Iterable[NodeState], shape: Shape) -> None:
        """For what a shape wants of each of them, with what is free or coming."""
        self.exclusive = shape.exclusive
        chosen = list(places)
        self._short = {place.order: _missing(place, shape) for place in chosen}
        self._scale = {order: {n: max(1, a) for n, a in s.items()} for order, s in self._short.items()}
        self._there = {place.order: place.holders for place in chosen}

    def enough(self) -> bool:
        """Whether nothing is missing, and nobody is left where nobody may be."""
        if self.exclusive and any(self._there.values()):
            return False
        for short in self._short.values():
            for rest in short.values():
                if rest > 0:
                    return False
        return True

    def may_be_enough(self, gives: Amounts) -> bool:
        """Whether it covers what is missing on any single node."""
        return any(covers(gives, short) for short in self._short.values())

    def missing(self) -> int:
        """Millionths of what was missing at first, over all nodes and resources."""
        return sum(share(short, self._scale[order]) for order, short in self._short.items())

    def pieces(self, runner: RunningJob, place: NodeState, count: int) -> None:
        """The same, directly: this is asked more than anything else."""
        short = self._short.get(place.order)
        if short is None or not runner.pieces:
            return
        name = place.node.name
        each = runner.pieces.each[name]
        for resource in short:
            short[resource] -= each.get(resource, 0) * count
        if self.exclusive and abs(count) == runner.pieces.counts[name]:
            self._there[place.order] -= 1 if count > 0 else -1

    def change(self, place: NodeState, gives: Amounts, leaving: int) -> None:
        """More or less on a node, if it is one of these."""
        short = self._short.get(place.order)
        if short is not None:
            self._there[place.order] -= leaving
            for name in short:
                short[name] -= gives.get(name, 0)


def covers(gives: Amounts, short: Amounts) -> bool:
    for name, rest in short.items():  # noqa: SIM110 - asked for every worker; a loop is twice as fast
        if rest > 0 and gives.get(name, 0) < rest:
            return False
    return True


def _missing(place: NodeState, shape: Shape) -> dict[str, int]:
    if shape.exclusive:
        return {name: amount - place.node.total.get(name, 0) for name, amount in shape.wants}
    free, coming = place.free, place.coming
    return {name: amount - free.get(name, 0) - coming.get(name, 0) for name, amount in shape.wants}


def share(short: Amounts, scale: Amounts) -> int:
    """What is missing in millionths of `scale`, over all resources together."""
    return sum(rest * 1_000_000 // scale[name] + 1 for name, rest in short.items() if rest > 0)
