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
from scheduler.preemption import pricing
from scheduler.preemption.candidates import Candidate
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.giving_way import GivingWay
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pieces import JobPieces, units_in
from scheduler.preemption.pricing import FREE, Loss, Price, missing
from scheduler.preemption.quotes import Entry
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import SUBMITTED, Shape
from scheduler.preemption.units.anywhere import PiecesAnywhere
from scheduler.preemption.units.giving_back import give_back, price_of
from scheduler.preemption.units.trials import PiecesOn
from scheduler.preemption.victim_prefix_sums import Ladder, VictimChoice

# --- What room on one node costs where running jobs hold units, or are elastic: they may lose a part and go on.


def price(place: NodeState, shape: Shape, candidates: Iterable[Candidate], *, whole: bool) -> Price | None:
    """As `pricing.price`, with what is left over given back in pieces (`giving_back`).

    `candidates`: of those on the node, the ones that may be stopped and still hold something there.
    """
    if shape.exclusive:
        return _emptied(place, shape, candidates, whole=whole)
    short = missing(place, shape)
    if not short:
        return FREE
    taken = pricing.take(short, candidates)
    return None if taken is None else chosen(place, taken, short, whole=whole)


def chosen(place: NodeState, taken: list[Candidate], short: dict[str, int], *, whole: bool) -> Price:
    """As `pricing.chosen`."""
    if not any(c[4].pieces for c in taken):
        return pricing.chosen(place, taken, short)
    stopped, losses = _left_over(place, taken, short, whole=whole)
    return _price_here(taken, stopped, losses)


def _price_here(taken: Iterable[Candidate], stopped: list[RunningJob], losses: list[Loss]) -> Price:
    """The same as `price_of`, for those taken on one node: what each of them costs is known already."""
    known = {c[4]: c for c in taken}
    victims = [known[runner] for runner in stopped]
    for runner, _, count in losses:
        own_class, cost_in, ran, order, _, gives = known[runner]
        held = runner.pieces.held if runner.pieces else 1
        victims.append((own_class, cost_in * count // held, ran, order, runner, gives))
    victims.sort(reverse=True)  # no two have the same order, so nothing behind it is compared
    cost, runners, _, _, _ = pricing.priced(victims)
    return Price(cost, runners, 0, tuple(losses))


def _emptied(place: NodeState, shape: Shape, candidates: Iterable[Candidate], *, whole: bool) -> Price | None:
    """A node that must be empty: everybody goes from it, some of them without being stopped."""
    here = list(candidates)
    known = pricing.price(place, shape, here)
    if known is None or not any(runner.pieces for runner in known.victims):
        return known
    trial = PiecesOn((place,), shape)
    for candidate in here:
        trial.stop(candidate[4])
    stopped, losses = give_back(trial, [c[4] for c in here], whole=whole)
    return price_of(stopped, losses, {c[4]: c[0] for c in here}, shape.cost_in)


def _left_over(
    place: NodeState, taken: list[Candidate], short: dict[str, int], *, whole: bool
) -> tuple[list[RunningJob], list[Loss]]:
    """The same as `give_back`, worked out directly: on one node, pieces of equal size make it a division.

    `short`: what is missing with all of them gone; below zero by what is left over.
    """
    name, stopped, losses = place.node.name, list[RunningJob](), list[Loss]()
    left = [c for c in reversed(taken) if not _back(c[5], 1, short)] if whole else reversed(taken)
    for candidate in left:
        runner, gives, pieces = candidate[4], candidate[5], candidate[4].pieces
        if pieces is None:
            if not _back(gives, 1, short):
                stopped.append(runner)
            continue
        each, count = pieces.each[name], pieces.counts[name]
        back = _back(each, count, short)
        if back == count:
            continue
        if pieces.held - count + back < pieces.least:
            _add(each, -back, short)
            stopped.append(runner)
        else:
            losses.append((runner, name, count - back))
    return stopped, losses


def _back(each: Amounts, most: int, short: dict[str, int]) -> int:
    """How many pieces, of so many, fit into what is left over; they are given back."""
    for name, rest in short.items():
        amount = each.get(name)
        if amount and amount * most > -rest:
            most = -rest // amount
    if most:
        _add(each, most, short)
    return most


def _add(each: Amounts, times: int, short: dict[str, int]) -> None:
    for name in short:
        short[name] += each.get(name, 0) * times


def settled(room: MadeRoom, shape: Shape, scope: PreemptionScope, *, whole: bool) -> MadeRoom:
    """A room on several nodes whose victims were chosen as wholes, with what is left over given back in pieces."""
    victims = room.price.victims[::-1]
    if not any(runner.pieces for runner in victims):
        return room
    trial = PiecesOn(room.places, shape)
    for runner in victims:
        trial.stop(runner)
    stopped, losses = give_back(trial, victims, whole=whole)
    classes = {runner: scope.class_of(runner.first, runner.second) or 0 for runner in victims}
    return MadeRoom(room.places, price_of(stopped, losses, classes, shape.cost_in))


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
