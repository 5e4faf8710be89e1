"""What a running job may lose and go on: whole units (spec 2.1), or nodes of an elastic job (spec 4)."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import How
from scheduler.model.resources import Amounts
from scheduler.model.snapshot import PartitionRules

_UNITS, _NODES = How.UNITS, How.NODES


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


def pieces_of(job: SnapshotJob, rules: PartitionRules) -> JobPieces | None:
    """The pieces of a running job; None when it runs as a whole or not at all.

    A job in units needs `units` of the partition, or `elastic` and a least number of units; one that is elastic
    in nodes needs `elastic`.
    """
    elastic = job.elastic if rules.elastic else None
    if job.unit and job.alloc and (rules.units or (elastic and elastic.min_units is not None)):
        least = (job.elastic.min_units or 0) if job.elastic else 0
        counts, each = dict[str, int](), dict[str, Amounts]()
        last: Amounts = {}
        count, one = 0, last
        for node, held in job.alloc.items():
            if held != last:  # Most jobs hold the same on each of their nodes.
                count, last = units_in(held, job.unit), held
                one = _one_of(held, count)
            if not count:
                return None
            counts[node], each[node] = count, one
        is_elastic = elastic is not None and elastic.min_units is not None
        return JobPieces(_UNITS, each, counts, sum(counts.values()), least, is_elastic)
    if elastic and elastic.min_nodes is not None and len(job.alloc) > elastic.min_nodes:
        counts = dict.fromkeys(job.alloc, 1)
        return JobPieces(_NODES, job.alloc, counts, len(counts), elastic.min_nodes, elastic=True)
    return None


def _one_of(held: Amounts, count: int) -> Amounts:
    return {name: n // count for name, n in held.items()} if count > 1 else held


def units_in(amounts: Amounts, unit: Amounts) -> int:
    """How many whole units some amounts hold; of what is below zero none."""
    return max(0, min([amounts.get(name, 0) // amount for name, amount in unit.items() if amount]))
