"""Which nodes have changed, and when: whoever keeps something about a node sees by that whether it still holds."""

from scheduler.model.resources import Amounts, total
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState


class Changes:
    """The universe's log read node by node, for all who keep something, brought up to date when one of them asks."""

    def __init__(self, universe: ClusterState) -> None:
        self.last = [0] * len(universe.places)
        """By the order of a node: how long the log was after its last change."""
        self.cheaper = [0] * len(universe.places)
        """The same for its last change that may have made room there cheaper: there is more of something, somebody has
        left, or may be stopped again. Whatever else happens, what it cost to stop somebody there is a lower bound of
        what it costs now: there is no more room than before, and nobody to stop who was not there before."""
        self.dearer = [0] * len(universe.places)
        """The same as `last` for `Universe.dearer`."""
        self.universe = universe
        self._seen = 0
        self._seen_again = 0
        self._seen_dearer = 0
        self._rooms = [_room(place) for place in universe.places]
        self._holders = [place.holders for place in universe.places]

    def catch_up(self) -> None:
        """Read on."""
        log, dearer = self.universe.log, self.universe.dearer
        if self._seen < len(log):
            new = dict(zip(log[self._seen :], range(self._seen + 1, len(log) + 1), strict=True))
            for order, number in new.items():
                self.last[order] = number
                if self._may_be_cheaper(self.universe.places[order]):
                    self.cheaper[order] = number
            self._seen = len(log)
            again = self.universe.again
            for order in again[self._seen_again :]:
                self.cheaper[order] = self.last[order]
            self._seen_again = len(again)
        if self._seen_dearer < len(dearer):
            for number, order in enumerate(dearer[self._seen_dearer :], self._seen_dearer + 1):
                self.dearer[order] = number
            self._seen_dearer = len(dearer)

    def _may_be_cheaper(self, place: NodeState) -> bool:
        """Whether there is more than at the last look, or fewer hold it."""
        order, room, holders = place.order, _room(place), place.holders
        before, self._rooms[order] = self._rooms[order], room
        fewer, self._holders[order] = holders < self._holders[order], holders
        if fewer:
            return True
        for name, amount in room.items():  # noqa: SIM110 - asked for every change, and a loop is twice as fast
            if amount > before.get(name, 0):
                return True
        return False


def _room(place: NodeState) -> Amounts:
    """What is free or coming on a node now."""
    return total((place.free, place.coming)) if place.coming else place.free.copy()
