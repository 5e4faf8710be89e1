"""What some nodes have of some resources: each of them, and all together; free now, or free and coming.

Kept up to date by the index of nodes, and shared by all pools (`spread`, `units.pool`) that count the same resources on
the same nodes, whatever the size of a unit. Of what comes in parts only whole ones count.
"""

from collections.abc import Iterable, Sequence

from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_index import Changes
from scheduler.preemption.shapes import Shape, ShapeKey, in_parts

Room = tuple[int, ...]
"""What a node has of each resource, in the order of their names; below zero where it is overcommitted."""


class Sums:
    """The rooms of all nodes. `amounts`: all of them together, an overcommitted node having nothing. `changes`: of the
    nodes whose room has changed. `where`: by resource, the nodes that have any of it."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        self.amounts: dict[str, int] = {}
        self.rooms: dict[int, Room] = {}
        self.changes = Changes(count)
        self.where: dict[str, set[int]] = {name: set() for name in names}
        self._names = names
        self._nothing: Room = (0,) * len(names)

    def change(self, order: int, room: Room) -> None:
        """Note what a node has now."""
        old = self.rooms.get(order)
        if old == room:
            return
        self.rooms[order] = room
        self.changes.note(order)
        for name, before, after in zip(self._names, old or self._nothing, room, strict=True):
            if before == after or (before <= 0 and after <= 0):
                continue
            gain = after - before
            if before <= 0:
                gain = after
                self.where[name].add(order)
            elif after <= 0:
                gain = -before
                self.where[name].discard(order)
            self.amounts[name] = self.amounts.get(name, 0) + gain


class Rooms:
    """The rooms on the nodes of a shape. On nodes that must be empty there is nothing as long as they are not."""

    def __init__(self, cluster_state: ClusterState, shape: Shape) -> None:
        self.places = {place.order: place for place in shape.places}
        self.names = tuple([name for name, _ in shape.wants])
        self.exclusive = shape.exclusive
        self.part = shape.part
        self._own = shape.node_indices
        self._watch = cluster_state.index.changes.watch()
        count = len(cluster_state.places)
        self._now = Sums(self.names, count)
        self._soon = Sums(self.names, count) if cluster_state.coming else self._now
        self._look_at(self.places)

    @staticmethod
    def key(shape: Shape) -> ShapeKey:
        """Equal for shapes that can share their rooms."""
        return tuple([name for name, _ in shape.wants]), shape.exclusive, shape.part, shape.places

    def sums(self, *, coming: bool) -> Sums:
        """What is free, or free and coming, as it is now."""
        self._look_at([order for order in self._watch.changed() if order in self._own])
        return self._soon if coming else self._now

    def _look_at(self, node_indices: Iterable[int]) -> None:
        for order in node_indices:
            place = self.places[order]
            free, coming = place.free, place.coming
            now = soon = tuple([free.get(name, 0) for name in self.names])
            if coming:
                soon = tuple([free.get(name, 0) + coming.get(name, 0) for name in self.names])
            if self.exclusive and (place.holders or place.leaving):
                nothing = (0,) * len(self.names)
                now, soon = nothing, nothing if place.holders else soon
            if self.part:
                now, soon = self._usable(now), self._usable(soon)
            self._now.change(order, now)
            if self._soon is not self._now:
                self._soon.change(order, soon)

    def _usable(self, room: Room) -> Room:
        """What of it whole parts can use."""
        usable = in_parts(dict(zip(self.names, room, strict=True)), self.part)
        return tuple([usable.get(name, 0) for name in self.names])
