"""The exchange with a young running job (spec 5.3): it gives up one node for a free one of similar power, so that its
set stays even and the waiting job's set becomes even.

Only a balanced job gives up a node, one that has run for less than `swap_below_s` (its work may have to be repeated),
may be interrupted at all (neither protected nor exempt, no limit forbids it), is not elastic and does not rank above
the waiting job. Looked at: the lowest rank first, the shortest run first; of its nodes and the free ones, those
closest to each other in power first. The first exchange that leaves both sets even is taken. They share no node: both
are kept for their jobs until these run (`console/steering/exchanging`), and a node can be kept for one job only.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scheduler.model.jobs import SnapshotJob
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts, add, covers, subtract
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.balance.evenset import Member, between, distance_of, sets_with
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.search import Placement, Wanted, placed
from scheduler.preemption.shapes import Shape, suits

MOST_RUNNERS = 32
"""How many running jobs are looked at for one waiting job."""
MOST_INSTEAD = 16
"""How many free nodes are tried instead of each of their nodes."""


@dataclass(frozen=True, slots=True)
class Swap:
    """`runner` gives up the place `up` and gets `instead`; the waiting job then fits onto `placement`."""

    runner: RunningJob
    up: NodeState
    instead: NodeState
    placement: Placement


class Exchange:
    """The exchanges of one state of the cluster."""

    def __init__(self, cluster_state: ClusterState, balancing: Balancing) -> None:
        self._cluster_state = cluster_state
        self._balancing = balancing
        self._powers = balancing.powers
        below = balancing.balance.swap_below_s
        self._young = [
            runner
            for runner in cluster_state.runners
            if runner.job.balanced
            and runner.ran < below
            and not runner.lasting
            and runner.pieces is None
            and all(place.order in self._powers.of for place in runner.places)
        ]
        self._young.sort(key=lambda runner: (runner.first, runner.second, runner.ran, runner.order))

    def find(self, wanted: Wanted) -> Swap | None:
        """The exchange that makes an even set free for a job of several nodes."""
        shape, scope = wanted.shape, wanted.scope
        if not self._young or not shape.count:
            return None
        members = self._balancing.members(shape, coming=False)
        if len(members) < shape.count - 1:
            return None  # One node given up would not be enough: most often nearly nothing is free.
        for runner in self._interruptible(scope):
            for up in sorted(runner.places, key=lambda place: place.order):
                member = self._once_left(shape, runner, up) if up.order in shape.node_indices else None
                near = self._near(members, member) if member else []
                if member is None or len(near) < shape.count - 1:
                    continue
                for instead in self._instead(runner, up):
                    chosen = self._even_with(shape, member, self._left_by(near, runner, up, instead))
                    if chosen:
                        places = [self._cluster_state.places[each.order] for each in chosen]
                        return Swap(runner, up, instead, placed(shape, places))
        return None

    def apply(self, swap: Swap) -> None:
        """The running job has moved: the node that it gave up has room, and it is left alone for the rest of the
        plan."""
        runner, up, instead = swap.runner, swap.up, swap.instead
        self._cluster_state.spare(runner, Reason.EXCHANGED.value)
        gives = runner.alloc[up.node.name]
        runner.alloc = {
            instead.node.name if name == up.node.name else name: held for name, held in runner.alloc.items()
        }
        runner.places = tuple(instead if place is up else place for place in runner.places)
        add(up.free, gives)
        up.holders -= 1
        up.runners.remove(runner)
        subtract(instead.free, gives)
        instead.holders += 1
        instead.runners.append(runner)
        self._cluster_state.index.note_all((up, instead))

    @property
    def _most(self) -> int:
        return self._balancing.most

    def _near(self, members: Sequence[Member], member: Member) -> Sequence[Member]:
        """Those of some members, which are sorted, that are no further from one than is allowed."""
        return between(members, member.high - self._most, member.power + self._most)

    def _interruptible(self, scope: PreemptionScope) -> Iterator[RunningJob]:
        ranking = self._cluster_state.ranking
        found = 0
        for runner in self._young:
            if ranking.is_above(scope, runner.first, runner.second) or not runner.may_go:
                continue
            yield runner
            found += 1
            if found == MOST_RUNNERS:
                return

    def _once_left(self, shape: Shape, runner: RunningJob, up: NodeState) -> Member | None:
        """The node as a member of the waiting job's set, without the runner; None when the job would not fit."""
        gives = runner.alloc[up.node.name]
        if shape.exclusive and (up.holders > 1 or up.leaving):
            return None
        waste = 0
        for name, amount in shape.wants:
            rest = up.free.get(name, 0) + gives.get(name, 0) - amount
            if rest < 0:
                return None
            waste += rest * 1000 // up.node.total[name]
        return self._powers.member(up.order, waste)

    def _instead(self, runner: RunningJob, up: NodeState) -> Sequence[NodeState]:
        """Free nodes that could take what the runner holds on a node and keep its set even, closest in power first."""
        powers = self._powers
        kept = [place.order for place in runner.places if place is not up] or [up.order]
        own = powers.of[up.order]
        low = max(powers.high[order] for order in kept) - self._most
        high = min(powers.of[order] for order in kept) + self._most
        gives = runner.alloc[up.node.name]
        mine = set(runner.places)
        fits = (
            place
            for place in powers.between(low, high)
            if place not in mine and _could_take(place, runner.job, up, gives)
        )
        near = sorted(fits, key=lambda place: (abs(powers.of[place.order] - own), place.order))
        # The nodes that it keeps, or the processors of the one that it would get, may be too uneven by themselves.
        others = [place.order for place in runner.places if place is not up]
        even = (place for place in near if powers.distance([*others, place.order]) <= self._most)
        return list(islice(even, MOST_INSTEAD))

    def _left_by(
        self, near: Iterable[Member], runner: RunningJob, up: NodeState, instead: NodeState
    ) -> list[Member]:
        """The nodes near a power without those that the runner has after the exchange."""
        its_own = {instead.order, *(place.order for place in runner.places if place is not up)}
        return [member for member in near if member.order not in its_own]

    def _even_with(self, shape: Shape, member: Member, others: list[Member]) -> list[Member] | None:
        """An even set with a certain node in it: the one with the smallest distance."""
        sets = []
        for near in sets_with(sorted([*others, member]), member, self._most):
            near.remove(member)
            if len(near) >= shape.count - 1:
                lowest = sorted(near, key=lambda each: each.high)[: shape.count - 1]
                sets.append([member, *lowest])
        return min(sets, key=distance_of, default=None)


def _could_take(place: NodeState, job: SnapshotJob, up: NodeState, gives: Amounts) -> bool:
    """Whether a node could take what a job holds on another one. What the job asked of its nodes is not always known:
    then the node must have all that the other one has."""
    if not place.node.up or not covers(place.free, gives):
        return False
    if job.request is None or job.request.same_of or job.request.counted:
        return up.node.features <= place.node.features
    empty = not job.request.exclusive or not (place.holders or place.leaving)
    return suits(job.request, place.node) and empty
