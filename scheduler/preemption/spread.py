"""Room anywhere: requests that are counted over all nodes together, as the document counts processors
(¶62, ¶91).

Victims are chosen as on one node (`pricing`): from the first to go on until it suffices, then given back
from the most valuable to the least.
"""

from collections.abc import Callable, Iterable
from itertools import chain

from scheduler.model import resources
from scheduler.model.resources import add, subtract
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import Price, obtainable
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.rooms import Rooms
from scheduler.preemption.shapes import Shape, Wants, in_parts, with_type
from scheduler.preemption.trials import Trial

Amounts = dict[str, int]
_NONE: Amounts = {}


class Pool:
    """What some resources come to on some nodes together.

    Shared by all spread requests for these resources that allow the same nodes.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        candidates: Candidates,
        shape: Shape,
        rooms: Rooms,
        trial: "Callable[[Pool, Shape], Trial] | None" = None,
    ) -> None:
        """`trial`: as in `giving_way`."""
        self._trial = trial or MissingAnywhere
        self.places = rooms.places
        self.exclusive = shape.exclusive
        self.part = shape.part
        self.cluster_state = cluster_state
        self._candidates = candidates
        self._names = rooms.names
        self._rooms = rooms

    def fits(self, shape: Shape, *, coming: bool) -> bool:
        """Whether there is enough without stopping anybody, counting what is coming or not."""
        have = self.soon() if coming else self.now()
        return all(have.get(name, 0) >= amount for name, amount in shape.wants)

    def least(self, shape: Shape) -> Iterable[tuple[str, int]]:
        """Of each resource the least for which others are asked to give way."""
        return shape.wants

    def now(self) -> Amounts:
        """What is free, on all nodes together."""
        return self._rooms.sums(coming=False).amounts

    def soon(self) -> Amounts:
        """What is free or coming, on all nodes together."""
        return self._rooms.sums(coming=True).amounts

    def each(self, *, coming: bool) -> Iterable[tuple[int, Amounts]]:
        """What is free (and coming) on each node that has any of it, by the node's order."""
        rooms = sorted(self._rooms.sums(coming=coming).rooms.items())
        parts = [(order, zip(self._names, room, strict=True)) for order, room in rooms if max(room) > 0]
        return [(order, {name: n for name, n in part if n > 0}) for order, part in parts]

    def price(self, shape: Shape, scope: PreemptionScope) -> Price | None:
        """Who has to go, the most valuable first; None when stopping everybody in scope is not enough."""
        trial = self.trial(shape)
        soon = self.soon()
        short = tuple([(name, 1) for name, amount in shape.wants if amount > soon.get(name, 0)])
        taken: dict[RunningJob, int] = {}
        for candidate in self._candidates.in_scope(scope, shape.cost_in):
            runner = candidate[4]
            if not runner.may_go or not self._may_help(runner, short):
                continue
            trial.stop(runner)
            taken[runner] = candidate[0]
            if trial.enough():
                return trial.price(taken, shape, scope)
        return None

    def trial(self, shape: Shape) -> Trial:
        """What a request is short of, with what is free or coming."""
        return self._trial(self, shape)

    def placement(self, shape: Shape, *, coming: bool) -> dict[str, Amounts]:
        """Where to take it from: typed resources first, which count for their plain ones too; then as far as
        possible on the same nodes, then on others, in their order.
        """
        sums = self._rooms.sums(coming=coming)
        at = {name: index for index, name in enumerate(self._names)}
        left = dict(shape.wants)
        result: dict[int, Amounts] = {}
        for name in sorted(left, key=lambda name: (":" not in name, name)):
            base = name.partition(":")[0]
            together = [name, base] if base != name and base in left else [name]
            # Where some is taken already, then anywhere (`sorted` a second time only if that is needed).
            for order in chain.from_iterable(map(sorted, (list(result), sums.where[name]))):
                if not left[name]:
                    break
                have, taken = sums.rooms[order], result.get(order, _NONE)
                amount = min(left[name], *(have[at[each]] - taken.get(each, 0) for each in together))
                if amount > 0:
                    part = result.setdefault(order, {})
                    for each in together:
                        part[each] = part.get(each, 0) + amount
                        left[each] -= amount
        places = [self.places[order] for order in sorted(result)]
        if self.exclusive:
            return {place.node.name: dict(place.node.total) for place in places}
        return {place.node.name: with_type(place, result[place.order]) for place in places}

    def room(self, place: NodeState, extra: Amounts, leaving: int) -> Amounts:
        """What a node adds with some runners stopped on trial: never below zero, whole parts of what comes
        in parts, and nothing of a node that must be empty and is not. `extra` and `leaving`: what those
        runners hold there, and how many they are.
        """
        if self.exclusive and place.holders > leaving:
            return {}
        there = self._positive(place.free, place.coming, extra)
        return in_parts(there, self.part) if self.part else there

    def _positive(self, *parts: Amounts) -> Amounts:
        result = {}
        for name in self._names:
            amount = 0
            for part in parts:
                amount += part.get(name, 0)
            if amount > 0:
                result[name] = amount
        return result

    def _may_help(self, runner: RunningJob, wanted: Wants) -> bool:
        """Whether it holds anything of some resources on a node that counts and that could ever give enough of them to
        make a difference. Most do not where nodes are kept for jobs that wait."""
        if self.exclusive:
            return any(place.order in self.places for place in runner.places)
        for place in runner.places:
            if self._could_give(place, wanted) and place.order in self.places:
                gives = runner.alloc[place.node.name]
                if any(gives.get(name) for name, _ in wanted):
                    return True
        return False

    def _could_give(self, place: NodeState, wanted: Wants) -> bool:
        """Whether a node could give so much of any of some resources, once everybody has gone who may go."""
        for name, amount in wanted:  # noqa: SIM110 - asked for every runner; a loop is twice as fast
            if obtainable(name, place) >= amount:
                return True
        return False


class MissingAnywhere(Trial):
    """Runners stopped on trial. `short`: what is still missing; below zero, what is left over."""

    def __init__(self, pool: Pool, shape: Shape) -> None:
        soon = pool.soon()
        self.exclusive = pool.exclusive
        self.pool = pool
        self.short = {name: amount - soon.get(name, 0) for name, amount in shape.wants}
        self.extra: dict[int, Amounts] = {}
        self._leaving: dict[int, int] = {}

    def enough(self) -> bool:
        """Whether nothing is missing."""
        return all(rest <= 0 for rest in self.short.values())

    def change(self, place: NodeState, gives: resources.Amounts, leaving: int) -> None:
        """More or less on a node, if it counts."""
        pool, order = self.pool, place.order
        if order not in pool.places:
            return
        extra = self.extra.setdefault(order, {})
        left = self._leaving.get(order, 0)
        before = pool.room(place, extra, left)
        add(extra, gives)
        self._leaving[order] = left + leaving
        after = pool.room(place, extra, left + leaving)
        add(self.short, before)
        subtract(self.short, after)
