"""Room for requests in units: each unit whole on some node, as many as there are on all nodes together (spec 2)."""

from collections.abc import Callable, Iterable, Mapping

from scheduler.model.policy import GiveBack, Partial
from scheduler.model.resources import Amounts
from scheduler.preemption.candidates import Candidates
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pieces import units_in
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.rooms import Room, Rooms, Sums
from scheduler.preemption.shapes import Shape, Wants, with_type
from scheduler.preemption.spread import Pool
from scheduler.preemption.trials import Trial
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.units.trials import PieceTrial


class UnitPool(Pool):
    """How many of one unit fit on some nodes."""

    def __init__(
        self,
        cluster_state: ClusterState,
        candidates: Candidates,
        shape: Shape,
        rooms: Rooms,
        trial: Callable[[Pool, Shape], Trial] | None = None,
    ) -> None:
        super().__init__(cluster_state, candidates, shape, rooms, trial)
        self.unit = shape.wants
        self._rules = cluster_state.snapshot.partition
        self.fit = _Fit(shape.wants)
        now, soon = rooms.sums(coming=False), rooms.sums(coming=True)
        self._now = _Counts(now, self.fit)
        self._soon = self._now if soon is now else _Counts(soon, self.fit)

    def units(self, *, coming: bool) -> int:
        """How many fit into what is free, and coming."""
        return self._counts(coming=coming).units

    def least(self, shape: Shape) -> Iterable[tuple[str, int]]:
        """One unit, where others may lose something for a part of what is asked for."""
        in_part = shape.partial and self._rules.partial is Partial.TAKE
        return shape.wants if in_part else shape.asked

    def fits(self, shape: Shape, *, coming: bool) -> bool:
        """Whether all units of a request fit without stopping anybody."""
        return self.units(coming=coming) >= shape.units

    def soon_on(self, place: NodeState) -> Room:
        """What is free and coming on a node that counts, at the last look."""
        return self._soon.sums.rooms[place.order]

    def placement(self, shape: Shape, *, coming: bool) -> dict[str, dict[str, int]]:
        """So many units as the shape asks for, or as there are, on the nodes in their order."""
        left, result = shape.units, {}
        for order, there in sorted(self._counts(coming=coming).on.items()):
            if not left:
                break
            place, count = self.places[order], min(left, there)
            result[place.node.name] = with_type(place, {name: n * count for name, n in self.unit})
            left -= count
        return result

    def trial(self, shape: Shape) -> "Units":
        """What a request is short of, with what is free or coming."""
        return Units(self, shape.units)

    def price(self, shape: Shape, scope: PreemptionScope) -> Price | None:
        """Who loses what, the most valuable first, and how many units that gives; None when nobody would help.

        The lower jobs are walked, lowest first, until it is enough (where arrays are spared as wholes, to the end of
        the array); then `giving_back`. When it never is, a request that may be met in part gets what there is, where
        the partition says so (`partial: take`).
        """
        trial = self.trial(shape)
        at_first, walked = trial.total, dict[RunningJob, int]()
        whole = self._rules.give_back is GiveBack.WHOLE
        last = None
        for candidate in self._candidates.in_scope(scope, shape.cost_in):
            runner = candidate[4]
            if last is not None and (not whole or not runner.job.group or runner.job.group != last):
                break
            if runner.may_go and self._may_help(runner, self.unit):
                trial.stop(runner)
                walked[runner] = candidate[0]
                if trial.enough():
                    last = runner.job.group
        if not trial.enough():
            if not shape.partial or self._rules.partial is Partial.SPARE or trial.total == at_first:
                return None
            trial.wanted = trial.total
        stopped, losses = give_back(trial, list(walked), whole=whole)
        return price_of(stopped, losses, walked, shape.cost_in)._replace(units=trial.wanted)

    def _could_give(self, place: NodeState, wanted: Wants) -> bool:
        """Whether a unit would fit on a node, once everybody has gone who may go."""
        free, coming, stoppable = place.free, place.coming, place.stoppable
        for name, amount in wanted:  # `obtainable`, asked of every runner: without calling it, twice as fast
            if free.get(name, 0) + coming.get(name, 0) + stoppable.get(name, 0) < amount:
                return False
        return True

    def _counts(self, *, coming: bool) -> "_Counts":
        self._rooms.sums(coming=coming)
        counts = self._soon if coming else self._now
        counts.catch_up()
        return counts


def units_held(placement: Mapping[str, Amounts], shape: Shape) -> int:
    """How many units of a request in units a placement holds."""
    return sum(units_in(taken, dict(shape.wants)) for taken in placement.values())


class _Fit(dict[Room, int]):
    """How many units a node can take that has so much; many nodes have the same."""

    def __init__(self, unit: Wants) -> None:
        self._unit = unit

    def __missing__(self, room: Room) -> int:
        fit = max(0, min([n // amount for n, (_, amount) in zip(room, self._unit, strict=True)]))
        self[room] = fit
        return fit


class _Counts:
    """How many units fit, in all and `on` each node that holds any."""

    def __init__(self, sums: Sums, fit: _Fit) -> None:
        self.sums = sums
        self.units = 0
        self.on: dict[int, int] = {}
        self._fit = fit
        self._watch = sums.changes.watch()
        # Where there is nothing of one resource, no unit fits.
        scarce = sorted(sums.where, key=lambda name: len(sums.where[name]))
        self._count(sums.where[scarce[0]] if scarce else ())

    def catch_up(self) -> None:
        """Count again where there is other room than before."""
        self._count(self._watch.changed())

    def _count(self, node_indices: Iterable[int]) -> None:
        rooms = self.sums.rooms
        for order in node_indices:
            count = self._fit[rooms[order]]
            self.units += count - self.on.pop(order, 0)
            if count:
                self.on[order] = count


class Units(PieceTrial):
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

    def missing_after(self, lost: Iterable[tuple[RunningJob, NodeState, int]]) -> list[int]:
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

    def pieces(self, runner: RunningJob, place: NodeState, count: int) -> None:
        """The same, directly: who is still on a node does not matter."""
        if runner.pieces:
            self._add(place, runner.pieces.each[place.node.name], count)

    def change(self, place: NodeState, gives: Amounts, leaving: int) -> None:
        """More or less on a node, if it counts."""
        self._add(place, gives, 1)

    def _add(self, place: NodeState, gives: Amounts, times: int) -> None:
        gain, room = self._gain(place, gives, times)
        self.total += gain
        self._rooms[place.order] = room

    def _gain(self, place: NodeState, gives: Amounts, times: int) -> tuple[int, Room]:
        """How many more units fit on a node that gives so much, so many times; and what it has then."""
        pool = self._pool
        if place.order not in pool.places or (pool.exclusive and place.holders):
            return 0, ()
        before = self._rooms.get(place.order) or pool.soon_on(place)
        after = tuple(
            [n + gives.get(name, 0) * times for n, (name, _) in zip(before, pool.unit, strict=True)]
        )
        return pool.fit[after] - pool.fit[before], after
