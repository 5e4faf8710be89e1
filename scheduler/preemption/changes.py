"""Which nodes have changed, and when: whoever keeps something about a node sees by that whether it still holds."""

from scheduler.preemption.universe import Universe


class Changes:
    """The universe's log read node by node, for all who keep something, brought up to date when one of them asks."""

    def __init__(self, universe: Universe) -> None:
        self.last = [0] * len(universe.places)
        """By the order of a node: how long the log was after its last change."""
        self.dearer = [0] * len(universe.places)
        """The same for `Universe.dearer`."""
        self.universe = universe
        self._seen = 0
        self._seen_dearer = 0

    def catch_up(self) -> None:
        """Read on."""
        log, dearer = self.universe.log, self.universe.dearer
        if self._seen < len(log):
            for number, order in enumerate(log[self._seen :], self._seen + 1):
                self.last[order] = number
            self._seen = len(log)
        if self._seen_dearer < len(dearer):
            for number, order in enumerate(dearer[self._seen_dearer :], self._seen_dearer + 1):
                self.dearer[order] = number
            self._seen_dearer = len(dearer)
