"""Room on several nodes at once, when running jobs hold more than one node each.

Prices of nodes then depend on each other: stopping one job makes room on all of its nodes. Steps:
1. The highest class that must be used is known: with everybody up to it stopped, enough nodes fit, and with
   everybody below it, not. Nobody above it is looked at.
2. One attempt: take the cheapest node, count its victims as gone, price the nodes they touch again;
   repeat until there are enough nodes.
3. The same again, beginning with one job on several nodes as gone, for a few such jobs that cost the least
   per node.
4. Every attempt is trimmed: each victim without whom enough nodes fit, anywhere, is given back, the most
   valuable first. The cheapest attempt is taken.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from scheduler.model.resources import Amounts
from scheduler.preemption.by_one_resource import Offers
from scheduler.preemption.candidates import Candidate, loss_of, losses_of
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.node_state import NodeState, RunningJob
from scheduler.preemption.pricing import FREE, Cost, Price, candidates_of, price, priced
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.shapes import Shape
from scheduler.preemption.victim_prefix_sums import VictimPrefixSums

MOST_BEGINNINGS = 4
"""Of step 3."""

_Wide = tuple[int, RunningJob, Collection[int]]
"""What it costs at least to stop a runner, per node that it frees; the runner; and its nodes, by their indices:
some of them it may have left since."""

_Entry = tuple[Cost, int, int, int, tuple[RunningJob, ...], NodeState]


@dataclass(frozen=True, slots=True)
class MadeRoom:
    """Nodes that a job gets and who is stopped for it, the most valuable first."""

    places: tuple[NodeState, ...]
    price: Price


class Spanning:
    """The runners of one state of the cluster that are on several nodes, by what a pending job may stop."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self._ordered: dict[tuple[object, str], list[_Wide]] = {}
        self._weights = cluster_state.index.weights.watch()

    def is_needed(self, scope: PreemptionScope, dearest: int) -> bool:
        """Whether nodes can depend on each other: somebody who may be stopped, up to a class, is on several nodes."""
        by_class = self._by_class(scope, dearest)
        runners = (self._cluster_state.spanning[weights] for each in by_class.values() for weights in each)
        return any(runner.may_go for each in runners for runner in each)

    def classes(
        self, scope: PreemptionScope, dearest: int, cost_in: str
    ) -> Iterator[tuple[int, list[_Wide]]]:
        """Class by class, the lowest first: the runners, also those who may not be stopped any more, the one who does
        least cost per node first."""
        by_class = self._by_class(scope, dearest)
        for own_class in sorted(by_class):
            yield own_class, self._by_loss(tuple(by_class[own_class]), cost_in)

    def _by_class(self, scope: PreemptionScope, dearest: int) -> dict[int, list[tuple[int, int]]]:
        """The pairs of weights of the runners up to a class."""
        by_class: dict[int, list[tuple[int, int]]] = {}
        for weights in self._cluster_state.spanning:
            own_class = scope.class_of(*weights)
            if own_class is not None and own_class <= dearest:
                by_class.setdefault(own_class, []).append(weights)
        return by_class

    def _by_loss(self, pairs: tuple[tuple[int, int], ...], cost_in: str) -> list[_Wide]:
        if cost_in and self._weights.changed():
            # Who lost the node on which it held most may cost less per node than before; not so with running time.
            self._ordered.clear()
        known = self._ordered.get((pairs, cost_in))
        if known is None:
            every = [r for weights in pairs for r in self._cluster_state.spanning[weights] if r.alive]
            losses = zip(every, losses_of(every, cost_in), strict=True)
            found = [(lost // max(1, len(each.places)), each.order, each) for each, lost in losses]
            known = [
                (least, each, [place.order for place in each.places]) for least, _, each in sorted(found)
            ]
            self._ordered[pairs, cost_in] = known
        return known


class MultiNodeSearch:
    """One search for `shape.count` nodes at once, with victims up to the class `dearest` (step 1)."""

    def __init__(
        self,
        spanning: Spanning,
        ladders: VictimPrefixSums,
        shape: Shape,
        scope: PreemptionScope,
        dearest: int,
    ) -> None:
        self.shape = shape
        self._spanning = spanning
        self._ladders = ladders
        self._scope = scope
        self._dearest = dearest
        self._candidates: dict[NodeState, list[Candidate] | None] = {}

    def room(self, offers: Offers) -> MadeRoom:
        """The best of the attempts; `offers` are the prices of the nodes one by one."""
        alone = _Alone(offers, self.shape.count, self._dearest + 1)
        free = [entry[5] for entry in alone.entries if not entry[4]]
        rooms: list[MadeRoom] = []
        for begin in ((), *[(wide,) for wide in self._wide()]):
            best = min([room.price.cost for room in rooms], default=())
            room = self._trimmed(*_one_by_one(self, alone, begin), free, best)
            if room:
                rooms.append(room)
        return min(rooms, key=_cost)

    def price(self, place: NodeState, gone: set[RunningJob]) -> Price | None:
        """What a node costs once some are gone."""
        candidates = self._on(place)
        return None if candidates is None else price(place, self.shape, candidates, gone)

    def touched(self, leaving: Iterable[RunningJob]) -> list[NodeState]:
        """The nodes on which some runners are and which can be had with victims up to the class `dearest`: most of
        their nodes cannot, whoever is gone, and need not be looked at."""
        places, allowed = {place for runner in leaving for place in runner.places}, self.shape.node_indices
        return [place for place in places if place.order in allowed and self._on(place) is not None]

    def _on(self, place: NodeState) -> list[Candidate] | None:
        """The victims up to the class `dearest` on a node; None when all of them would not be enough."""
        if place not in self._candidates:
            ladder = self._ladders.on(place)
            number = bisect_left(ladder.candidates, (self._dearest + 1,))
            wants, exclusive = self.shape.wants, self.shape.exclusive
            enough = number == place.holders if exclusive else ladder.suffices(number, wants)
            self._candidates[place] = ladder.candidates[:number] if enough else None
        return self._candidates[place]

    def _wide(self) -> list[RunningJob]:
        """Those who could free several nodes at once, the ones that cost least per node first."""
        best: list[tuple[int, int, int, RunningJob]] = []
        allowed = self.shape.node_indices
        for own_class, runners in self._spanning.classes(self._scope, self._dearest, self.shape.cost_in):
            for least, runner, node_indices in runners:
                if len(best) == MOST_BEGINNINGS and least > best[-1][1]:
                    break  # the last of the best is of this class: it was not full of those before
                if not runner.may_go or allowed.isdisjoint(node_indices):
                    continue
                freed = sum([place.order in allowed for place in runner.places])
                if freed > 1:
                    cost_in = loss_of(runner, self.shape.cost_in) // freed
                    insort(best, (own_class, cost_in, runner.order, runner))
                    del best[MOST_BEGINNINGS:]
            if len(best) == MOST_BEGINNINGS:
                break  # whoever is of a higher class comes behind them
        return [entry[3] for entry in best]

    def _trimmed(
        self, victims: set[RunningJob], fitting: set[NodeState], free: list[NodeState], best: Cost
    ) -> MadeRoom | None:
        """Step 4, and the nodes: those that `victims` make fit, then free ones. None as soon as it is certain to cost
        more than the best attempt so far (empty: there is none), by the highest class, which every attempt needs."""
        count = self.shape.count
        most = best[0][1] if best else inf
        others = [place for place in free if place not in fitting]
        left = {place: self._left(place, victims) for place in fitting}
        kept: list[Candidate] = []
        for candidate in candidates_of(victims, self.shape, self._scope):
            runner = candidate[4]
            mine, held = [place for place in runner.places if place in fitting], runner.alloc
            after = {place: self._minus(left[place], held[place.node.name]) for place in mine}
            lost = [place for place in mine if min(after[place]) < 0]
            if len(fitting) - len(lost) + len(others) >= count:
                fitting.difference_update(lost)
                left.update(after)
                continue
            kept.append(candidate)
            if candidate[0] == self._dearest:
                most -= candidate[1]
                if most < 0:
                    return None
        places = sorted(fitting, key=_order) + others
        chosen = sorted(places[:count], key=_order)
        return MadeRoom(tuple(chosen), priced(kept))

    def _left(self, place: NodeState, gone: set[RunningJob]) -> list[int]:
        """What would be left over on a node, by resource, with some runners gone; below zero what would be missing.
        Where the node must be empty, how many others are on it, below zero."""
        free, coming, name = place.free, place.coming, place.node.name
        held = [runner.alloc[name] for runner in place.runners if runner in gone]
        if self.shape.exclusive:
            return [len(held) - place.holders]
        return [
            free.get(each, 0) + coming.get(each, 0) + sum([gives.get(each, 0) for gives in held]) - amount
            for each, amount in self.shape.wants
        ]

    def _minus(self, left: list[int], gives: Amounts) -> list[int]:
        """The same when one of them stays after all."""
        if self.shape.exclusive:
            return [left[0] - 1]
        return [n - gives.get(name, 0) for n, (name, _) in zip(left, self.shape.wants, strict=True)]


def highest_class(cheapest: Sequence[tuple[NodeState, Price]]) -> int:
    """The highest class of victim among nodes that are given the cheapest first, the last of them not for
    free."""
    return cheapest[-1][1].cost[0][0]


class _Alone:
    """The nodes as they are one by one, the cheapest first; more than are asked for are priced only when an attempt
    gets that far."""

    def __init__(self, offers: Offers, count: int, below: int) -> None:
        """At least `count` of them, with victims `below` a class."""
        self.most = 2 * count + 8
        self._offers = offers
        self._below = below
        self.entries = self._cheapest(count)

    def next(self, number: int) -> list[_Entry]:
        """The one behind the first so many; none when that is enough, or there are no others."""
        if number == len(self.entries) < self.most:
            self.entries = self._cheapest(number + 1)
            if number == len(self.entries):
                self.most = number
        return self.entries[number : number + 1]

    def _cheapest(self, count: int) -> list[_Entry]:
        return [_entry(place, known, 0) for place, known in self._offers.cheapest(count, self._below)]


def _one_by_one(
    search: MultiNodeSearch, alone: _Alone, begin: tuple[RunningJob, ...]
) -> tuple[set[RunningJob], set[NodeState]]:
    """Step 2: the victims, and those of their nodes that fit without them; with those in `begin` gone from the
    beginning, step 3."""
    heap = alone.entries.copy()
    number = len(heap)
    stamps: dict[NodeState, int] = {}
    chosen: set[NodeState] = set()
    gone: set[RunningJob] = set()
    fitting: set[NodeState] = set()
    leaving = begin
    while True:
        gone.update(leaving)
        for place in search.touched(leaving):
            if place in fitting:
                continue
            known = FREE if place in chosen else search.price(place, gone)
            if known is not None and not known.victims:
                fitting.add(place)
            if known is not None and place not in chosen:
                stamp = stamps[place] = stamps.get(place, 0) + 1
                heappush(heap, _entry(place, known, stamp))
        if len(chosen) == search.shape.count:
            return gone, fitting
        while True:
            while (not heap or heap[0] > alone.entries[number - 1]) and (more := alone.next(number)):
                heappush(heap, more[0])
                number += 1
            _, _, _, stamp, leaving, place = heappop(heap)
            if place not in chosen and stamp == stamps.get(place, 0):
                break
        chosen.add(place)


def _entry(place: NodeState, known: Price, stamp: int) -> _Entry:
    return known.cost, len(known.victims), place.order, stamp, known.victims, place


def _order(place: NodeState) -> int:
    return place.order


def _cost(room: MadeRoom) -> tuple[object, ...]:
    victims = room.price.victims
    return room.price.cost, len(victims), tuple(runner.order for runner in victims)
