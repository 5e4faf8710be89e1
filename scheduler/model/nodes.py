"""A node as the planner and the console see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model.resources import Amounts


@dataclass(frozen=True, slots=True)
class SnapshotNode:
    """One machine.

    `up` is true only when new jobs may start here (not down, drained, draining, failing or in maintenance).
    `held_elsewhere` is what running jobs of other partitions hold of `total`, and jobs whose share the cluster does not
    tell: neither free nor to be had; `coming_elsewhere` what ending jobs of other partitions hold besides: coming free.
    `state` is Slurm's own word, for people; `partitions` are the names of the partitions it belongs to.
    """

    name: str
    up: bool
    total: Amounts
    features: frozenset[str] = frozenset()
    held_elsewhere: Amounts = field(default_factory=dict)
    coming_elsewhere: Amounts = field(default_factory=dict)
    unit: str | None = None
    power: Mapping[str, float] = field(default_factory=dict)
    health: float = 1.0
    state: str = ""
    state_reason: str = ""
    partitions: tuple[str, ...] = ()
