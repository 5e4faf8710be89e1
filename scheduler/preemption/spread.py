"""Room anywhere: requests that are counted over all nodes together, as the document counts processors
(¶62, ¶91).

Victims are chosen as on one node (`pricing`): from the first to go on until it suffices, then given back
from the most valuable to the least.
"""

from collections.abc import Iterable, Sequence

from scheduler.model.resources import add, subtract
from scheduler.preemption.pricing import Price, by_tier, cost_of_runners
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place, Runner, Universe

Amounts = dict[str, int]
_NONE: Amounts = {}


class Pool:
    """What one shape finds on all of its nodes together, kept up to date by the universe's log."""

    def __init__(self, universe: Universe, shape: Shape) -> None:
        self.shape = shape
        self.places = {place.order: place for place in shape.places}
        self._universe = universe
        self._seen = len(universe.log)
        self._each = {order: self._now_and_soon(place) for order, place in self.places.items()}
        self._now: Amounts = {}
        self._soon: Amounts = {}
        for now, soon in self._each.values():
            add(self._now, now)
            add(self._soon, soon)

    def fits(self, coming: bool) -> bool:
        """Whether there is enough without stopping anybody, counting what is coming or not."""
        self._catch_up()
        have = self._soon if coming else self._now
        return all(have.get(name, 0) >= amount for name, amount in self.shape.wants)

    def now(self) -> Amounts:
        """What is free, on all nodes together."""
        self._catch_up()
        return self._now

    def soon(self) -> Amounts:
        """What is free or coming, on all nodes together."""
        self._catch_up()
        return self._soon

    def price(self, reach: Reach) -> Price | None:
        """Who has to go, the most valuable first; None when stopping everybody in reach is not enough."""
        self._catch_up()
        trial = _Trial(self, {name: amount - self._soon.get(name, 0) for name, amount in self.shape.wants})
        taken: list[Runner] = []
        for candidate in by_tier(self._universe.candidates(self.shape.harm), reach):
            runner = candidate[4]
            if not runner.alive or not self._useful(runner):
                continue
            trial.stop(runner)
            taken.append(runner)
            if trial.enough():
                return cost_of_runners(_needed(trial, taken), self.shape, reach)
        return None

    def placement(self, coming: bool) -> dict[str, Amounts]:
        """Where to take it from: typed resources first, which count for their plain ones too; then as far as
        possible on the same nodes, then on others, in their order.
        """
        self._catch_up()
        left = dict(self.shape.wants)
        result: dict[int, Amounts] = {}
        for name in sorted(left, key=lambda name: (":" not in name, name)):
            base = name.partition(":")[0]
            together = [name, base] if base != name and base in left else [name]
            for order in [*sorted(result), *self._each]:
                if not left[name]:
                    break
                have, taken = self._each[order][coming], result.get(order, _NONE)
                if name not in have:
                    continue
                amount = min(left[name], *(have.get(each, 0) - taken.get(each, 0) for each in together))
                if amount > 0:
                    part = result.setdefault(order, {})
                    for each in together:
                        part[each] = part.get(each, 0) + amount
                        left[each] -= amount
        return {self.places[order].node.name: result[order] for order in sorted(result)}

    def room(
        self,
        place: Place,
        coming: bool,
        extra: Amounts | None = None,
        leaving: int = 0,
    ) -> Amounts:
        """What a node adds: never below zero, and nothing of a node that must be empty and is not.

        `extra` and `leaving`: the room and the number of the runners there that are stopped on trial.
        """
        if self.shape.exclusive and (place.holders > leaving or (place.ending and not coming)):
            return {}
        free, more = place.free, place.coming if coming else _NONE
        have = {}
        for name, _ in self.shape.wants:
            amount = free.get(name, 0) + more.get(name, 0) + (extra.get(name, 0) if extra else 0)
            if amount > 0:
                have[name] = amount
        return have

    def _useful(self, runner: Runner) -> bool:
        """Whether it holds anything wanted on a node that counts."""
        return any(
            place.order in self.places
            and (self.shape.exclusive or any(gives.get(name) for name, _ in self.shape.wants))
            for place, gives in runner.parts
        )

    def _now_and_soon(self, place: Place) -> tuple[Amounts, Amounts]:
        return self.room(place, coming=False), self.room(place, coming=True)

    def _catch_up(self) -> None:
        log = self._universe.log
        for order in set(log[self._seen :]) & self.places.keys():
            fresh = self._now_and_soon(self.places[order])
            for total, old, new in zip((self._now, self._soon), self._each[order], fresh, strict=True):
                subtract(total, old)
                add(total, new)
            self._each[order] = fresh
        self._seen = len(log)


class _Trial:
    """Runners stopped on trial. `short`: what is still missing; below zero, what is left over."""

    def __init__(self, pool: Pool, short: Amounts) -> None:
        self._pool = pool
        self._short = short
        self._extra: dict[int, Amounts] = {}
        self._leaving: dict[int, int] = {}

    def enough(self) -> bool:
        """Whether nothing is missing."""
        return all(rest <= 0 for rest in self._short.values())

    def stop(self, runner: Runner) -> None:
        """Stop one more."""
        self._change(runner, 1)

    def restore(self, runner: Runner) -> None:
        """Let one go on after all."""
        self._change(runner, -1)

    def _change(self, runner: Runner, sign: int) -> None:
        pool = self._pool
        for place, gives in runner.parts:
            if place.order not in pool.places:
                continue
            extra = self._extra.setdefault(place.order, {})
            leaving = self._leaving.get(place.order, 0)
            before = pool.room(place, coming=True, extra=extra, leaving=leaving)
            (add if sign > 0 else subtract)(extra, gives)
            self._leaving[place.order] = leaving + sign
            after = pool.room(place, coming=True, extra=extra, leaving=leaving + sign)
            add(self._short, before)
            subtract(self._short, after)


def _needed(trial: _Trial, taken: Sequence[Runner]) -> Iterable[Runner]:
    """Of the runners taken those who are needed: given back from the last one taken to the first."""
    for runner in reversed(taken):
        trial.restore(runner)
        if not trial.enough():
            trial.stop(runner)
            yield runner
