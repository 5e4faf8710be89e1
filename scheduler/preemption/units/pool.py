"""Room for requests in units: each unit whole on some node, as many as there are on all nodes together (spec 2)."""

from collections.abc import Iterable, Sequence

from scheduler.model.policy import GiveBack, Partial
from scheduler.model.resources import Amounts
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.spread import Pool
from scheduler.preemption.trials import Trial
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.universe import Place, Runner, Universe, with_type

Room = tuple[int, ...]
"""What a node has of each resource of the unit, in the unit's order; below zero where it is overcommitted."""


class UnitPool(Pool):
    """How many of one unit fit on some nodes, kept up to date by the universe's log."""

    def __init__(self, universe: Universe, candidates: Candidates, shape: Shape) -> None:
        self.unit = shape.wants
        self._rules = universe.snapshot.partition
        names = [name for name, _ in shape.wants]
        self._free, self._all = _Sums(names), _Sums(names)
        self._fits: dict[Room, int] = {}
        super().__init__(universe, candidates, shape)

    def units(self, *, coming: bool) -> int:
        """How many fit into what is free, and coming."""
        return self._sums(coming=coming).units

    def fits(self, shape: Shape, *, coming: bool) -> bool:
        """Whether all units of a request fit without stopping anybody."""
        return self.units(coming=coming) >= shape.units

    def now(self) -> dict[str, int]:
        """What is free, on all nodes together."""
        return self._sums(coming=False).amounts

    def soon(self) -> dict[str, int]:
        """What is free or coming, on all nodes together."""
        return self._sums(coming=True).amounts

    def each(self, *, coming: bool) -> Iterable[tuple[int, dict[str, int]]]:
        """What is free (and coming) on each node that has any of it, by the node's order."""
        rooms = sorted(self._sums(coming=coming).rooms.items())
        parts = [(order, zip(self._names, room, strict=True)) for order, room in rooms if max(room) > 0]
        return [(order, {name: n for name, n in part if n > 0}) for order, part in parts]

    def soon_on(self, place: Place) -> Room:
        """What is free and coming on a node that counts, at the last look."""
        return self._all.rooms[place.order]

    def fit(self, room: Room) -> int:
        """How many units a node can take that has so much; many nodes have the same."""
        known = self._fits.get(room)
        if known is None:
            known = max(0, min([n // amount for n, (_, amount) in zip(room, self.unit, strict=True)]))
            self._fits[room] = known
        return known

    def placement(self, shape: Shape, *, coming: bool) -> dict[str, dict[str, int]]:
        """So many units as the shape asks for, or as there are, on the nodes in their order."""
        left, result = shape.units, {}
        for order, there in sorted(self._sums(coming=coming).counts.items()):
            if not left:
                break
            place, count = self.places[order], min(left, there)
            result[place.node.name] = with_type(place, {name: n * count for name, n in self.unit})
            left -= count
        return result

    def trial(self, shape: Shape) -> "Units":
        """What a request is short of, with what is free or coming."""
        return Units(self, shape.units)

    def price(self, shape: Shape, reach: Reach) -> Price | None:
        """Who loses what, the most valuable first, and how many units that gives; None when nobody would help.

        The lower jobs are walked, lowest first, until it is enough; then `giving_back`. When it never is, a request
        that may be met in part gets what there is, where the partition says so (`partial: take`).
        """
        trial = self.trial(shape)
        at_first, walked = trial.total, dict[Runner, int]()
        for candidate in self._candidates.in_reach(reach, shape.harm):
            runner = candidate[4]
            if runner.may_go and self._useful(runner):
                trial.stop(runner)
                walked[runner] = candidate[0]
                if trial.enough():
                    break
        if not trial.enough():
            if not shape.partial or self._rules.partial is Partial.SPARE or trial.total == at_first:
                return None
            trial.wanted = trial.total
        whole = self._rules.give_back is GiveBack.WHOLE
        stopped, losses = give_back(trial, list(walked), whole=whole)
        return price_of(stopped, losses, walked, shape.harm)._replace(units=trial.wanted)

    def _sums(self, *, coming: bool) -> "_Sums":
        self._catch_up()
        return self._all if coming else self._free

    def _look_at(self, order: int) -> None:
        """Bring one node's part of the sums up to date."""
        place, names = self.places[order], self._names
        free, coming = place.free, place.coming
        now = soon = tuple([free.get(name, 0) for name in names])
        if coming:
            soon = tuple([n + coming.get(name, 0) for n, name in zip(now, names, strict=True)])
        if self.exclusive and (place.holders or place.ending):
            nothing = (0,) * len(names)
            now, soon = nothing, nothing if place.holders else soon
        for sums, room in ((self._free, now), (self._all, soon)):
            if sums.rooms.get(order) != room:
                sums.change(order, room, self.fit(room))


class _Sums:
    """What is on all nodes together, and how many units that makes. `counts`: of the nodes that hold any."""

    def __init__(self, names: Sequence[str]) -> None:
        self.amounts: dict[str, int] = {}
        self.units = 0
        self.counts: dict[int, int] = {}
        self.rooms: dict[int, Room] = {}
        self._names = names
        self._nothing: Room = (0,) * len(names)

    def change(self, order: int, room: Room, count: int) -> None:
        """Note that a node has other room than before, and how many units that holds."""
        amounts, old = self.amounts, self.rooms.get(order, self._nothing)
        for name, before, after in zip(self._names, old, room, strict=True):
            gain = max(0, after) - max(0, before)
            if gain:
                amounts[name] = amounts.get(name, 0) + gain
        self.rooms[order] = room
        self.units += count - self.counts.pop(order, 0)
        if count:
            self.counts[order] = count


class Units(Trial):
    """Runners gone on trial, and how many units fit then."""

    def __init__(self, pool: UnitPool, wanted: int) -> None:
        self.wanted = wanted
        self.total = pool.units(coming=True)
        self._pool = pool
        self._rooms: dict[int, Room] = {}

    def enough(self) -> bool:
        """Whether all units fit."""
        return self.total >= self.wanted

    def may_be_enough(self, gives: Amounts) -> bool:
        """Whether so many units are in it, with what is left over on a node making one more."""
        least = self.missing() - 1
        for name, amount in self._pool.unit:  # noqa: SIM110 - asked for every worker; a loop is twice as fast
            if gives.get(name, 0) // amount >= least:
                return True
        return False

    def missing(self) -> int:
        """How many units do not fit."""
        return max(0, self.wanted - self.total)

    def missing_after(self, lost: Iterable[tuple[Runner, Place, int]]) -> list[int]:
        """The same after each of these losses alone; nothing has to be taken back for it."""
        missing = self.wanted - self.total
        rests = []
        for runner, place, count in lost:
            gives = runner.pieces.each[place.node.name] if runner.pieces else {}
            rests.append(max(0, missing - self._gain(place, gives, count)[0]))
        return rests

    def spare(self) -> int:
        """How many more than wanted fit."""
        return self.total - self.wanted

    def pieces(self, runner: Runner, place: Place, count: int) -> None:
        """The same, directly: who is still on a node does not matter."""
        if runner.pieces:
            self._add(place, runner.pieces.each[place.node.name], count)

    def change(self, place: Place, gives: Amounts, leaving: int) -> None:
        """More or less on a node, if it counts."""
        self._add(place, gives, 1)

    def _add(self, place: Place, gives: Amounts, times: int) -> None:
        gain, room = self._gain(place, gives, times)
        self.total += gain
        self._rooms[place.order] = room

    def _gain(self, place: Place, gives: Amounts, times: int) -> tuple[int, Room]:
        """How many more units fit on a node that gives so much, so many times; and what it has then."""
        pool = self._pool
        if place.order not in pool.places or (pool.exclusive and place.holders):
            return 0, ()
        before = self._rooms.get(place.order) or pool.soon_on(place)
        after = tuple(
            [n + gives.get(name, 0) * times for n, (name, _) in zip(before, pool.unit, strict=True)]
        )
        return pool.fit(after) - pool.fit(before), after
