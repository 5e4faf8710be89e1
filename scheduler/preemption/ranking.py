"""Who ranks below whom: the four modes with their two tiers, and bands (spec 1.4 and 2.3).

Levels are compared as weights (`priority.levels.weight`): the larger, the higher; nothing configured is
the least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.model.jobs import Level, SnapshotJob
from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules
from scheduler.priority.levels import weight
from scheduler.priority.order import ranks

_TWO_AXES = frozenset({Mode.USER_THEN_TASK, Mode.TASK_THEN_USER})

SECOND_TIER = 1 << 63
"""Added to the class of a second-tier victim: every one of them is dearer than every first-tier victim."""


class PreemptionScope(NamedTuple):
    """What a pending job may stop. A tuple, because so much that is kept is found by it.

    First tier: jobs whose weight on the first axis is below `first_floor`. Second tier, in modes that
    have one (`second_floor` is set): jobs whose first weight equals `first` and whose second weight is
    below `second_floor`.
    """

    first: int
    first_floor: int
    second: int = 0
    second_floor: int | None = None

    @property
    def highest(self) -> int:
        """Who has a higher weight on the first axis is out of scope."""
        return self.first_floor - 1 if self.second_floor is None else self.first

    def class_of(self, first: int, second: int) -> int | None:
        """The class of a running job with these weights (the larger, the more valuable), None when out of
        scope."""
        if first < self.first_floor:
            return first
        if self.second_floor is not None and first == self.first and second < self.second_floor:
            return SECOND_TIER + second
        return None

    def within(self, other: "PreemptionScope") -> bool:
        """Whether nobody is in it who is not in the other, or there in a higher class."""
        if self.first_floor > other.first_floor:
            return False
        if self.second_floor is None or self.first < other.first_floor:
            return True
        above = other.second_floor
        return self.first == other.first and above is not None and self.second_floor <= above


@dataclass(frozen=True, slots=True)
class Ranking:
    """A partition's mode and bands as a way to compare jobs."""

    mode: Mode
    bands: tuple[tuple[Level, ...], ...] | None = None

    @classmethod
    def of(cls, rules: PartitionRules) -> "Ranking":
        """The ranking that a partition's rules ask for."""
        return cls(rules.mode, rules.bands)

    @property
    def two_axes(self) -> bool:
        """Whether the mode has a second tier."""
        return self.mode in _TWO_AXES

    def weights(self, job: SnapshotJob) -> tuple[int, int]:
        """A job's weights on the first and second axis."""
        return ranks(self.mode, job)

    def scope(self, first: int, second: int) -> PreemptionScope:
        """What a job with these weights may stop: only what is in a lower band, on the axis that is
        compared."""
        second_floor = self._floor(second) if self.two_axes else None
        return PreemptionScope(first, self._floor(first), second, second_floor)

    def is_above(self, scope: PreemptionScope, first: int, second: int) -> bool:
        """Whether a job with these weights ranks above the one that a scope is of."""
        return first > scope.first or (self.two_axes and first == scope.first and second > scope.second)

    def _floor(self, own: int) -> int:
        """The lowest weight in the band of a weight; without bands every level is a band of its own."""
        for band in self.bands or ():
            lowest, highest = _edges(band)
            if lowest <= own <= highest:
                return lowest
        return own


def _edges(band: Sequence[Level]) -> tuple[int, int]:
    weights = [weight(level) for level in band]
    return min(weights), max(weights)
