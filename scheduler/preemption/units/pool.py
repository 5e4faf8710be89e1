"""Room for requests in units: each unit whole on some node, as many as there are on all nodes together (spec 2)."""

from scheduler.model.policy import GiveBack, Partial
from scheduler.model.resources import Amounts, add
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.pieces import units_in
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import Reach
from scheduler.preemption.shapes import Shape
from scheduler.preemption.spread import Pool
from scheduler.preemption.trials import Trial
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.universe import Place, Runner, Universe, with_type


class UnitPool(Pool):
    """How many of one unit fit on some nodes, kept up to date by the universe's log."""

    def __init__(self, universe: Universe, candidates: Candidates, shape: Shape) -> None:
        self.unit = dict(shape.wants)
        self._rules = universe.snapshot.partition
        self._counts: dict[int, tuple[int, int]] = {}
        self._totals = [0, 0]
        super().__init__(universe, candidates, shape)

    def units(self, *, coming: bool) -> int:
        """How many fit into what is free, and coming."""
        self._catch_up()
        return self._totals[coming]

    def fits(self, shape: Shape, *, coming: bool) -> bool:
        """Whether all units of a request fit without stopping anybody."""
        return self.units(coming=coming) >= shape.units

    def count_on(self, place: Place, extra: dict[str, int]) -> int:
        """How many fit on one node with what is free, coming, and more."""
        return units_in(self.room(place, extra, 0), self.unit)

    def placement(self, shape: Shape, *, coming: bool) -> dict[str, dict[str, int]]:
        """So many units as the shape asks for, or as there are, on the nodes in their order."""
        self._catch_up()
        left, result = shape.units, {}
        for order in sorted(self.places):
            count = min(left, self._counts[order][coming])
            if count:
                place = self.places[order]
                result[place.node.name] = with_type(place, {name: n * count for name, n in self.unit.items()})
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

    def _look_at(self, order: int) -> None:
        super()._look_at(order)
        old = self._counts.get(order, (0, 0))
        new = units_in(self._each[order][0], self.unit), units_in(self._each[order][1], self.unit)
        self._totals = [total - a + b for total, a, b in zip(self._totals, old, new, strict=True)]
        self._counts[order] = new


class Units(Trial):
    """Runners gone on trial, and how many units fit then."""

    def __init__(self, pool: UnitPool, wanted: int) -> None:
        self.wanted = wanted
        self.total = pool.units(coming=True)
        self._pool = pool
        self._extra: dict[int, dict[str, int]] = {}

    def enough(self) -> bool:
        """Whether all units fit."""
        return self.total >= self.wanted

    def may_be_enough(self, gives: Amounts) -> bool:
        """Whether so many units are in it, with what is left over on a node making one more."""
        unit = self._pool.unit
        return max(gives.get(name, 0) // amount for name, amount in unit.items()) + 1 >= self.missing()

    def missing(self) -> int:
        """How many units do not fit."""
        return max(0, self.wanted - self.total)

    def spare(self) -> int:
        """How many more than wanted fit."""
        return self.total - self.wanted

    def change(self, place: Place, gives: Amounts, leaving: int) -> None:
        """More or less on a node, if it counts."""
        if place.order in self._pool.places:
            extra = self._extra.setdefault(place.order, {})
            before = self._pool.count_on(place, extra)
            add(extra, gives)
            self.total += self._pool.count_on(place, extra) - before
