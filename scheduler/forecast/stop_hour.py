"""One drawn hour of a partition: who ends, who comes, who starts, and whom that costs his room.

Who waits wants so many units of the main resource on each of so many nodes. At each moment at which something happens

1. jobs end, and others come;
2. who waits starts in free room, in the order of the line, where least is left over; who fits may pass who does not;
3. for each who still waits, the highest rank first, nodes are made free one after the other, the cheapest first, if
   there are enough. On a node those are stopped who come first in the order of stopping; nobody who is not needed.
   Nodes are compared by the most valuable rank that has to go, how long those of it have run together, how many they
   are, then the next rank; then by what would be left over. Stopped jobs wait again.

Who started within the hour may be stopped in it too. Where it is not known who runs on which node the partition is one
node that has all units.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from heapq import heappop, heappush

from scheduler.forecast.facts import Forecast

HORIZON_S = 3600
"""The hour, in seconds."""
MANY = 1 << 32
"""More than there are jobs in an hour: what goes before a job in an order is counted in these."""
BY_RANK = MANY * MANY

Held = Sequence[tuple[int, int]]
"""Nodes, and units on each."""
Cost = tuple[tuple[tuple[int, int, int], ...], int, int, int]
"""By rank, the highest first, how long the stopped have run together and how many they are; what is left over; the
number of the most valuable of them; the node."""
Line = tuple[int, int, int, list[int]]
"""Units on a node, nodes, the rank, and who waits for that."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A running job: its rank (a number that `outranks` knows), its units of the main resource, how long it still runs.

    `ran_s`: how long it has run, earlier runs too. `safe_s`: for how long it is still not stopped; None: never.
    `on`: how many units it holds on which nodes (their numbers), where that is known.
    """

    rank: int
    units: int
    left: Forecast
    ran_s: int = 0
    safe_s: int | None = 0
    on: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Waiter:
    """A waiting job. `lasts`: how long it will run; `ran_s`: how long it has run before; `nodes`: as of `Arrival`."""

    rank: int
    units: int
    lasts: Forecast
    ran_s: int = 0
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that came in an hour: how many seconds after its beginning, and how long it ran, in seconds.

    `nodes`: on so many nodes its units lie, in equal parts.
    """

    at_s: int
    rank: int
    units: int
    lasts_s: int
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class RiskPicture:
    """What is known now. `free`: units of the main resource. `waiting`: in the order of the line, those who may start.

    `outranks`: by rank, the ranks that it may have stopped; the larger of two numbers is served first. `by_rank`:
    whether the line goes by ranks. `exempt_s`: how long a job runs before it may be stopped. `nodes`: the free units of
    each node, where it is known who runs on which.
    """

    running: Sequence[Runner]
    free: int
    waiting: Sequence[Waiter]
    outranks: Mapping[int, frozenset[int]]
    by_rank: bool = False
    exempt_s: int = 0
    nodes: Sequence[int] = ()


class _Room:
    """Units on each node; `levels`: on how many nodes there are just so many."""

    def __init__(self, free: Sequence[int]) -> None:
        self.free, self.levels = list(free), dict(Counter(free))

    def copy(self) -> "_Room":
        room = copy(self)
        room.free, room.levels = self.free.copy(), self.levels.copy()
        return room

    def fitting(self, share: int) -> int:
        """On how many nodes there are so many units or more."""
        return sum([count for units, count in self.levels.items() if units >= share])

    def shift(self, node: int, by: int) -> None:
        units, levels = self.free[node], self.levels
        if levels[units] == 1:
            del levels[units]
        else:
            levels[units] -= 1
        units += by
        self.free[node] = units
        levels[units] = levels.get(units, 0) + 1

    def tightest(self, share: int, nodes: int) -> list[int]:
        """So many nodes that have so much: those with the least left over first."""
        found: list[int] = []
        for units in sorted(self.levels):
            node = -1
            for _ in range(min(self.levels[units], nodes - len(found)) if units >= share else 0):
                node = self.free.index(units, node + 1)
                found.append(node)
        return found


class NodeRooms:
    """The nodes of one hour; they change as it is played.

    `reach`: by rank that may stop others, what is free or held by those others. `worths`: who may be stopped, the
    smaller first. `victims`: the same by node, with what each holds there.
    """

    def __init__(
        self, free: Sequence[int], on: Iterable[Held], outranks: Mapping[int, frozenset[int]]
    ) -> None:
        self._lower = outranks
        self.on: dict[int, Held] = dict(enumerate(on))
        self.worths: dict[int, int] = {}
        self.victims: list[list[tuple[int, int]]] = [[] for _ in free]
        self.changed: list[int] = []
        self.costs: dict[tuple[int, int], tuple[int, list[Cost | None]]] = {}
        """By rank and units on a node: after how many changes, and on each node what room costs."""
        self.first: NodeRooms | None = None
        room = _Room(free)
        self.set_rooms(room, {rank: room.copy() for rank, lower in outranks.items() if lower})

    def set_rooms(self, free: _Room, reach: dict[int, _Room]) -> None:
        self.free, self.reach, self._rooms = free, reach, [free, *reach.values()]
        self._above = {
            rank: [reach[other] for other in reach if rank in self._lower[other]] for rank in self._lower
        }
        self._others = {
            rank: [free, *(reach[other] for other in reach if rank not in self._lower[other])]
            for rank in self._lower
        }

    def fork(self) -> "NodeRooms":
        """The same at the beginning of another hour."""
        fork = copy(self)
        fork.on, fork.worths = self.on.copy(), self.worths.copy()
        fork.victims = [victims.copy() for victims in self.victims]
        fork.changed, fork.costs, fork.first = [], {}, self
        fork.set_rooms(self.free.copy(), {rank: room.copy() for rank, room in self.reach.items()})
        return fork

    def fits_beside(self, held: Held, share: int, nodes: int) -> bool:
        """Whether so many nodes have so much free when this is held again."""
        free = self.free.free
        return (
            self.free.fitting(share) - sum([share <= free[node] < share + units for node, units in held])
            >= nodes
        )

    def may_reach(self, rank: int, share: int, nodes: int) -> bool:
        """Whether there are nodes enough, with those stopped whom a rank may have stopped."""
        return self.reach.get(rank, self.free).fitting(share) >= nodes

    def take(self, number: int, held: Held) -> None:
        self.on[number] = held
        for node, units in held:
            for room in self._rooms:
                room.shift(node, -units)
        self.changed += [node for node, _ in held]

    def endanger(self, number: int, worth: int) -> None:
        self.worths[number] = worth
        above = self._above[worth // BY_RANK]
        for node, units in self.on.get(number, ()):
            insort(self.victims[node], (worth, units))
            for room in above:
                room.shift(node, units)
            self.changed.append(node)

    def leave(self, number: int) -> Held:
        """A job holds nothing any more; what it held."""
        held, worth = self.on.pop(number, ()), self.worths.pop(number, None)
        rooms = self._rooms if worth is None else self._others[worth // BY_RANK]
        for node, units in held:
            if worth is not None:
                victims = self.victims[node]
                del victims[bisect_left(victims, (worth, units))]
            for room in rooms:
                room.shift(node, units)
            self.changed.append(node)
        return held

    def cheapest(self, rank: int, share: int, without: Collection[int]) -> tuple[int, list[int]]:
        """The node on which room costs a rank least, and who has to be stopped for it; there must be one."""
        costs = [cost for cost in self.priced(rank, share) if cost is not None and cost[-1] not in without]
        node = min(costs)[-1]
        return node, [worth % MANY for worth, _ in self._needed(node, rank, share)]

    def priced(self, rank: int, share: int) -> list[Cost | None]:
        seen, costs = self.costs.get((rank, share), (0, None))
        if costs is None and self.first is not None:
            costs = self.first.priced(rank, share).copy()
        if costs is None:
            costs = [self._cost(node, rank, share) for node in range(len(self.victims))]
        else:
            for node in set(self.changed[seen:]):
                costs[node] = self._cost(node, rank, share)
        self.costs[rank, share] = len(self.changed), costs
        return costs

    def _cost(self, node: int, rank: int, share: int) -> Cost | None:
        if self.reach.get(rank, self.free).free[node] < share:
            return None
        left, sums, needed = (
            self.free.free[node] - share,
            dict[int, tuple[int, int]](),
            self._needed(node, rank, share),
        )
        for worth, units in needed:
            ran, count = sums.get(worth // BY_RANK, (0, 0))
            sums[worth // BY_RANK] = ran + worth % BY_RANK // MANY, count + 1
            left += units
        number = needed[0][0] % MANY if needed else 0
        return tuple([(rank, *each) for rank, each in sums.items()]), left, number, node

    def _needed(self, node: int, rank: int, share: int) -> list[tuple[int, int]]:
        """The first who suffice, without those who are not needed, the most valuable first."""
        missing, lower, found = share - self.free.free[node], self._lower[rank], list[tuple[int, int]]()
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


class HourStart:
    """What the hours of all draws of one picture begin with.

    Numbers are those of the running jobs, then of the waiting ones, then of who comes: also the order in which they
    are served. `safe`: who may be stopped later in the hour, by his moment.
    """

    def __init__(self, picture: RiskPicture) -> None:
        self.picture = picture
        jobs: list[Runner | Waiter] = [*picture.running, *picture.waiting]
        self.ranks, self.units = [job.rank for job in jobs], [job.units for job in jobs]
        self.ran_s = [job.ran_s for job in jobs]
        self.in_pool = not picture.nodes
        if self.in_pool:
            self.nodes = [1] * len(jobs)
            free, on = [picture.free], [[(0, job.units)] for job in picture.running]
        else:
            self.nodes = [max(1, job.nodes if isinstance(job, Waiter) else len(job.on)) for job in jobs]
            free, on = list(picture.nodes), [list(job.on) for job in picture.running]
        self.rooms = NodeRooms(free, on, picture.outranks)
        self.safe: list[tuple[int, int]] = []
        for number, job in enumerate(picture.running):
            if job.safe_s == 0:
                self.rooms.endanger(number, worth_of(job.rank, job.ran_s, number))
            elif job.safe_s is not None and job.safe_s < HORIZON_S:
                self.safe.append((job.safe_s, number))
        self.safe.sort(reverse=True)


def worth_of(rank: int, ran_s: int, number: int) -> int:
    """The smaller is stopped first. Who started within the hour may have run less than nothing at its beginning."""
    return rank * BY_RANK + (ran_s + HORIZON_S) * MANY + number


class StopHour:
    def __init__(
        self, start: HourStart, lefts: Sequence[int], lasts: Sequence[int], coming: Sequence[Arrival]
    ) -> None:
        """`lefts`, `lasts`: how long each running job still runs, and each waiting one will, in this draw; seconds.
        `coming`: by their moment."""
        self._picture, self._coming, self._running = start.picture, coming, len(lefts)
        self._rooms = start.rooms.fork()
        self._ranks = start.ranks + [each.rank for each in coming]
        self._units = start.units + [each.units for each in coming]
        self._nodes = start.nodes + [1 if start.in_pool else max(1, each.nodes) for each in coming]
        self._ran_s = start.ran_s + [0] * len(coming)
        self._left = [*lefts, *lasts, *(each.lasts_s for each in coming)]
        self._started = [0] * len(self._left)
        self._runs = [0] * len(self._left)
        """Counts the starts and stops of each: an end or a beginning of danger that was noted before is over."""
        self._first_ends = sorted((left, number) for number, left in enumerate(lefts) if left < HORIZON_S)
        self._first_ends.reverse()
        self._first_safe = start.safe.copy()
        self._ends: list[tuple[int, int, int]] = []
        self._safe: list[tuple[int, int, int]] = []
        self._stopped: set[int] = set()
        self._lines: dict[tuple[int, int, int], Line] = {}
        self._by_share: list[Line] = []
        for number in range(self._running, self._running + len(lasts)):
            self._wait(number)

    def stopped(self) -> set[int]:
        """The numbers of those of the picture's running jobs that are stopped in it."""
        coming, now = 0, 0
        while now < HORIZON_S:
            self._happen(self._first_safe, self._safe, now, self._endanger)
            self._happen(self._first_ends, self._ends, now, self._leave)
            while coming < len(self._coming) and self._coming[coming].at_s <= now:
                self._wait(len(self._left) - len(self._coming) + coming)
                coming += 1
            self._start(now)
            self._make_room(now)
            soon = HORIZON_S if coming == len(self._coming) else self._coming[coming].at_s
            for first in (self._first_ends, self._first_safe):
                if first:
                    soon = min(soon, first[-1][0])
            for heap in (self._ends, self._safe):
                if heap:
                    soon = min(soon, heap[0][0])
            now = max(now + 1, soon)
        return self._stopped

    def _happen(
        self,
        first: list[tuple[int, int]],
        heap: list[tuple[int, int, int]],
        now: int,
        tell: Callable[[int], object],
    ) -> None:
        """What is due of the first runs (the last of `first` is the next), and of those that began in this hour."""
        while first and first[-1][0] <= now:
            number = first.pop()[1]
            if not self._runs[number]:
                tell(number)
        while heap and heap[0][0] <= now:
            _, number, runs = heappop(heap)
            if self._runs[number] == runs:
                tell(number)

    def _endanger(self, number: int) -> None:
        self._rooms.endanger(number, self._worth(number))

    def _worth(self, number: int) -> int:
        # All run on alike: who had run less when he started, and started later, stays before the others.
        return worth_of(self._ranks[number], self._ran_s[number] - self._started[number], number)

    def _leave(self, number: int) -> None:
        self._runs[number] += 1
        self._rooms.leave(number)

    def _wait(self, number: int) -> None:
        rank, nodes = self._ranks[number], self._nodes[number]
        key = -(-self._units[number] // nodes), nodes, rank
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = (*key, [])
            insort(self._by_share, line, key=lambda line: line[:3])
        # Its number is what is left of it by `MANY`.
        heappush(line[-1], number - rank * MANY if self._picture.by_rank else number)

    def _start(self, now: int) -> None:
        free = self._rooms.free
        while True:
            first, most = None, max(free.levels)
            for line in self._by_share:
                share, nodes, _, turns = line
                if share > most:
                    break
                if turns and (first is None or turns[0] < first[-1][0]) and free.fitting(share) >= nodes:
                    first = line
            if first is None:
                return
            self._place(first, now)

    def _place(self, line: Line, now: int) -> None:
        share, nodes, _, turns = line
        number = heappop(turns) % MANY
        self._rooms.take(number, [(node, share) for node in self._rooms.free.tightest(share, nodes)])
        self._started[number] = now
        self._runs[number] += 1
        end, safe = now + self._left[number], self._picture.exempt_s
        if end < HORIZON_S:
            heappush(self._ends, (end, number, self._runs[number]))
        if not safe:
            self._endanger(number)
        elif now + safe < HORIZON_S:
            heappush(self._safe, (now + safe, number, self._runs[number]))

    def _make_room(self, now: int) -> None:
        may_reach = self._rooms.may_reach
        lines = [line for line in self._lines.values() if line[-1]]
        if not any(may_reach(rank, share, nodes) for share, nodes, rank, _ in lines):
            return
        for line in sorted(lines, key=lambda line: (-line[2], line[-1][0])):
            share, nodes, rank, turns = line
            while turns and may_reach(rank, share, nodes):
                self._stop(rank, share, nodes, now)
                self._place(line, now)

    def _stop(self, rank: int, share: int, nodes: int, now: int) -> None:
        """Those whom room on so many nodes costs."""
        rooms = self._rooms
        taken: set[int] = set()
        gone: dict[int, Held] = {}
        while len(taken) < nodes:
            node, victims = rooms.cheapest(rank, share, taken)
            taken.add(node)
            for number in victims:
                gone[number] = rooms.leave(number)
        if nodes > 1:
            # Who holds several nodes may have made others needless, who were taken before; the most valuable first.
            for number in sorted(gone, key=self._worth, reverse=True):
                if rooms.fits_beside(gone[number], share, nodes):
                    rooms.take(number, gone.pop(number))
                    self._endanger(number)
        for number in gone:
            self._runs[number] += 1
            ran = now - self._started[number]
            self._ran_s[number] += ran
            self._left[number] = max(1, self._left[number] - ran)
            if number < self._running:
                self._stopped.add(number)
            self._wait(number)
