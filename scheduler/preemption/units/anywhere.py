"""Requests that name no number of nodes, where running jobs may lose pieces and go on."""

from collections.abc import Iterable, Mapping

from scheduler.model.policy import GiveBack
from scheduler.model.resources import Amounts
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import Price
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape
from scheduler.preemption.spread import MissingAnywhere, Pool
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.units.pool import UnitPool
from scheduler.preemption.units.trials import PieceTrial, covers, share

_NONE: Amounts = {}


class PiecesAnywhere(MissingAnywhere, PieceTrial):
    """What is missing on all nodes of a pool together."""

    def __init__(self, pool: Pool, shape: Shape) -> None:
        super().__init__(pool, shape)
        self._scale = {name: max(1, amount) for name, amount in self.short.items()}

    def may_be_enough(self, gives: Amounts) -> bool:
        """Whether it covers what is missing; a node that must be empty may give more than a job holds there, and one on
        which parts become whole."""
        return self.exclusive or bool(self.pool.part) or covers(gives, self.short)

    def missing(self) -> int:
        """Millionths of what was missing at first, over all resources."""
        return share(self.short, self._scale)

    def pieces(self, runner: RunningJob, place: NodeState, count: int) -> None:
        """A runner loses so many pieces on a node, or gets them back."""
        if runner.pieces and count:
            each = runner.pieces.each[place.node.name]
            whole = abs(count) == runner.pieces.counts[place.node.name]
            leaving = (1 if count > 0 else -1) if whole else 0
            self.change(place, {name: amount * count for name, amount in each.items()}, leaving)

    def missing_after(self, lost: Iterable[tuple[RunningJob, NodeState, int]]) -> list[int]:
        """The same, worked out once for all that give as much: most of many workers do."""
        if self.exclusive or self.pool.part:
            return super().missing_after(lost)
        known: dict[tuple[int, ...], int] = {}
        rests = []
        for runner, place, count in lost:
            gains = self._gains(runner, place, count)
            rest = known.get(gains)
            if rest is None:
                pairs = zip(self.short.items(), gains, strict=True)
                rest = known[gains] = share({name: n - gain for (name, n), gain in pairs}, self._scale)
            rests.append(rest)
        return rests

    def _gains(self, runner: RunningJob, place: NodeState, count: int) -> tuple[int, ...]:
        """What a node gives more without some pieces of a runner; what was overcommitted there gives nothing."""
        if place.order not in self.pool.places or runner.pieces is None:
            return (0,) * len(self.short)
        each, extra = runner.pieces.each[place.node.name], self.extra.get(place.order, _NONE)
        free, coming, gains = place.free, place.coming, []
        for name in self.short:
            there = free.get(name, 0) + coming.get(name, 0) + extra.get(name, 0)
            gives = each.get(name, 0) * count
            gains.append(gives if there >= 0 else max(0, there + gives))
        return tuple(gains)

    def price(self, walked: Mapping[RunningJob, int], shape: Shape, scope: PreemptionScope) -> Price:
        """As `Trial.price`, with what is left over given back in pieces."""
        whole = self.pool.cluster_state.snapshot.partition.give_back is GiveBack.WHOLE
        stopped, losses = give_back(self, list(walked), whole=whole)
        return price_of(stopped, losses, walked, shape.cost_in)


def trial_in_pieces(pool: Pool, shape: Shape) -> PieceTrial:
    """What a request is short of, in amounts or in units."""
    return pool.trial(shape) if isinstance(pool, UnitPool) else PiecesAnywhere(pool, shape)
