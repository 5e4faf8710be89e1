"""A node as the planner and the console see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model.resources import Amounts

Power = float | tuple[float, ...]
"""The compute power of a node's processors of one kind: a figure for all, or one for each, in any unit."""


def figures(power: Power) -> tuple[float, ...]:
    """The different processors' figures; one where it stands for all."""
    return power if isinstance(power, tuple) else (power,)


@dataclass(frozen=True, slots=True)
class SnapshotNode:
    """One machine.

    `up` is true only when new jobs may start here (not down, drained, draining, failing or in maintenance).
    `held_elsewhere` is what running jobs of other partitions hold of `total`, and jobs whose share the cluster does not
    tell: neither free nor to be had; `coming_elsewhere` what ending jobs of other partitions hold besides: coming free.
    `power`: how fast its processors are, by resource (spec 5): a figure for all of them, or one for each.
    `inner`: what of it is only planned with (`resources.INNER`); `total` has it in a snapshot.
    `state` is Slurm's own word, for people; `partitions` are the names of the partitions it belongs to.
    """

    name: str
    up: bool
    total: Amounts
    features: frozenset[str] = frozenset()
    held_elsewhere: Amounts = field(default_factory=dict)
    coming_elsewhere: Amounts = field(default_factory=dict)
    unit: str | None = None
    power: Mapping[str, Power] = field(default_factory=dict)
    health: float = 1.0
    state: str = ""
    state_reason: str = ""
    partitions: tuple[str, ...] = ()
    inner: Amounts = field(default_factory=dict)
