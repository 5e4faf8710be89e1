"""The best that can be done with units, and with workers of elastic jobs, by trying everything: for tiny partitions.

Two costs, compared as tuples, the smaller the better. Both are for one pending job, in the state of a snapshot.

Units (`best_units`): victims in order of value, the most valuable first (class, then earlier submitted, then
longer running, then the id). For each what it loses: pieces, or all of them when it is stopped. So the most valuable
loses as little as possible, then the next. With `give_back: whole` who loses anything at all counts first, in that
order. Only for requests in units, and only whole sets of losses with which all that the job gets fits.

Shrinking (`best_shrink`): how many workers (an elastic job's pieces on one node are one), then what they hold,
each resource as a share of what the partition has of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import DecidedVictim, Decision, How
from scheduler.model.policy import GiveBack
from scheduler.model.snapshot import Snapshot
from tests.scheduler import naive
from tests.scheduler.pieces import World, whole

MOST = 1_500
"""More combinations than this are not tried."""

UnitCost = tuple[tuple[int, ...], ...]
ShrinkCost = tuple[int, Fraction]


class TooManyError(Exception):
    """There are too many combinations to try."""


@dataclass(frozen=True)
class Loss:
    """One way for one job to give something: pieces on some nodes, or all of it (`stopped`)."""

    job: str
    nodes: tuple[tuple[str, int], ...]
    stopped: bool = False

    @property
    def pieces(self) -> int:
        return sum(count for _, count in self.nodes)


def best_units(snapshot: Snapshot, job: SnapshotJob, units: int) -> UnitCost | None:
    """The least cost at which so many units of a request fit; None when nothing helps. Raises `TooManyError`."""
    world = World.of(snapshot)
    victims = by_value(snapshot, job)
    costs = [
        _unit_cost(snapshot, chosen)
        for chosen in _combinations([_ways(snapshot, victim, shrink=False) for victim in victims])
        if _fits(world, job, chosen, units)
    ]
    return min(costs, default=None)


def units_cost(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> UnitCost:
    """What a decision costs, in the same measure."""
    made = {victim.job: victim for victim in decision.victims}
    nothing = DecidedVictim("", How.UNITS)
    return _unit_cost(
        snapshot, [_as_loss(other, made.get(other.id, nothing)) for other in by_value(snapshot, job)]
    )


def best_shrink(snapshot: Snapshot, job: SnapshotJob) -> ShrinkCost | None:
    """The least cost at which a request fits when only elastic jobs lose workers. Raises `TooManyError`."""
    world = World.of(snapshot)
    elastic = [other for other in naive.stoppable(snapshot, job) if other.elastic]
    costs = [
        _shrink_cost(snapshot, chosen)
        for chosen in _combinations([_ways(snapshot, other, shrink=True) for other in elastic])
        if _fits(world, job, chosen, None)
    ]
    return min(costs, default=None)


def shrink_cost(snapshot: Snapshot, decision: Decision) -> ShrinkCost:
    """What a decision costs, in the same measure."""
    jobs = {job.id: job for job in snapshot.jobs}
    return _shrink_cost(snapshot, [_as_loss(jobs[victim.job], victim) for victim in decision.victims])


def by_value(snapshot: Snapshot, job: SnapshotJob) -> list[SnapshotJob]:
    """Whom a pending job may take something from, the most valuable first."""
    return sorted(
        naive.stoppable(snapshot, job),
        key=lambda other: (
            naive.class_of(snapshot.partition, job, other),
            -other.submit,
            snapshot.now - (other.start or 0),
            int(other.id),
        ),
        reverse=True,
    )


def _ways(snapshot: Snapshot, job: SnapshotJob, *, shrink: bool) -> list[Loss]:
    """All that a job may lose. `shrink`: without being stopped, if it is elastic."""
    counts = _counts(job)
    every = Loss(job.id, tuple(counts.items()), stopped=True)
    nothing = Loss(job.id, ())
    in_pieces = bool(job.unit) or (job.elastic is not None and job.elastic.min_nodes is not None)
    if not in_pieces:
        return [nothing] if shrink else [nothing, every]
    least = (job.elastic.min_units or job.elastic.min_nodes or 0) if job.elastic else 0
    ways = []
    for lost in product(*(range(count + 1) for count in counts.values())):
        if sum(counts.values()) - sum(lost) >= least:
            ways.append(Loss(job.id, tuple((n, k) for n, k in zip(counts, lost, strict=True) if k)))
        if len(ways) > MOST:
            raise TooManyError
    return ways if shrink or least == 0 else [*ways, every]


def _counts(job: SnapshotJob) -> dict[str, int]:
    return {node: whole(part, job.unit) if job.unit else 1 for node, part in job.alloc.items()}


def _combinations(ways: list[list[Loss]]) -> Iterator[tuple[Loss, ...]]:
    number = 1
    for each in ways:
        number *= len(each)
    if number > MOST:
        raise TooManyError
    return product(*ways)


def _fits(world: World, job: SnapshotJob, chosen: tuple[Loss, ...], units: int | None) -> bool:
    trial = world.copy()
    for loss in chosen:
        counts = _counts(world.job(loss.job))
        for node, count in loss.nodes:
            part = dict(trial.held[loss.job][node])
            lost = {name: n // counts[node] * count for name, n in part.items()}
            trial.give(loss.job, node, part if loss.stopped else lost, -1)
    assert job.request is not None
    return trial.fits(job.request, units)


def _unit_cost(snapshot: Snapshot, chosen: tuple[Loss, ...] | list[Loss]) -> UnitCost:
    pieces = tuple(loss.pieces for loss in chosen)
    if snapshot.partition.give_back is GiveBack.WHOLE:
        return tuple(int(count > 0) for count in pieces), pieces
    return (pieces,)


def _shrink_cost(snapshot: Snapshot, chosen: tuple[Loss, ...] | list[Loss]) -> ShrinkCost:
    jobs = {job.id: job for job in snapshot.jobs}
    size = Fraction(0)
    for loss in chosen:
        counts = _counts(jobs[loss.job])
        for node, count in loss.nodes:
            for name, amount in jobs[loss.job].alloc[node].items():
                total = sum(place.total.get(name, 0) for place in snapshot.nodes)
                size += Fraction(amount // counts[node] * count, total)
    return sum(len(loss.nodes) for loss in chosen), size


def _as_loss(job: SnapshotJob, victim: DecidedVictim) -> Loss:
    if victim.how is How.UNITS:
        return Loss(job.id, victim.on)
    if victim.how is How.NODES:
        return Loss(job.id, tuple((node, 1) for node in victim.nodes))
    return Loss(job.id, tuple(_counts(job).items()), stopped=True)
