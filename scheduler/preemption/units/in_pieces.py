"""Running jobs that hold units may lose some and go on (spec 2.1): how they are noted, and how they give way.

Elastic jobs give way by the same: their nodes, or their units, are pieces too.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import How
from scheduler.model.policy import GiveBack
from scheduler.model.resources import Amounts
from scheduler.model.snapshot import PartitionRules
from scheduler.preemption.candidates import Candidate
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import GivingWay
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.pieces import JobPieces, units_in
from scheduler.preemption.quotes import Entry
from scheduler.preemption.shapes import SUBMITTED
from scheduler.preemption.units.anywhere import PiecesAnywhere
from scheduler.preemption.units.pricing import chosen, price, settled
from scheduler.preemption.victim_prefix_sums import Ladder, VictimChoice

_UNITS = How.UNITS


def in_units(job: SnapshotJob, rules: PartitionRules) -> bool:
    """Whether a running job holds units: it needs `units` of the partition, or `elastic` and a least number of them."""
    if not (job.unit and job.alloc):
        return False
    return rules.units or (rules.elastic and job.elastic is not None and job.elastic.min_units is not None)


def units_of(job: SnapshotJob, rules: PartitionRules) -> JobPieces | None:
    """The units of a running job; None when it runs as a whole or not at all."""
    if not in_units(job, rules):
        return None
    elastic = job.elastic
    counts, each = dict[str, int](), dict[str, Amounts]()
    last: Amounts = {}
    count, one = 0, last
    for node, held in job.alloc.items():
        if held != last:  # Most jobs hold the same on each of their nodes.
            count, last = units_in(held, job.unit), held
            one = {name: n // count for name, n in held.items()} if count > 1 else held
        if not count:
            return None
        counts[node], each[node] = count, one
    may_shrink = rules.elastic and elastic is not None and elastic.min_units is not None
    least = (elastic.min_units or 0) if elastic else 0
    return JobPieces(_UNITS, each, counts, sum(counts.values()), least, may_shrink)


def divide(runner: RunningJob, pieces: JobPieces | None) -> bool:
    """Note the pieces of a running job; whether it has any."""
    if pieces is None:
        return False
    runner.pieces = pieces
    runner.tied = pieces.least > 0
    # Lists of candidates refer to these amounts: they are changed in place.
    runner.alloc = {name: dict(amounts) for name, amounts in runner.alloc.items()}
    return True


def lose(state: ClusterState, runner: RunningJob, lost: Mapping[str, int]) -> None:
    """A running job gives up pieces, so many on each node; their room is free for whoever is decided next."""
    pieces = runner.pieces
    if pieces is None:
        raise ValueError(f"{runner.job.id} cannot lose a part")
    given: dict[str, Amounts] = {}
    left = set[str]()
    for name, count in lost.items():
        given[name] = {resource: each * count for resource, each in pieces.each[name].items()}
        pieces.counts[name] -= count
        pieces.held -= count
        if not pieces.counts[name]:
            del pieces.counts[name]
            left.add(name)
    state.give_up(runner, given, left)


def elastic_jobs(state: ClusterState) -> list[RunningJob]:
    """The running jobs that may lose pieces before anybody is stopped."""
    return [runner for runner in state.in_parts if runner.pieces and runner.pieces.elastic]


class LadderInPieces(Ladder):
    """The candidates on a node where some may lose a part and go on."""

    __slots__ = ()

    def rough(self, number: int) -> Entry:
        """As `Ladder.rough`; of one who holds pieces it may be a single one that goes."""
        found = super().rough(number)
        cost, *rest = found
        if not cost:
            return found
        own_class, least, count = cost[0]
        for other, cost_in, _, _, runner, _ in islice(self.candidates, number - 1, None):
            if other != own_class:
                break
            if runner.pieces and runner.pieces.held:
                least = min(least, cost_in // runner.pieces.held)
        found = self.roughly[number] = (((own_class, least, count),), *rest)  # type: ignore[assignment]
        return found

    def as_wholes(self, mine: list[Candidate]) -> list[Candidate]:
        """The candidates of one class; none where one of them holds pieces."""
        return [] if any(candidate[4].pieces for candidate in mine) else mine

    @classmethod
    def still_on(cls, node: str, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Without those who have lost all that they held there."""
        return [c for c in candidates if c[4].may_go and (c[4].pieces is None or node in c[4].pieces.counts)]


def giving_way(state: ClusterState) -> GivingWay | None:
    """How victims give way where some hold pieces; None where nobody does."""
    if not state.in_parts:
        return None
    whole = state.snapshot.partition.give_back is GiveBack.WHOLE
    return GivingWay(
        choice=VictimChoice(partial(chosen, whole=whole), partial(price, whole=whole)),
        ladder=LadderInPieces,
        trial=PiecesAnywhere,
        settled=partial(settled, whole=whole),
        is_fixed=_is_fixed,
    )


def _is_fixed(cost_in: str) -> bool:
    """Work that is lost is less of it as a job loses a part."""
    return cost_in in ("", SUBMITTED)
