"""Who may be stopped on a node, from the first to go up, with what the lowest so many of them give together.

With the sums at hand, how many have to go is a bisection, whatever a shape asks for; and that alone says who the
dearest victim is. So a node has a lower bound of its price, most often the price itself, for next to nothing
(`Stopping.least`), and only the few nodes are priced that might be the cheapest.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

from scheduler.preemption.candidates import Candidate, Candidates
from scheduler.preemption.pricing import Cost, Price
from scheduler.preemption.ranking import SECOND_TIER
from scheduler.preemption.shapes import Shape
from scheduler.preemption.universe import Place

Tiers = tuple[int, int] | None
"""Of the jobs with which weight on the first axis, and with which `first_floor`, both tiers; None: the first axis
alone."""


class Ladder:
    """The candidates on one node as it is now, the first to go first."""

    __slots__ = ("_sums", "candidates")

    def __init__(self, candidates: list[Candidate]) -> None:
        self.candidates = candidates
        self._sums: dict[str, Sequence[int]] = {}

    def sums(self, name: str) -> Sequence[int]:
        """What the first, the first two, the first three … give together of a resource."""
        known = self._sums.get(name)
        if known is None:
            known = self._sums[name] = list(accumulate([c[5].get(name, 0) for c in self.candidates]))
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
            known = self._known[place.order] = Ladder(self._candidates_on(place))
        return known

    def _candidates_on(self, place: Place) -> list[Candidate]:
        if self._first is None or self._tiers is None:
            name = place.node.name
            return [
                c
                for c in self._candidates.ordered(self._harm, place)
                if c[4].may_go and (c[4].pieces is None or name in c[4].pieces.counts)
            ]
        known = self._first.on(place).candidates
        first, floor = self._tiers
        equals = [(SECOND_TIER + c[4].second, *c[1:]) for c in known if c[0] == first]
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
        number = self._everybody(place, ladder) if self.shape.exclusive else self._enough(place, ladder)
        if number is None:
            return None
        if not number:
            return (), 0
        own_class, harm, _, _, runner, _ = ladder.candidates[number - 1]
        return ((own_class, harm // runner.pieces.held if runner.pieces else harm, 1),), 1

    def _enough(self, place: Place, ladder: Ladder) -> int | None:
        """How many of the lowest have to go until the shape fits (step 1 of `pricing`)."""
        free, coming = place.free, place.coming
        number = 0
        for name, amount in self.shape.wants:
            rest = amount - free.get(name, 0) - coming.get(name, 0)
            if rest > 0:
                number = max(number, bisect_left(ladder.sums(name), rest) + 1)
        return number if number <= len(ladder.candidates) else None

    def _everybody(self, place: Place, ladder: Ladder) -> int | None:
        """How many are on a node that must be empty; None when some of them may not be stopped."""
        return place.holders if place.holders == len(ladder.candidates) else None
