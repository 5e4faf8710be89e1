"""Who may be stopped on a node, from the first to go up, and what there is once the lowest so many of them have gone.

With that at hand, how many have to go is a bisection, whatever a shape asks for; and that alone says who the dearest
victim is. So a node has a lower bound of its price, most often the price itself, for next to nothing
(`Stopping.least`), and only the few nodes are priced that might be the cheapest.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

from scheduler.preemption.candidates import Candidate, Candidates, in_second_tier
from scheduler.preemption.pricing import Cost, Price
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place

Tiers = tuple[int, int] | None
"""Of the jobs with which weight on the first axis, and with which `first_floor`, both tiers; None: the first axis
alone."""


class Ladder(dict[str, Sequence[int]]):
    """The candidates on one node as it is now, the first to go first.

    By resource: what is free or coming when nobody goes, when the first goes, the first two … (for a resource that was
    asked for before; for others it is worked out).
    """

    __slots__ = ("_place", "candidates")

    def __init__(self, place: Place, candidates: list[Candidate]) -> None:
        self.candidates = candidates
        self._place = place

    def __missing__(self, name: str) -> Sequence[int]:
        there = self._place.free.get(name, 0) + self._place.coming.get(name, 0)
        known = self[name] = list(accumulate([c[5].get(name, 0) for c in self.candidates], initial=there))
        return known


class Ladders:
    """The ladders of all nodes, for one way to count harm, brought up to date by the universe's log.

    Nobody on the axis that is looked at last is out of reach: the caller cuts them off. So one ladder serves all
    pending jobs, or with a second tier all those of equal weight on the first axis.
    """

    def __init__(self, candidates: Candidates, harm: str, first: "Ladders | None", tiers: Tiers) -> None:
        """`first`: the ladders of the first axis alone, from which those with `tiers` are made."""
        self._candidates = candidates
        self._harm = harm
        self._first = first
        self._tiers = tiers
        self._log = candidates.universe.log
        self._seen = len(self._log)
        self._known: dict[int, Ladder] = {}

    def on(self, place: Place) -> Ladder:
        """The ladder of a node."""
        log = self._log
        if self._seen < len(log):
            for order in log[self._seen :]:
                self._known.pop(order, None)
            self._seen = len(log)
        known = self._known.get(place.order)
        if known is None:
            known = self._known[place.order] = Ladder(place, self._candidates_on(place))
        return known

    def _candidates_on(self, place: Place) -> list[Candidate]:
        if self._first is None or self._tiers is None:
            name = place.node.name
            return [
                c
                for c in self._candidates.on(place, self._harm)
                if c[4].may_go and (c[4].pieces is None or name in c[4].pieces.counts)
            ]
        known = self._first.on(place).candidates
        first, floor = self._tiers
        equals = [in_second_tier(c) for c in known if c[0] == first]
        return [c for c in known if c[0] < floor] + sorted(equals)


class Stopping:
    """What a node costs a shape when those who are lower go: those of the first tier, or (by its ladders) of both."""

    def __init__(
        self, ladders: Ladders, shape: Shape, how: Callable[[Place, Shape, list[Candidate]], Price | None]
    ) -> None:
        """`how`: what choosing the victims from a ladder costs."""
        self._ladders = ladders
        self.shape = shape
        self._how = how

    def price(self, place: Place) -> Price | None:
        """The price of a node; None when all of them are not enough."""
        return self._how(place, self.shape, self._ladders.on(place).candidates)

    def least(self, place: Place) -> tuple[Cost, int] | None:
        """At most the price, and how many victims at least: the dearest one (of one who holds pieces: one piece)."""
        ladder = self._ladders.on(place)
        candidates = ladder.candidates
        if self.shape.exclusive:
            # A node that must be empty: everybody goes, or it cannot be had.
            number = place.holders if place.holders == len(candidates) else len(candidates) + 1
        else:
            number = 0
            for name, amount in self.shape.wants:
                needed = bisect_left(ladder[name], amount)
                if needed > number:
                    number = needed
        if number > len(candidates):
            return None
        if not number:
            return (), 0
        own_class, harm, _, _, runner, _ = candidates[number - 1]
        return ((own_class, harm // runner.pieces.held if runner.pieces else harm, 1),), 1
