"""Trying out what becomes of a room when running jobs leave, before anything is decided."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from scheduler.model.resources import Amounts
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import Price, cost_of_runners
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape


class Trial(ABC):
    """A room that is asked for, and how much of it is still missing.

    Whoever leaves makes room; whoever comes back takes it again. `exclusive`: only nodes on which nobody is left count.
    """

    exclusive = False

    @abstractmethod
    def enough(self) -> bool:
        """Whether nothing is missing."""

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

    def price(self, walked: Mapping[RunningJob, int], shape: Shape, scope: PreemptionScope) -> Price:
        """What it costs when it is enough, whoever is not needed going on after all. `walked`: those who were stopped,
        the first to go first, with the class of each."""
        return cost_of_runners(needed(self, list(walked)), shape, scope)


def needed(trial: Trial, walked: Sequence[RunningJob]) -> list[RunningJob]:
    """Of the runners walked those who cannot be left alone altogether, the last one walked first."""
    result = []
    for runner in reversed(walked):
        trial.restore(runner)
        if not trial.enough():
            trial.stop(runner)
            result.append(runner)
    return result


class Places(Trial):
    """What is missing on some nodes, each by resource; below zero, what is left over there."""

    def __init__(self, places: Iterable[NodeState], shape: Shape) -> None:
        """For what a shape wants of each of them, with what is free or coming."""
        self.exclusive = shape.exclusive
        chosen = list(places)
        self.short = {place.order: _missing(place, shape) for place in chosen}
        self.there = {place.order: place.holders for place in chosen}

    def enough(self) -> bool:
        """Whether nothing is missing, and nobody is left where nobody may be."""
        if self.exclusive and any(self.there.values()):
            return False
        for short in self.short.values():
            for rest in short.values():
                if rest > 0:
                    return False
        return True

    def change(self, place: NodeState, gives: Amounts, leaving: int) -> None:
        """More or less on a node, if it is one of these."""
        short = self.short.get(place.order)
        if short is not None:
            self.there[place.order] -= leaving
            for name in short:
                short[name] -= gives.get(name, 0)


def _missing(place: NodeState, shape: Shape) -> dict[str, int]:
    if shape.exclusive:
        return {name: amount - place.node.total.get(name, 0) for name, amount in shape.wants}
    free, coming = place.free, place.coming
    return {name: amount - free.get(name, 0) - coming.get(name, 0) for name, amount in shape.wants}
