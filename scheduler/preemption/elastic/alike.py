"""Which requests ask the same of the nodes with workers: they differ in what there is enough of on all of these."""

from collections.abc import Mapping
from dataclasses import replace

from scheduler.preemption.elastic.workers import OnNode, Workers
from scheduler.preemption.shapes import Shape


class LeastRoom:
    """The least of each resource that is free or coming on any of some nodes; it may be more, never less."""

    def __init__(self, workers: Workers, nodes: Mapping[int, OnNode]) -> None:
        self._nodes = nodes
        self._watch = workers.changes.watch()
        self._least = [min(room) for room in zip(*[node.soon for node in nodes.values()], strict=True)]

    def now(self) -> list[int]:
        """As it is now, by the place in a row (`workers.Row`)."""
        nodes = self._nodes
        for order in self._watch.changed():
            if order in nodes:
                self._least = [*map(min, self._least, nodes[order].soon)]
        return self._least


class AlikeShapes:
    """Shapes as far as they matter on the nodes with workers."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._least: dict[frozenset[int], LeastRoom] = {}

    def of(self, shape: Shape) -> Shape:
        """The shape without the resources of which there is enough on each of its nodes, as long as that is so."""
        if shape.exclusive or len(shape.wants) < 2:
            return shape
        self._workers.up_to_date()
        least = self._least.get(shape.node_indices)
        if least is None:
            least = LeastRoom(self._workers, self._workers.among(shape.places))
            self._least[shape.node_indices] = least
        known, names = least.now(), self._workers.names
        if not known:
            return shape
        short = tuple([(name, n) for name, n in shape.wants if n > known[names.index(name)]])
        return replace(shape, wants=short) if 0 < len(short) < len(shape.wants) else shape
