"""When a node will have room: its free resources, and what its running jobs release one after the other (spec 3.1).

- Jobs are taken in the order of their expected ends; the first moment at which what is free, coming and released
  suffices is the node's. Who ends at an unknown time releases nothing: a node that needs such an end has no moment.
- What a node has at each moment is kept until the index names it (`futures`).
- A job that gets room keeps it in this reckoning: how long it will run is not known. So what is promised is never
  promised again, at no moment of the predicted future.
- `Claims` are rooms that waiting jobs are predicted to take without having been promised them. They count in
  predictions only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from typing import Final

from scheduler.model.resources import Amounts, add
from scheduler.preemption.by_one_resource import most_needed
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState
from scheduler.preemption.reservation.ends import Ends
from scheduler.preemption.reservation.futures import EarliestNodes, Entry, Futures
from scheduler.preemption.reservation.score import sickness
from scheduler.preemption.shapes import Shape, ShapeKey, Wants

_NONE: Final[Amounts] = {}

MOST_DEFERRED = 1
"""So often, for each of its nodes, a shape defers a node of a line that it shares, before it gets one of its own."""


class Claims:
    """What waiting jobs are predicted to take, by node."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._of: dict[int, dict[str, int]] = {}

    def of(self, place: NodeState) -> Amounts:
        """What is claimed of a node."""
        return self._of.get(place.order, _NONE)

    def add(self, placement: Mapping[str, Amounts]) -> None:
        """A waiting job is predicted to take this."""
        for name, amounts in placement.items():
            place = self._cluster_state.by_name[name]
            add(self._of.setdefault(place.order, {}), amounts)
            self._cluster_state.index.note(place)


class Moments:
    """The moments of one state of the cluster, per shape, kept up to date by its index of nodes."""

    def __init__(self, cluster_state: ClusterState, claims: Claims) -> None:
        self._cluster_state = cluster_state
        self._claims = claims
        self._now = cluster_state.snapshot.now
        self._lines: dict[ShapeKey, EarliestNodes] = {}
        self._deferred = Counter[ShapeKey]()
        """How often a node was none at the moment of its line, by shape."""
        self._futures: Futures | None = None
        self._sickness = [sickness(place) for place in cluster_state.places]
        self._forgotten: set[int] = set()
        self.ends = Ends(cluster_state, self._forgotten)

    def earliest(self, shape: Shape, by: int | None = None) -> Iterator[Entry]:
        """The nodes that a shape fits onto some time, the earliest first; of equal ones the healthiest.

        `by`: later moments are of no interest.
        """
        futures, each = self.futures(), shape.each
        if shape.exclusive or not shape.places or self._deferred[each] > MOST_DEFERRED * len(shape.places):
            return self._line(each, shape).until(by)
        one = most_needed(shape)
        rest = tuple([want for want in shape.wants if want != one])
        line = self._line((one, shape.node_indices), replace(shape, wants=(one,)))
        return self._with_the_rest(futures, line.until(by), shape, rest, by) if rest else line.until(by)

    def _line(self, key: ShapeKey, shape: Shape) -> EarliestNodes:
        """Nodes that are kept for all shapes of one key."""
        line = self._lines.get(key)
        if line is None:
            futures = self.futures()
            line = self._lines[key] = EarliestNodes(
                shape.node_indices,
                self._cluster_state.index.changes if shape.exclusive else futures.changes,
                partial(self._entries, futures, shape),
                self._forgotten,
            )
        return line

    def _with_the_rest(
        self, futures: Futures, line: Iterable[Entry], shape: Shape, rest: Wants, by: int | None
    ) -> Iterator[Entry]:
        """The nodes of a line of the one resource that a shape needs most of: at the same moment where there is enough
        of everything else, else later. Where that is the case too often, the shape gets a line of its own."""
        later: list[Entry] = []
        for entry in line:
            while later and later[0] < entry:
                yield heappop(later)
            if futures.there_is(rest, entry[2]):
                yield entry
                continue
            self._deferred[shape.each] += 1
            moment = futures.moment(rest, entry[2])
            if moment is not None and (by is None or moment <= by):
                heappush(later, (max(moment, entry[0]), *entry[1:]))
        while later:
            yield heappop(later)

    def futures(self) -> Futures:
        """What all nodes have as time goes on."""
        if self._futures is None:
            self._futures = Futures(self._cluster_state, self._claims.of, self.ends, self._forgotten)
        self._futures.catch_up()
        return self._futures

    def take_apart(self) -> None:
        """Nothing is asked any more: what refers to this is let go of."""
        self._futures = None
        self._lines.clear()

    def forget(self, node_indices: Iterable[int]) -> None:
        """Nodes of which nobody gets anything any more in this plan."""
        self._forgotten.update(node_indices)

    def left(self, node_indices: Set[int]) -> set[int]:
        """Of some nodes those of which somebody may still get something."""
        return {*node_indices} - self._forgotten

    def forgotten(self, place: NodeState) -> bool:
        """Whether nobody gets anything of a node any more."""
        return place.order in self._forgotten

    def claimed(self, place: NodeState) -> bool:
        """Whether a waiting job is predicted to take something of a node."""
        return bool(self._claims.of(place))

    def empty(self, place: NodeState) -> int | None:
        """When a node holds nobody any more; None when that is not known."""
        staying = [runner for runner in place.runners if runner.alive]
        if len(staying) < place.holders or self.claimed(place):
            return None
        ends = [self.ends.of(runner) for runner in staying]
        return None if None in ends else max([self._now, *(end for end in ends if end is not None)])

    def _entries(
        self, futures: Futures, shape: Shape, node_indices: Iterable[int], by: int | None
    ) -> Iterator[Entry]:
        """The entries of those of some nodes that a shape fits onto in time."""
        sick = self._sickness
        if not shape.exclusive:
            return (
                (moment, sick[order], order)
                for moment, order in futures.fitting(shape.wants, by, node_indices)
            )
        alone = ((self._alone(self._cluster_state.places[order], shape), order) for order in node_indices)
        return (
            (moment, sick[order], order)
            for moment, order in alone
            if moment is not None and (by is None or moment <= by)
        )

    def _alone(self, place: NodeState, shape: Shape) -> int | None:
        fits = all(place.node.total.get(name, 0) >= amount for name, amount in shape.wants)
        return self.empty(place) if fits else None
