"""The workers of elastic jobs: what each of them may lose on one node, whoever asks.

A worker is what an elastic job holds on one node; of a job in units, so many of its units there as it may lose.
What a node has is worked out once for all requests, and again when the index names the node.

Amounts that are compared again and again are rows of numbers, in the order of `Workers.names`.
"""

from collections.abc import Container, Iterable, Mapping
from operator import add as sum_of
from operator import attrgetter, gt

from scheduler.model.resources import Amounts, add, total
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.elastic.on_node import Lot, OnNode, Row, Worker
from scheduler.preemption.elastic.restarts import restarts
from scheduler.preemption.node_index import Changes, Watch
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.units.in_pieces import elastic_jobs

SCALE = 10**9
"""The size of all that the partition has of one resource."""


class Workers:
    """The workers of one state of the cluster, by node."""

    def __init__(self, cluster_state: ClusterState) -> None:
        amounts: dict[str, int] = {}
        for place in cluster_state.places:
            add(amounts, place.node.total)
        self.names = sorted(amounts)
        self.total = tuple([amounts[name] for name in self.names])
        """What the partition has of each resource."""
        self.changes = Changes(len(cluster_state.places))
        """As the index has them, only of the nodes where something is other than it was: most of those that it names
        got as much as they gave since the last look. For `up_to_date` to continue."""
        self.eased = Changes(len(cluster_state.places))
        """Of these the nodes that have more of something, or fewer on them: elsewhere no room has become cheaper, for
        workers never become more, nor may lose more."""
        self._cluster_state = cluster_state
        self._zeros = (0,) * len(self.names)
        self._watch: Watch | None = None
        self._watch_reduced: Watch | None = None
        self._lots: dict[tuple[object, ...], Lot] = {}
        self._nodes: dict[int, OnNode] = {}
        self._among: dict[tuple[NodeState, ...], Mapping[int, OnNode]] = {}
        self._own: dict[RunningJob, list[tuple[int, NodeState, str]]] = {}
        """Of each elastic job where its workers come in `all`, and where they are."""
        self.all: list[Worker | None] = []
        """All workers, as they count in the first tier, those of one class in their order; None for one that may lose
        nothing."""
        for runner in sorted(elastic_jobs(cluster_state), key=_later_first):
            own = self._own[runner] = []
            for place in sorted(runner.places, key=_by_order) if len(runner.places) > 1 else runner.places:
                node = self._nodes.get(place.order)
                if node is None:
                    node = self._nodes[place.order] = OnNode(place, len(self.names))
                own.append((len(self.all), place, place.node.name))
                node.own.append(len(self.all))
                self.all.append(None)
        self.node_indices = self._nodes.keys()
        """The nodes on which there are any, by their indices."""

    def up_to_date(self) -> Mapping[int, OnNode]:
        """The workers of each node, by its order. A node is always the same object, brought up to date."""
        if self._watch is None or self._watch_reduced is None:
            self._watch = self._cluster_state.index.changes.watch()
            self._watch_reduced = self._cluster_state.reduced.watch()
            self._look_at_first()
        elif changed := self._watch.changed():
            runners = self._cluster_state.runners
            others = self._count([runners[order] for order in self._watch_reduced.changed()])
            self._look_at(self.node_indices & changed | others, others)
        return self._nodes

    def among(self, places: tuple[NodeState, ...]) -> Mapping[int, OnNode]:
        """Of some nodes those on which there are any, by their indices; many shapes ask for the same ones."""
        known = self._among.get(places)
        if known is None:
            nodes = self._nodes
            known = {place.order: nodes[place.order] for place in places if place.order in nodes}
            self._among[places] = known
        return known

    def on(self, place: NodeState) -> OnNode:
        """The workers on one of the nodes on which there are any."""
        return self.up_to_date()[place.order]

    def left(self, worker: Worker, gone: int) -> Worker | None:
        """A worker when its job has lost so many pieces elsewhere; None when it may lose no more."""
        pieces = worker.runner.pieces
        if not gone or pieces is None:
            return worker
        count = min(worker.count, pieces.surplus - gone)
        if count <= 0:
            return None
        lot = self._lot(worker.lot.each, count)
        size = self._size(worker.runner, lot)
        return Worker(worker.runner, worker.place, lot, worker.rank, count, size)

    def _size(self, runner: RunningJob, lot: Lot) -> int:
        """The size of one piece, and where its job has to start again all that stops for that: the whole job."""
        return lot.size if not restarts(runner.job) else self._lot(total(runner.job.alloc.values()), 1).size

    def _look_at_first(self) -> None:
        self._count(self._own)
        for node in self._nodes.values():
            node.holders = node.place.holders
            self._put(node)
            node.room(self._soon(node.place))

    def _count(self, runners: Iterable[RunningJob]) -> set[int]:
        """Count what jobs may lose where; returns the nodes where that is other than it was."""
        workers, others = self.all, set[int]()
        for runner in runners:
            pieces = runner.pieces
            if pieces is None or runner not in self._own:
                continue
            # One whose end is awaited may not shrink any more.
            surplus = pieces.held - pieces.least if runner.alive and not runner.lasting else 0
            counts, each = pieces.counts, pieces.each
            for at, place, name in self._own[runner]:
                worker, count = workers[at], 0
                if surplus > 0:
                    count = min(counts.get(name, 0), surplus)
                if count != (worker.count if worker else 0):
                    workers[at] = None
                    if count:
                        lot = self._lot(each[name], count)
                        size = self._size(runner, lot)
                        workers[at] = Worker(runner, place, lot, (runner.first, at), count, size)
                    others.add(place.order)
        return others

    def _put(self, node: OnNode) -> None:
        workers = self.all
        node.put([worker for at in node.own if (worker := workers[at])])

    def _look_at(self, node_indices: Iterable[int], others: Container[int]) -> None:
        """Look at nodes again, of which some have other workers than before."""
        for order in node_indices:
            node = self._nodes[order]
            soon, holders = self._soon(node.place), node.place.holders
            other = order in others
            if other or soon != node.soon or holders != node.holders:
                self.changes.note(order)
                node.version = self.changes.now
                if holders < node.holders or True in map(gt, soon, node.soon):
                    self.eased.note(order)
                if other:
                    self._put(node)
                node.room(soon)
                node.holders = holders

    def _soon(self, place: NodeState) -> Row:
        """What is free or coming on a node."""
        free, coming = place.free, place.coming
        soon = tuple(map(free.get, self.names, self._zeros))
        return tuple(map(sum_of, soon, map(coming.get, self.names, self._zeros))) if coming else soon

    def _lot(self, each: Amounts, count: int) -> Lot:
        key = count, *each, *each.values()
        known = self._lots.get(key)
        if known is None:
            total = dict(zip(self.names, self.total, strict=True))
            # What no node of the partition counts any more (an administrator has changed its GRES) is no share of it.
            size = sum([amount * SCALE // total[name] for name, amount in each.items() if total.get(name)])
            everything = {name: amount * count for name, amount in each.items()}
            gives = tuple([everything.get(name, 0) for name in self.names])
            known = self._lots[key] = Lot(count, size, each, everything, gives)
        return known


def _later_first(runner: RunningJob) -> tuple[int, int]:
    return -runner.job.submit, runner.order


_by_order = attrgetter("order")
