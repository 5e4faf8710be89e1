"""The predicted starts of one plan (spec 3.1): when, and where, a job that gets no room now can start by itself."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from scheduler.model.jobs import SnapshotJob
from scheduler.model.policy import Dispatch
from scheduler.model.reasons import Reason
from scheduler.preemption.balance.balancing import Balancing
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.reservation.futures import Entry
from scheduler.preemption.reservation.moments import Claims, Moments
from scheduler.preemption.reservation.nodeset import NodeSet
from scheduler.preemption.reservation.summed import Summed
from scheduler.preemption.search import Placement, placed
from scheduler.preemption.shapes import Shape


class Later(NamedTuple):
    """A predicted start: the epoch second, and what the job takes then."""

    at: int
    placement: Placement


class Outlook:
    """What a partition with managed dispatch, or with patience, knows of the time to come.

    In managed dispatch every job that gets something takes its nodes out of the set. Where Slurm places, a job that
    stays in the queue gets nothing, but is predicted to take its room before any job of lower rank: a claim.
    """

    def __init__(self, cluster_state: ClusterState, balancing: Balancing | None) -> None:
        rules = cluster_state.snapshot.partition
        self.patience_s = rules.patience_s
        self.nodes = NodeSet(cluster_state) if rules.dispatch is Dispatch.MANAGED else None
        self._cluster_state = cluster_state
        self._balancing = balancing
        self._claims = Claims(cluster_state)
        self._moments = Moments(cluster_state, self._claims)
        self._summed = Summed(cluster_state, self._moments)

    def soonest(self, job: SnapshotJob, shape: Shape, by: int | None = None) -> Later | None:
        """When and where the job can start at the earliest; None when nobody knows, or when it is later than `by`."""
        balancing = self._balancing
        if balancing is None or not balancing.applies(job, shape):
            return self._anyhow(shape, by)
        nearest = balancing.takes_nearest(job)
        if not balancing.measured_suffice(shape):
            return self._anyhow(shape, by) if nearest else None
        even = self._even(balancing, shape, by)
        if even or not nearest:
            return even
        later = self._anyhow(balancing.powers.measured(shape), by)
        # The nearest set is for whom no even one comes, be it later.
        return None if later is None or (by and self._even(balancing, shape, None)) else later

    def left(self, placement: Placement, *, kept: bool) -> None:
        """Somebody gets these nodes: in managed dispatch they leave the node set."""
        if self.nodes:
            self.nodes.leave(placement, kept=kept)
            self._moments.forget(self._cluster_state.by_name[name].order for name in placement)

    def claim(self, later: Later) -> None:
        """A job that stays in the queue is predicted to take this."""
        self._claims.add(later.placement)

    def promise(self, later: Later) -> Placement:
        """Where Slurm places: the part of a later room that is free or coming now, to be set aside. The rest is
        promised out of what running jobs release: nobody stops these any more, and no prediction counts on it."""
        present: dict[str, dict[str, int]] = {}
        owed: dict[str, dict[str, int]] = {}
        for name, amounts in later.placement.items():
            place = self._cluster_state.by_name[name]
            have = {each: max(0, place.free.get(each, 0) + place.coming.get(each, 0)) for each in amounts}
            present[name] = {each: min(amount, have[each]) for each, amount in amounts.items()}
            rest = {each: amount - present[name][each] for each, amount in amounts.items()}
            owed[name] = {each: amount for each, amount in rest.items() if amount}
            if owed[name]:
                self._leave_alone(place, later.at)
        self._claims.add({name: amounts for name, amounts in owed.items() if amounts})
        return present

    def take_apart(self) -> None:
        """Nothing is asked any more."""
        self._moments.take_apart()

    def _leave_alone(self, place: NodeState, at: int) -> None:
        for end, _, runner in sorted(self._moments.ends.on(place)):
            if end <= at and runner.alive and place in runner.places:
                # It may not shrink either: a part that is taken before would be missing when it ends.
                self._cluster_state.leave_alone(runner, Reason.AWAITED.value)

    def awaited(self, later: Later) -> list[RunningJob]:
        """The running jobs on those nodes that are expected to have ended by then, the first to end first."""
        places = [self._cluster_state.by_name[name] for name in later.placement]
        ending = {end for place in places for end in self._moments.ends.on(place) if end[0] <= later.at}
        return [runner for _, _, runner in sorted(ending)]

    def _anyhow(self, shape: Shape, by: int | None) -> Later | None:
        if not shape.count:
            found = self._summed.earliest(shape, by)
            return Later(*found) if found else None
        earliest = [*islice(self._moments.earliest(shape, by), shape.count)]
        return self._at(shape, earliest) if len(earliest) == shape.count else None

    def _even(self, balancing: Balancing, shape: Shape, by: int | None) -> Later | None:
        """The same for an even set: nodes are looked at from the earliest on until some are close enough together."""
        if not shape.count:
            found = [self._anyhow(each, by) for each in balancing.ranges(shape)]
            return min((each for each in found if each), default=None, key=lambda later: later.at)
        looked_at: dict[int, Entry] = {}

        def node_indices() -> Iterator[int]:
            for entry in self._moments.earliest(balancing.powers.measured(shape), by):
                looked_at[entry[2]] = entry
                yield entry[2]

        chosen = balancing.window(node_indices(), shape.count)
        return self._at(shape, [looked_at[order] for order in chosen]) if chosen else None

    def _at(self, shape: Shape, chosen: Sequence[Entry]) -> Later:
        places = [self._cluster_state.places[order] for _, _, order in chosen]
        return Later(max(at for at, _, _ in chosen), placed(shape, places))
