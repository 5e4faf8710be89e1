"""What is free on the nodes of one drawn hour, and what more room on them costs.

On a node those are stopped who come first in the order of stopping, if they suffice; nobody who is not needed. Nodes
are compared by the most valuable rank that has to go, how long those of it have run together, how many they are, then
the next rank; then by what would be left over. On which nodes there is room to be had is kept by kind of request, and
so are prices; both are looked at again only where something has changed, prices only when they are asked for.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Sequence
from copy import copy
from heapq import heapify, heappop, heappush, nsmallest

from scheduler.forecast.stop_hour import MANY
from scheduler.forecast.stop_picture import HORIZON_S, RiskPicture

Cost = tuple[tuple[tuple[int, int, int], ...], int, int, int]
"""By rank, the highest first, how long the stopped have run together and how many they are; what is left over; the
number of the most valuable of them; the node."""
Kind = tuple[int, int]
"""A rank, and units on a node."""
Held = Sequence[tuple[int, int]]
"""Nodes, and units on each."""
BY_RANK = MANY * MANY


def _worth(rank: int, ran_s: int, number: int) -> int:
    """The smaller is stopped first. Who started within the hour may have run less than nothing at its beginning."""
    return rank * BY_RANK + (ran_s + HORIZON_S) * MANY + number


class KindRooms:
    """Where room for a kind can be had, and what it costs there."""

    def __init__(self, able: Sequence[bool], heap: Sequence[Cost], costs: Sequence[Cost | None]) -> None:
        self.able, self.count = list(able), sum(able)
        self.heap, self.costs = list(heap), list(costs)
        self.seen = self.priced = 0
        """So many changes of nodes it knows, and has looked at prices for."""

    def copy(self) -> "KindRooms":
        """An independent one, at the beginning."""
        return KindRooms(self.able, self.heap, self.costs)

    def set(self, node: int, cost: Cost | None) -> None:
        """A node costs so much now."""
        if cost != self.costs[node]:
            self.costs[node] = cost
            if cost is not None:
                heappush(self.heap, cost)

    def cheapest(self, without: Collection[int]) -> int:
        """The cheapest node; there must be one."""
        heap = self.heap
        passed: list[Cost] = []
        while (cost := heap[0])[-1] in without or self.costs[cost[-1]] != cost:
            heappop(heap)
            if cost[-1] in without and self.costs[cost[-1]] == cost:
                passed.append(cost)
        for each in passed:
            heappush(heap, each)
        return cost[-1]


class NodeRooms:
    """The nodes of one hour; they change as it is played."""

    def __init__(self, picture: RiskPicture) -> None:
        self._outranks = picture.outranks
        self.free = list(picture.nodes)
        self.on: dict[int, Held] = {n: job.on for n, job in enumerate(picture.running)}
        self.victims: list[list[tuple[int, int]]] = [[] for _ in picture.nodes]
        """By node, in the order of stopping, and what each holds there."""
        self.held = {rank: [0] * len(picture.nodes) for rank in picture.outranks}
        """By rank and node, what its victims hold."""
        self.levels: dict[int, set[int]] = {}
        for node, free in enumerate(self.free):
            self.levels.setdefault(free, set()).add(node)
        self.changed: list[int] = []
        self.kinds: dict[Kind, KindRooms] = {}
        self.first: NodeRooms | None = None

    def fork(self) -> "NodeRooms":
        """The same at the beginning of another hour; nothing may have changed yet but who is in danger."""
        fork = copy(self)
        fork.free, fork.on = self.free.copy(), self.on.copy()
        fork.victims = [victims.copy() for victims in self.victims]
        fork.held = {rank: held.copy() for rank, held in self.held.items()}
        fork.levels = {free: nodes.copy() for free, nodes in self.levels.items()}
        fork.changed, fork.kinds, fork.first = [], {}, self
        return fork

    def fits(self, share: int, nodes: int) -> bool:
        """Whether so many nodes have so much free."""
        return sum([len(there) for free, there in self.levels.items() if free >= share]) >= nodes

    def tightest(self, share: int, nodes: int) -> list[int]:
        """So many nodes that have so much free: those with the least left over first."""
        found: list[int] = []
        for free in sorted(self.levels):
            if free >= share and len(found) < nodes:
                found += nsmallest(nodes - len(found), self.levels[free])
        return found

    def take(self, number: int, nodes: Sequence[int], share: int) -> None:
        """A job has so much on each of these nodes."""
        self.on[number] = [(node, share) for node in nodes]
        for node in nodes:
            self._shift(node, -share)

    def leave(self, number: int) -> None:
        """A job runs no more; it was no victim, or is none any more."""
        for node, units in self.on.pop(number, ()):
            self._shift(node, units)

    def endanger(self, number: int, rank: int, ran_s: int) -> None:
        """A job may be stopped from now on; `ran_s`: at the beginning of the hour."""
        for node, units in self.on.get(number, ()):
            insort(self.victims[node], (_worth(rank, ran_s, number), units))
            self.held[rank][node] += units
            self.changed.append(node)

    def spare(self, number: int, rank: int, ran_s: int) -> None:
        """A job may not be stopped any more."""
        worth = _worth(rank, ran_s, number)
        for node, units in self.on.get(number, ()):
            del self.victims[node][bisect_left(self.victims[node], (worth, units))]
            self.held[rank][node] -= units
            self.changed.append(node)

    def remove(self, number: int, rank: int, ran_s: int) -> Held:
        """A victim holds nothing any more; what it held."""
        held = self.on.get(number, ())
        self.spare(number, rank, ran_s)
        self.leave(number)
        return held

    def put_back(self, number: int, held: Held, rank: int, ran_s: int) -> None:
        """A victim that was removed is there again."""
        self.on[number] = held
        for node, units in held:
            self._shift(node, -units)
        self.endanger(number, rank, ran_s)

    def fits_beside(self, held: Held, share: int, nodes: int) -> bool:
        """Whether so many nodes have so much free when this is held again."""
        fitting = sum([len(there) for free, there in self.levels.items() if free >= share])
        return fitting - sum([share <= self.free[node] < share + units for node, units in held]) >= nodes

    def reach(self, kind: Kind) -> int:
        """On how many nodes room for a kind can be had."""
        return self.rooms(kind).count

    def cheapest(self, kind: Kind, without: Collection[int]) -> tuple[int, list[int]]:
        """The node on which room for a kind costs least, and who has to be stopped for it; there must be one."""
        rooms = self.rooms(kind)
        if rooms.priced < len(self.changed):
            for node in set(self.changed[rooms.priced :]):
                rooms.set(node, self._cost(node, kind))
            rooms.priced = len(self.changed)
        node = rooms.cheapest(without)
        return node, [worth % MANY for worth, _ in self._needed(node, kind)]

    def rooms(self, kind: Kind) -> KindRooms:
        """Where room for a kind can be had now."""
        known = self.kinds.get(kind)
        if known is None:
            known = self.kinds[kind] = self.first.rooms(kind).copy() if self.first else self._priced(kind)
        if known.seen < len(self.changed):
            able = known.able
            for node in self.changed[known.seen :]:
                now = self._able(node, kind)
                known.count += now - able[node]
                able[node] = now
            known.seen = len(self.changed)
        return known

    def _priced(self, kind: Kind) -> KindRooms:
        nodes = range(len(self.free))
        costs = [self._cost(node, kind) for node in nodes]
        heap = [cost for cost in costs if cost is not None]
        heapify(heap)
        rooms = KindRooms([self._able(node, kind) for node in nodes], heap, costs)
        rooms.seen = rooms.priced = len(self.changed)
        return rooms

    def _shift(self, node: int, units: int) -> None:
        free = self.free[node]
        self.levels[free].discard(node)
        self.free[node] = free + units
        self.levels.setdefault(free + units, set()).add(node)
        self.changed.append(node)

    def _able(self, node: int, kind: Kind) -> bool:
        room, share = self.free[node], kind[1]
        for rank in self._outranks[kind[0]]:
            room += self.held[rank][node]
        return room >= share

    def _cost(self, node: int, kind: Kind) -> Cost | None:
        if not self._able(node, kind):
            return None
        left, sums, needed = self.free[node] - kind[1], dict[int, tuple[int, int]](), self._needed(node, kind)
        for worth, units in needed:
            ran, count = sums.get(worth // BY_RANK, (0, 0))
            sums[worth // BY_RANK] = ran + worth % BY_RANK // MANY, count + 1
            left += units
        number = needed[0][0] % MANY if needed else 0
        return tuple([(rank, *each) for rank, each in sums.items()]), left, number, node

    def _needed(self, node: int, kind: Kind) -> list[tuple[int, int]]:
        """The first who suffice, without those who are not needed, the most valuable first."""
        missing, lower, found = kind[1] - self.free[node], self._outranks[kind[0]], list[tuple[int, int]]()
        for victim in self.victims[node]:
            if missing <= 0:
                break
            if victim[0] // BY_RANK in lower:
                found.append(victim)
                missing -= victim[1]
        needed = []
        for victim in reversed(found):
            if missing + victim[1] <= 0:
                missing += victim[1]
            else:
                needed.append(victim)
        return needed
