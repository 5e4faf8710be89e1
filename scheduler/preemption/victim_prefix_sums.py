"""Who may be stopped on a node, from the first to go up, and what there is once the lowest so many of them have gone.

With that at hand, how many have to go is a bisection, whatever a shape asks for; and that alone says who the dearest
victim is. So a node has a lower bound of its price, most often the price itself, for next to nothing
(`Stopping.bounds`), and only the few nodes are priced that might be the cheapest.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from scheduler.model.resources import total
from scheduler.preemption.candidates import Candidate, Candidates, in_second_tier
from scheduler.preemption.node_index import NodeIndex
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.pricing import FREE, Cost, Price
from scheduler.preemption.quotes import ONLY_A_BOUND, ROUGH, Entry, Quotes
from scheduler.preemption.shapes import Shape, Wants

Tiers = tuple[int, int] | None
"""Of the jobs with which weight on the first axis, and with which `first_floor`, both tiers; None: the first axis
alone."""


class Ladder(dict[str, Sequence[int]]):
    """The candidates on one node as it is now, the first to go first.

    By resource: what is free or coming when nobody goes, when the first goes, the first two … (for a resource that was
    asked for before; for others it is worked out).
    """

    __slots__ = ("_classes", "candidates", "place", "prices", "roughly", "since", "there")

    def __init__(self, place: NodeState, candidates: list[Candidate], since: int) -> None:
        """`since`: the last change of the node."""
        self.roughly: dict[int, Entry] = {}
        """The rough bounds that were asked for, by number of victims."""
        self.prices: dict[tuple[object, ...], Price] = {}
        """Prices by what is missing: requests that differ in what there is enough of ask the same."""
        self._classes: dict[int, HighestClass] = {}
        self.candidates = candidates
        self.since = since
        self.place = place
        self.there = total((place.free, place.coming)) if place.coming else place.free
        """What is free or coming when nobody goes: most often that is enough of some resource, which needs no row."""

    def __missing__(self, name: str) -> Sequence[int]:
        gives = [c[5].get(name, 0) for c in self.candidates]
        known = self[name] = list(accumulate(gives, initial=self.there.get(name, 0)))
        return known

    def suffices(self, number: int, wants: Wants) -> bool:
        """Whether there is enough when the first so many go."""
        for name, amount in wants:  # noqa: SIM110 - asked for many nodes; a loop is twice as fast
            if self.there.get(name, 0) < amount and self[name][number] < amount:
                return False
        return True

    def rough(self, number: int) -> Entry:
        """At most what it costs that the first so many go, now or when more of them have to: the price of the dearest
        (whoever comes behind it in its class costs no less)."""
        cost: Cost = ()
        if number:
            own_class, least, _, _, _, _ = self.candidates[number - 1]
            cost = ((own_class, least, 1),)
        # Where nobody else of its class goes, `bound` knows no better.
        more = number > 1 and self.candidates[number - 2][0] == self.candidates[number - 1][0]
        how_close = ROUGH if more else ONLY_A_BOUND
        found = self.roughly[number] = cost, len(cost), 0, self.place.order, self.since, how_close
        return found

    def bound(self, number: int, wants: Wants) -> Entry:
        """The same, closer: with whoever must go besides the dearest in its class, because all who are below are not
        enough of what a shape wants."""
        cost, _, waste, order, since, _ = self.roughly.get(number) or self.rough(number)
        if number > 1 and self.candidates[number - 2][0] == cost[0][0]:
            own_class, cost_in, _ = cost[0]
            more = self._highest(own_class).fewest(self, wants) - 1
            if more > 0:
                cost = ((own_class, cost_in + self._highest(own_class).least_cost(more), 1 + more),)
        return cost, cost[0][2] if cost else 0, waste, order, since, ONLY_A_BOUND

    def _highest(self, own_class: int) -> "HighestClass":
        known = self._classes.get(own_class)
        if known is None:
            first = bisect_left(self.candidates, (own_class,))
            mine = self.candidates[first : bisect_left(self.candidates, (own_class + 1,), first)]
            known = self._classes[own_class] = HighestClass(first, self.as_wholes(mine))
        return known

    def as_wholes(self, mine: list[Candidate]) -> list[Candidate]:
        """The candidates of one class, if each of them goes as a whole or not at all; else none."""
        return mine

    @classmethod
    def still_on(cls, node: str, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those of some candidates who still are on a node and may go."""
        return [candidate for candidate in candidates if candidate[4].may_go]


class HighestClass:
    """The candidates of one class on one node, as the highest of whom some must go."""

    __slots__ = ("_costs", "_first", "_gives", "_mine")

    def __init__(self, first: int, mine: list[Candidate]) -> None:
        """`first`: where they begin among all candidates; `mine`: none where somebody may lose a part."""
        self._first, self._mine = first, mine
        self._costs = [*accumulate([candidate[1] for candidate in mine], initial=0)]
        self._gives: dict[str, list[int]] = {}

    def fewest(self, ladder: Ladder, wants: Wants) -> int:
        """How many of them must go at least; 0 where that is not known, as somebody of them may lose a part."""
        result = 0
        for name, amount in wants if self._mine else ():
            if ladder.there.get(name, 0) < amount:
                short = amount - ladder[name][self._first]
                if short > 0:
                    result = max(result, bisect_left(self._most(name), short))
        return result

    def least_cost(self, number: int) -> int:
        """What it costs at least that so many of them go."""
        return self._costs[number]

    def _most(self, name: str) -> list[int]:
        """What so many of them give at most."""
        known = self._gives.get(name)
        if known is None:
            gives = sorted([c[5].get(name, 0) for c in self._mine], reverse=True)
            known = self._gives[name] = [*accumulate(gives, initial=0)]
        return known


class VictimPrefixSums:
    """The ladders of all nodes, for one way to count cost, brought up to date by the index of nodes.

    Nobody on the axis that is looked at last is out of scope: the caller cuts them off. So one ladder serves all
    pending jobs, or with a second tier all those of equal weight on the first axis.
    """

    def __init__(
        self,
        index: NodeIndex,
        candidates: Candidates,
        cost_in: str,
        first: "VictimPrefixSums | None",
        tiers: Tiers,
        kind: type[Ladder] = Ladder,
    ) -> None:
        """`first`: the ladders of the first axis alone, from which those with `tiers` are made."""
        self._kind = kind
        self.index = index
        self._candidates = candidates
        self._cost_in = cost_in
        self._first = first
        self.tiers = tiers
        self._known: list[Ladder | None] = [None] * len(index.places)

    def on(self, place: NodeState) -> Ladder:
        """The ladder of a node."""
        self.index.look()
        return self.of((place.order,), now=True)[0]

    def of(self, node_indices: Iterable[int], *, now: bool) -> list[Ladder]:
        """The ladders of some nodes, by their indices, as they are now; or as they were at some time since when nothing
        there can have become cheaper, and fewer have to be made."""
        known, valid = self._known, self.index.changes.last if now else self.index.cheaper
        result = []
        for order in node_indices:
            ladder = known[order]
            if ladder is None or ladder.since < valid[order]:
                place = self.index.places[order]
                ladder = known[order] = self._made(place)
            result.append(ladder)
        return result

    def _made(self, place: NodeState) -> Ladder:
        since, candidates = self.index.changes.last[place.order], self._candidates_on(place)
        return self._kind(place, candidates, since)

    def _candidates_on(self, place: NodeState) -> list[Candidate]:
        if self._first is None or self.tiers is None:
            name, known = place.node.name, self._candidates.on(place, self._cost_in)
            if not self.index.changes.last[place.order]:
                return known
            return self._kind.still_on(name, known)
        known = self._first.on(place).candidates
        first, floor = self.tiers
        equals = [in_second_tier(c) for c in known if c[0] == first]
        return [c for c in known if c[0] < floor] + sorted(equals)


class VictimChoice(NamedTuple):
    """How victims are chosen from a ladder, and what that costs."""

    choose: Callable[[NodeState, list[Candidate], dict[str, int]], Price]
    """From the fewest that suffice, and what is missing with all of them gone (`pricing.chosen`)."""
    empty: Callable[[NodeState, Shape, list[Candidate]], Price | None]
    """For a node that must be empty, from all of them."""


class Stopping:
    """What a node costs a shape when those who are lower go: those of the first tier, or (by its ladders) of both."""

    def __init__(
        self, ladders: VictimPrefixSums, shape: Shape, how: VictimChoice, first: Quotes | None = None
    ) -> None:
        """`first`: for both tiers, what nodes cost by the first axis alone."""
        self._first = first
        self._ladders = ladders
        self.shape = shape
        self._how = how

    def price(self, place: NodeState) -> Price | None:
        """The price of a node; None when all of them are not enough."""
        ladder = self._ladders.on(place)
        if self.shape.exclusive:
            return self._how.empty(place, self.shape, ladder.candidates)
        number, short = 0, dict[str, int]()
        for name, amount in self.shape.wants:
            if ladder.there.get(name, 0) < amount:
                short[name] = amount
                number = max(number, bisect_left(ladder[name], amount))
        if number > len(ladder.candidates):
            return None
        for name in short:
            short[name] -= ladder[name][number]
        if not number:
            return FREE
        key = number, self._ladders.index.weights.last[place.order], *short.items()
        known = ladder.prices.get(key)
        if known is None:
            known = ladder.prices[key] = self._how.choose(place, ladder.candidates[:number], short)
        return known

    def bounds(self, node_indices: Collection[int], *, now: bool) -> list[Entry]:
        """Of some nodes, by their indices, at most the price; nodes that cannot be had are left out.

        Unless it is to be the price `now`, some of that is as of an earlier change: it may cost more meanwhile.
        """
        if self._first and self._ladders.tiers:
            known, node_indices = self._by_the_first(
                self._first.entries(node_indices, now=now), *self._ladders.tiers
            )
            return known + self._bounds(self._ladders.of(node_indices, now=now), now)
        return self._bounds(self._ladders.of(node_indices, now=now), now)

    def _by_the_first(
        self, entries: Iterable[Entry], first: int, floor: int
    ) -> tuple[list[Entry], list[int]]:
        """What nodes cost where the first tier is enough, which is the same with both; and the other nodes where both
        might be enough, as nobody has to go who is above. That needs no ladder of both."""
        known, others = list[Entry](), list[int]()
        for entry in entries:
            cost = entry[0]
            if not cost or cost[0][0] < floor:
                known.append(entry)
            elif cost[0][0] <= first:
                others.append(entry[3])
        return known, others

    def _bounds(self, ladders: Iterable[Ladder], now: bool) -> list[Entry]:
        if self.shape.exclusive:
            return self._bounds_of_all(ladders)
        wants = self.shape.wants
        result: list[Entry] = []
        for ladder in ladders:
            number, there = 0, ladder.there
            for name, amount in wants:
                if there.get(name, 0) < amount:
                    row = ladder[name]
                    if row[number] < amount:
                        number = bisect_left(row, amount, number)
                        if number == len(row):
                            break
            else:
                rough = ladder.roughly.get(number) or ladder.rough(number)
                result.append(ladder.bound(number, wants) if now else rough)
        return result

    def _bounds_of_all(self, ladders: Iterable[Ladder]) -> list[Entry]:
        """The same for nodes that must be empty: everybody goes, or they cannot be had."""
        return [
            each.bound(len(each.candidates), ())
            for each in ladders
            if each.place.holders == len(each.candidates)
        ]
