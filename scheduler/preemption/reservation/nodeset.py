"""The node set of managed dispatch (spec 3.1, document 002, S2 and S4): the nodes that the next job may still get.

Whoever gets room in a plan takes its nodes out of the set for the rest of it, whether it starts there or they are kept
for it. A node that has left counts as held to the last bit by somebody who never goes: no search finds anything on it.
What is really left over on those where somebody starts is known here.
"""

from bisect import insort
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import islice

from scheduler.model.resources import Amounts
from scheduler.preemption.by_one_resource import most_needed
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_index import Changes
from scheduler.preemption.node_state import ALL
from scheduler.preemption.pricing import fits
from scheduler.preemption.reservation.score import Candidate, badness, best_together
from scheduler.preemption.search import Placement, placed
from scheduler.preemption.shapes import Shape, ShapeKey


class NodeSet:
    """The nodes that have not been given to anybody in this plan."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._roomy = Roomy(cluster_state)
        self._scored: dict[ShapeKey, Scored] = {}
        self._started: set[int] = set()
        self._room: list[tuple[int, Amounts]] = []
        self._left_over: dict[ShapeKey, LeftOver] = {}

    def leave(self, names: Iterable[str], *, kept: bool) -> None:
        """Nodes leave the set: kept for a job (with all that is on them), or because somebody starts there."""
        for name in names:
            place = self._cluster_state.by_name[name]
            if not kept and place.order not in self._started:
                self._started.add(place.order)
                self._room.append((place.order, dict(place.free)))
            for resource in place.node.total:
                place.free[resource] = place.free.get(resource, 0) - ALL
            place.holders += 1
            self._cluster_state.index.note(place)

    def best(self, shape: Shape) -> Placement | None:
        """The best nodes that can run a job of so many nodes now (`score`)."""
        scored = self._scored.get(shape.each)
        if scored is None:
            scored = self._scored[shape.each] = Scored(self._cluster_state, self._roomy, shape)
        candidates = scored.candidates()
        if len(candidates) < shape.count:
            return None
        return placed(shape, best_together(candidates, shape.count))

    def left_over(self, shape: Shape) -> list[str]:
        """Nodes out of the set on which somebody starts and this shape would fit as well, as many as it wants."""
        if shape.exclusive or not shape.places:
            return []
        one = most_needed(shape)
        key = one, shape.node_indices
        known = self._left_over.get(key)
        if known is None:
            known = self._left_over[key] = LeftOver(self._room, one, shape.node_indices)
        places = self._cluster_state.places
        return [places[order].node.name for order in islice(known.on(shape), shape.count)]


class LeftOver:
    """The nodes on which somebody starts and so much of one resource is left, in their order: for all shapes that need
    most of that."""

    def __init__(
        self, started: Sequence[tuple[int, Amounts]], one: tuple[str, int], own: frozenset[int]
    ) -> None:
        """`started`: the nodes with what is left over there; they only become more."""
        self._started = started
        self._name, self._amount = one
        self._own = own
        self._seen = 0
        self._free: dict[int, Amounts] = {}
        self._node_indices: list[int] = []

    def on(self, shape: Shape) -> Iterator[int]:
        """Those of the nodes, as they are now, on which a shape fits."""
        for order, free in self._started[self._seen :]:
            if free.get(self._name, 0) >= self._amount and order in self._own:
                insort(self._node_indices, order)
                self._free[order] = free
        self._seen = len(self._started)
        for order in self._node_indices:
            free = self._free[order]
            if all(free.get(name, 0) >= amount for name, amount in shape.wants):
                yield order


class Roomy:
    """The nodes that have room for any shape that was asked about, as far as the first resource that it wants tells.

    Most nodes are full: one resource says so, once for all shapes. Most nodes that have changed were full before and
    still are: `changes` are of the others.
    """

    def __init__(self, cluster_state: ClusterState) -> None:
        self.node_indices: set[int] = set()
        self.changes = Changes(len(cluster_state.places))
        self._cluster_state = cluster_state
        self._watch = cluster_state.index.changes.watch()
        self._least: dict[str, int] = {}

    def watch(self, shape: Shape) -> Set[int]:
        """From now on this shape is asked about too. The nodes that may have room for it."""
        self.catch_up()
        for name, amount in shape.wants[:1]:
            if name not in self._least or amount < self._least[name]:
                self._least[name] = amount
                self.node_indices |= self._having(name, amount, range(len(self._cluster_state.places)))
        return self.node_indices

    def _having(self, name: str, amount: int, node_indices: Iterable[int]) -> set[int]:
        """Of some nodes those that have so much of a resource."""
        places = self._cluster_state.places
        return {order for order in node_indices if places[order].free.get(name, 0) >= amount}

    def catch_up(self) -> None:
        """Look again at the nodes that have changed."""
        named = self._watch.changed()
        roomy: set[int] = set()
        for name, least in self._least.items():
            roomy |= self._having(name, least, named)
        for order in roomy | self.node_indices.intersection(named):
            self.changes.note(order)
        self.node_indices.difference_update(named)
        self.node_indices |= roomy


class Scored:
    """The nodes that can run a shape now, with their badness, kept up to date."""

    def __init__(self, cluster_state: ClusterState, roomy: Roomy, shape: Shape) -> None:
        self._cluster_state = cluster_state
        self._roomy = roomy
        self._shape = shape
        self._known: dict[int, Candidate] = {}
        self._look_at(shape.node_indices & roomy.watch(shape))
        self._watch = roomy.changes.watch()

    def candidates(self) -> Collection[Candidate]:
        """Those nodes as they are now."""
        self._roomy.catch_up()
        if changed := self._watch.changed():
            named = self._shape.node_indices.intersection(changed)
            for order in named & self._known.keys():
                del self._known[order]
            self._look_at(named & self._roomy.node_indices)
        return self._known.values()

    def _look_at(self, node_indices: Iterable[int]) -> None:
        places, shape = self._cluster_state.places, self._shape
        for order in node_indices:
            place = places[order]
            if fits(place, shape, coming=False):
                self._known[order] = badness(place, shape), order, place
