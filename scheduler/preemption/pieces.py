"""What a running job may lose and go on, as a fact about it: methods find it out and use it (`methods.Method.divide`),
the core only keeps it with the job."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.model.plan import How
from scheduler.model.resources import Amounts


@dataclass(slots=True, eq=False)
class JobPieces:
    """The pieces of one running job: all its units, or all its nodes.

    `kind`: UNITS or NODES. `each`: per node, what one piece holds there; `counts`: per node, how many it holds;
    `held`: in all. `least`: it keeps at least so many or is stopped. `elastic`: it may lose pieces before anybody
    is stopped.
    """

    kind: How
    each: Mapping[str, Amounts]
    counts: dict[str, int]
    held: int
    least: int
    elastic: bool

    @property
    def surplus(self) -> int:
        """How many pieces it may lose without being stopped."""
        return self.held - self.least


def units_in(amounts: Amounts, unit: Amounts) -> int:
    """How many whole units some amounts hold; of what is below zero none."""
    return max(0, min([amounts.get(name, 0) // amount for name, amount in unit.items() if amount]))
