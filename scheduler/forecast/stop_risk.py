"""The chance that a running job is stopped within the next hour.

1. **Who comes**: as in hours that have passed. Each draw mixes a few of them, each whole but thinned, so that jobs that
   came together come together again; recent hours count more, those of the same time of day, and those before which
   about as many came as before now.
2. **One draw** plays the hour: who ends, who comes, who starts, and whom that costs his room; node by node
   (`stop_hour_nodes`), or where too many run or it is not known who runs where, in one pool (`stop_hour`).
3. **The chance** of a job is in how many draws it is stopped. What limits and all else of the policy do to it is
   corrected by what came of earlier chances (`StopCalibration`).
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush, nsmallest

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.draws import drawn
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_hour import MANY, Beginning, StopHour
from scheduler.forecast.stop_picture import HORIZON_S, Arrival, RiskPicture

# --- What is free on the nodes of one drawn hour, and what more room on them costs ---
# On a node those are stopped who come first in the order of stopping, if they suffice; nobody who is not needed. Nodes
# are compared by the most valuable rank that has to go, how long those of it have run together, how many they are,
# then the next rank; then by what would be left over. On which nodes there is room to be had is kept by kind of
# request, and so are prices; both are looked at again only where something has changed, prices only when they are
# asked for.


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


# --- One drawn hour of a partition, node by node ---
# As the hour in one pool (`stop_hour`), but who waits wants so many units on each of so many nodes: eight units that
# are free on eight nodes are no room for who wants a whole node. Who fits starts where the least is left over; for
# who does not, nodes are taken one after the other, the cheapest first.


Line = tuple[int, int, int, list[int]]
"""Units on a node, nodes, the rank, and who waits for that."""


class NodeBeginning(Beginning):
    """What the hours of all draws of one picture begin with, on its nodes."""

    def __init__(self, picture: RiskPicture) -> None:
        super().__init__(picture)
        self.rooms = NodeRooms(picture)
        for number, job in enumerate(picture.running):
            if job.safe_s == 0:
                self.rooms.endanger(number, job.rank, job.ran_s)


class NodeHour(StopHour):
    """The hour of one draw."""

    def __init__(
        self, beginning: NodeBeginning, lefts: Sequence[int], lasts: Sequence[int], coming: Sequence[Arrival]
    ) -> None:
        super().__init__(beginning, lefts, lasts, coming)
        picture = beginning.picture
        self._rooms = beginning.rooms.fork()
        jobs = [*(len(job.on) for job in picture.running), *(job.nodes for job in picture.waiting)]
        self._nodes = [max(1, nodes) for nodes in (*jobs, *(each.nodes for each in coming))]
        self._kinds: dict[tuple[int, int, int], list[int]] = {}
        self._in_line: list[Line] = []
        for number in range(self._running, self._running + len(lasts)):
            self._wait(number)

    def _share(self, number: int) -> int:
        return -(-self._units[number] // self._nodes[number])

    def _endanger(self, number: int) -> None:
        self._rooms.endanger(number, self._ranks[number], self._ran_before(number))
        super()._endanger(number)

    def _leave(self, number: int) -> bool:
        spared = super()._leave(number)
        if spared:
            self._rooms.spare(number, self._ranks[number], self._ran_before(number))
        self._rooms.leave(number)
        return spared

    def _wait(self, number: int) -> None:
        kind = self._share(number), self._nodes[number], self._ranks[number]
        line = self._kinds.get(kind)
        if line is None:
            line = self._kinds[kind] = []
            insort(self._in_line, (*kind, line), key=_kind)
        heappush(line, self._beginning.turn(kind[2], number))

    def _start(self, now: int) -> None:
        """Who fits, in turn."""
        while True:
            first: Line | None = None
            for each in self._in_line:
                share, nodes, _, line = each
                if (
                    line
                    and (first is None or line[0] < first[3][0])
                    and share * nodes <= self._free
                    and self._rooms.fits(share, nodes)
                ):
                    first = each
            if first is None:
                return
            share, nodes, _, line = first
            self._place(line, self._rooms.tightest(share, nodes), now)

    def _place(self, line: list[int], nodes: Sequence[int], now: int) -> None:
        number = heappop(line) % MANY
        self._rooms.take(number, nodes, self._share(number))
        self._begin(number, now)

    def _make_room(self, now: int) -> None:
        waits = [(-rank, line[0], share, nodes, line) for share, nodes, rank, line in self._in_line if line]
        for lower, _, share, nodes, line in sorted(waits):
            while line and self._may_reach(share, nodes, -lower):
                for number in self._to_stop(-lower, share, nodes):
                    self._stop(number, now)
                self._place(line, self._rooms.tightest(share, nodes), now)

    def _to_stop(self, rank: int, share: int, nodes: int) -> list[int]:
        """Whom room on so many nodes costs; they hold nothing there any more."""
        rooms = self._rooms
        taken: set[int] = set()
        gone: dict[int, Held] = {}
        while len(taken) < nodes:
            node, victims = rooms.cheapest((rank, share), taken)
            taken.add(node)
            for number in victims:
                gone[number] = rooms.remove(number, self._ranks[number], self._ran_before(number))
        if nodes > 1:
            # Who holds several nodes may have made others needless, who were taken before; the most valuable first.
            for number in sorted(gone, key=self._worth, reverse=True):
                if rooms.fits_beside(gone[number], share, nodes):
                    rooms.put_back(number, gone.pop(number), self._ranks[number], self._ran_before(number))
        return list(gone)

    def _worth(self, number: int) -> tuple[int, int, int]:
        """The larger is stopped later."""
        return self._ranks[number], self._ran_before(number), number

    def _ran_before(self, number: int) -> int:
        """How long it had run at the beginning of the hour, if it has run since."""
        return self._ran_s[number] - self._started[number]

    def _may_reach(self, share: int, nodes: int, rank: int) -> bool:
        """Whether there are nodes enough, with those stopped whom a rank may have stopped."""
        return share * nodes <= self._reach(rank) and self._rooms.reach((rank, share)) >= nodes


def _kind(line: Line) -> tuple[int, int, int]:
    return line[:3]


HOURS_OF_DAY = 24
MOST_DRAWS, LEAST_DRAWS = 200, 25
JOBS_DRAWN, JOBS_DRAWN_ON_NODES = 250_000, 60_000
"""So many jobs are drawn in all, as far as the numbers of draws allow it: a few seconds of one core."""
MOST_ON_NODES = 2500
"""With more running jobs the hour is played in one pool."""
MIXED = 3
"""Of so many past hours a draw takes each job with the chance of one in so many."""
FADING = 0.6
"""An hour that is n hours ago counts n to the power of minus this."""
SAME_TIME = 4.0
"""An hour of about the same time of day counts so many times as much."""
BEFORE, ALIKE = (1, 3), 1.5
"""An hour before which, in the last one and the last three, n times as many or as few came as before now, counts less:
1 / n to the power of one divided by `ALIKE`, for both. Bursts go on, and quiet goes on."""
MOST_HOURS = 28 * HOURS_OF_DAY
PRIOR = 1000.0
"""A chance as it was drawn counts as much as so many jobs whose end is known."""
EDGES = (0.0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85)


@dataclass(frozen=True, slots=True)
class PastHours:
    """Who came in each hour up to now, the oldest first; hours in which nobody came count too."""

    hours: Sequence[Sequence[Arrival]] = ()

    @property
    def known(self) -> Sequence[Sequence[Arrival]]:
        """The last `MOST_HOURS`."""
        return self.hours[-MOST_HOURS:]

    def weights(self) -> Floats:
        """How likely each of those is taken."""
        ages = np.arange(len(self.known), 0, -1)
        apart = np.minimum(ages % HOURS_OF_DAY, HOURS_OF_DAY - ages % HOURS_OF_DAY)
        weights = np.where(apart <= 1, SAME_TIME, 1.0) * ages**-FADING * np.exp(-self._unlike() / ALIKE)
        return np.asarray(weights / weights.sum())

    def _unlike(self) -> Floats:
        """How far the hours before each were from those before now: by how many came, as logarithms of ratios."""
        counts = np.array([len(hour) for hour in self.hours[-MOST_HOURS - max(BEFORE) :]], float)
        known, apart = len(self.known), np.zeros(len(self.known))
        for span in BEFORE:
            # Before the first hour it was as in the first.
            sums = np.concatenate(
                [np.zeros(1), np.cumsum(np.concatenate([np.repeat(counts[:1], span), counts]))]
            )
            means = (sums[span:] - sums[:-span]) / span
            levels = np.log1p(means[-known - 1 :]) if known else np.zeros(1)
            apart += np.abs(levels[:-1] - levels[-1])
        return apart

    def drawn(self, count: int, rng: np.random.Generator) -> list[list[Arrival]]:
        """Who comes in so many draws of the next hour, each by his moment."""
        if not self.hours:
            return [[] for _ in range(count)]
        chosen = rng.choice(len(self.known), (count, MIXED), p=self.weights())
        return [self._mixed([self.known[hour] for hour in hours], rng) for hours in chosen]

    @staticmethod
    def _mixed(hours: Sequence[Sequence[Arrival]], rng: np.random.Generator) -> list[Arrival]:
        found = [each for hour in hours for each, chance in zip(hour, rng.random(len(hour)), strict=True)
                 if chance * MIXED < 1]  # fmt: skip
        return sorted(found, key=lambda each: each.at_s)


def draws_for(picture: RiskPicture) -> int:
    """So many draws are played where nobody says how many."""
    jobs = JOBS_DRAWN_ON_NODES if _on_nodes(picture) else JOBS_DRAWN
    return max(LEAST_DRAWS, min(MOST_DRAWS, jobs // max(1, len(picture.running))))


def _on_nodes(picture: RiskPicture) -> bool:
    return bool(picture.nodes) and len(picture.running) <= MOST_ON_NODES


def stop_chances(picture: RiskPicture, past: PastHours, *, draws: int | None = None, seed: int = 0) -> Floats:
    """The chance of each running job, in their order. The same input and seed give the same answer."""
    count = len(picture.running)
    if not count:
        return np.zeros(0)
    draws = draws or draws_for(picture)
    rng = np.random.default_rng(seed)
    lefts = _whole(drawn([job.left for job in picture.running], draws, rng)).T.tolist()
    lasts = _whole(drawn([job.lasts for job in picture.waiting], draws, rng)).T.tolist()
    stopped, play = np.zeros(count), hour_of(picture)
    for left, last, coming in zip(lefts, lasts, past.drawn(draws, rng), strict=True):
        stopped[list(play(left, last, coming).stopped())] += 1
    return np.asarray(stopped / draws)


def hour_of(picture: RiskPicture) -> Callable[[list[int], list[int], Sequence[Arrival]], StopHour]:
    """Makes the hour of a draw: of how long each running job still runs, each waiting one will, and who comes. On the
    nodes where it is known who runs on which, and where that does not take too long; else in one pool."""
    if _on_nodes(picture):
        return partial(NodeHour, NodeBeginning(picture))
    return partial(StopHour, Beginning(picture))


def _whole(seconds: Floats) -> NDArray[np.int64]:
    return np.asarray(np.maximum(seconds, 1), np.int64)


class StopCalibration:
    """Chances, corrected by how often jobs of about the same chance were stopped."""

    def __init__(self, bins: Sequence[Sequence[int]] = ()) -> None:
        """`bins`: what an earlier one had learned."""
        self._jobs = [jobs for jobs, _ in bins] if len(bins) == len(EDGES) else [0] * len(EDGES)
        self._stopped = [stopped for _, stopped in bins] if len(bins) == len(EDGES) else [0] * len(EDGES)

    @property
    def bins(self) -> list[list[int]]:
        """What was learned: of each class, how many jobs, and how many of them were stopped."""
        return [list(pair) for pair in zip(self._jobs, self._stopped, strict=True)]

    def came(self, chance: float, *, stopped: bool) -> None:
        """An hour is over for a job of which this was drawn."""
        bin_ = self._bin(chance)
        self._jobs[bin_] += 1
        self._stopped[bin_] += stopped

    def corrected(self, chance: float) -> float:
        """The chance as it has come true."""
        bin_ = self._bin(chance)
        return (self._stopped[bin_] + PRIOR * chance) / (self._jobs[bin_] + PRIOR)

    def _bin(self, chance: float) -> int:
        return sum(chance >= edge for edge in EDGES[1:])
