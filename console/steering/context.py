"""What one cycle works with, from its first look on."""

from dataclasses import dataclass, field

from console.steering.failures import Failures
from console.steering.lease import Lease
from console.steering.lines import Lines
from console.steering.models import Plan
from scheduler.model.observation import Observation
from scheduler.ports import ClusterPort


@dataclass(frozen=True, slots=True)
class CycleContext:
    """`plans`: those that are being carried out in this cycle. Only `console.steering.ledger` tells the adapter to do
    anything."""

    adapter: ClusterPort
    observation: Observation
    lease: Lease
    failures: Failures
    lines: Lines = field(default_factory=Lines)
    plans: list[Plan] = field(default_factory=list)
