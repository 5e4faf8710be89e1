"""The running jobs of a partition summed up by their weights, for questions about all that a pending job outranks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scheduler.model.resources import Amounts, add, subtract, total


@dataclass(slots=True)
class VictimTally:
    """The running jobs of one pair of weights: how many may be stopped and what they hold; how many are
    spared, and how many of those by a limit."""

    stoppable: int = 0
    spared: int = 0
    limited: int = 0
    held: dict[str, int] = field(default_factory=dict)

    def change(self, held: Iterable[Amounts], by: int) -> None:
        """Count a stoppable runner in (1) or out (-1), with what it holds on each of its nodes."""
        self.stoppable += by
        for amounts in held:
            (add if by > 0 else subtract)(self.held, amounts)


class Below:
    """All running jobs that a pending job outranks, as they were when that was asked."""

    def __init__(self, tallies: Sequence[VictimTally]) -> None:
        self.stoppable = sum([tally.stoppable for tally in tallies])
        self.spared = sum([tally.spared for tally in tallies])
        self.limited = sum([tally.limited for tally in tallies])
        self._tallies = tallies

    def held(self) -> dict[str, int]:
        """What those who may be stopped hold now, together; added up when asked for, which is seldom."""
        return total(tally.held for tally in self._tallies)
