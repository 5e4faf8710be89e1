"""One drawn hour of a partition: who ends, who comes, who starts, and whom that costs his room.

The partition is one pool of its main resource; nodes are not looked at. At each moment at which something happens

1. jobs end, and others come;
2. who waits starts in free room, in the order of the line; who fits may pass who does not;
3. for each who still waits, the highest rank first, the first jobs in the order of stopping that he outranks are
   stopped, if they suffice; none of them is stopped that is not needed. They wait again.

Who started within the hour may be stopped in it too.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush

from scheduler.forecast.stop_picture import HORIZON_S, Arrival, RiskPicture, Runner, Waiter

MANY = 1 << 32
"""More than there are jobs in an hour: what goes before a job in an order is counted in these."""


class Beginning:
    """What the hours of all draws of one picture begin with.

    Numbers are those of the running jobs, then of the waiting ones, then of who comes: also the order in which they
    are served. `victims`: by rank who may be stopped, in the order of stopping (`_place`), and `sums`, their units
    together. `safe`: who may be stopped later in the hour, by his moment. `lines`: who waits, by rank and units.
    """

    def __init__(self, picture: RiskPicture) -> None:
        self.picture = picture
        jobs: list[Runner | Waiter] = [*picture.running, *picture.waiting]
        self.ranks, self.units = [job.rank for job in jobs], [job.units for job in jobs]
        self.ran_s = [job.ran_s for job in jobs]
        self.victims: dict[int, list[int]] = {rank: [] for rank in picture.outranks}
        self.sums = dict.fromkeys(picture.outranks, 0)
        self.lower = {rank: tuple(sorted(lower)) for rank, lower in picture.outranks.items()}
        self.safe: list[tuple[int, int]] = []
        for number, job in enumerate(picture.running):
            if job.safe_s == 0:
                self.victims[job.rank].append(_place(job.ran_s, number))
                self.sums[job.rank] += job.units
            elif job.safe_s is not None and job.safe_s < HORIZON_S:
                self.safe.append((job.safe_s, number))
        for victims in self.victims.values():
            victims.sort()
        self.safe.sort()
        self.lines: dict[tuple[int, int], list[int]] = {}
        for number in range(len(picture.running), len(jobs)):
            line = self.lines.setdefault((self.units[number], self.ranks[number]), [])
            line.append(self.turn(self.ranks[number], number))

    def turn(self, rank: int, number: int) -> int:
        """The smaller is served first; its number is what is left of it by `MANY`."""
        return number - rank * MANY if self.picture.by_rank else number


def _place(ran_s: int, number: int) -> int:
    """The smaller is stopped first; its number is what is left of it by `MANY`."""
    return ran_s * MANY + number


class StopHour:
    """The hour of one draw."""

    def __init__(
        self, beginning: Beginning, lefts: Sequence[int], lasts: Sequence[int], coming: Sequence[Arrival]
    ) -> None:
        """`lefts`, `lasts`: how long each running job still runs, and each waiting one will, in this draw; seconds.
        `coming`: by their moment."""
        self._beginning, self._coming = beginning, coming
        self._running = len(lefts)
        self._free = beginning.picture.free
        self._ranks = beginning.ranks + [each.rank for each in coming]
        self._units = beginning.units + [each.units for each in coming]
        self._ran_s = beginning.ran_s + [0] * len(coming)
        self._left = [*lefts, *lasts, *(each.lasts_s for each in coming)]
        self._started = [0] * len(self._left)
        self._runs = [0] * len(self._left)
        """Counts the starts and stops of each: an end or a beginning of danger that was noted before is over."""
        self._first_ends = sorted((left, number) for number, left in enumerate(lefts) if left < HORIZON_S)
        self._first_ends.reverse()
        self._first_safe = beginning.safe[::-1]
        self._ends: list[tuple[int, int, int]] = []
        self._safe: list[tuple[int, int, int]] = []
        self._victims = {rank: victims.copy() for rank, victims in beginning.victims.items()}
        self._sums = beginning.sums.copy()
        self._stopped: set[int] = set()
        self._lines = {key: line.copy() for key, line in beginning.lines.items()}
        self._by_units = [(*key, self._lines[key]) for key in sorted(self._lines)]

    def stopped(self) -> set[int]:
        """The numbers of those of the picture's running jobs that are stopped in it."""
        coming, now = 0, 0
        while now < HORIZON_S:
            self._begin_danger(now)
            self._end(now)
            while coming < len(self._coming) and self._coming[coming].at_s <= now:
                self._wait(len(self._left) - len(self._coming) + coming)
                coming += 1
            self._start(now)
            self._make_room(now)
            soon = HORIZON_S if coming == len(self._coming) else self._coming[coming].at_s
            if self._first_ends:
                soon = min(soon, self._first_ends[-1][0])
            if self._first_safe:
                soon = min(soon, self._first_safe[-1][0])
            for heap in (self._ends, self._safe):
                if heap:
                    soon = min(soon, heap[0][0])
            now = max(now + 1, soon)
        return self._stopped

    def _begin_danger(self, now: int) -> None:
        while self._first_safe and self._first_safe[-1][0] <= now:
            number = self._first_safe.pop()[1]
            if not self._runs[number]:
                self._endanger(number)
        while self._safe and self._safe[0][0] <= now:
            _, number, runs = heappop(self._safe)
            if self._runs[number] == runs:
                self._endanger(number)

    def _endanger(self, number: int) -> None:
        # All run on alike: who had run less when he started, and started later, stays before the others.
        rank = self._ranks[number]
        insort(self._victims[rank], _place(self._ran_s[number] - self._started[number], number))
        self._sums[rank] += self._units[number]

    def _end(self, now: int) -> None:
        while self._first_ends and self._first_ends[-1][0] <= now:
            number = self._first_ends.pop()[1]
            if not self._runs[number]:
                self._leave(number)
        while self._ends and self._ends[0][0] <= now:
            _, number, runs = heappop(self._ends)
            if self._runs[number] == runs:
                self._leave(number)

    def _leave(self, number: int) -> bool:
        """It runs no more; whether it might have been stopped."""
        rank, units = self._ranks[number], self._units[number]
        self._free += units
        self._runs[number] += 1
        place = _place(self._ran_s[number] - self._started[number], number)
        victims = self._victims[rank]
        at = bisect_left(victims, place)
        if at == len(victims) or victims[at] != place:
            return False
        del victims[at]
        self._sums[rank] -= units
        return True

    def _wait(self, number: int) -> None:
        rank, units = self._ranks[number], self._units[number]
        line = self._lines.get((units, rank))
        if line is None:
            line = self._lines[units, rank] = []
            insort(self._by_units, (units, rank, line), key=_size)
        heappush(line, self._beginning.turn(rank, number))

    def _start(self, now: int) -> None:
        """Who fits, in turn."""
        while True:
            free, first = self._free, None
            for units, _, line in self._by_units:
                if units > free:
                    break
                if line and (first is None or line[0] < first[0]):
                    first = line
            if first is None:
                return
            self._begin(heappop(first) % MANY, now)

    def _begin(self, number: int, now: int) -> None:
        self._free -= self._units[number]
        self._started[number] = now
        self._runs[number] += 1
        end, safe = now + self._left[number], self._beginning.picture.exempt_s
        if end < HORIZON_S:
            heappush(self._ends, (end, number, self._runs[number]))
        if not safe:
            self._endanger(number)
        elif now + safe < HORIZON_S:
            heappush(self._safe, (now + safe, number, self._runs[number]))

    def _make_room(self, now: int) -> None:
        reach = {rank: self._reach(rank) for rank in self._sums}
        most = max(reach.values(), default=0)
        for units, rank, line in self._by_units:
            if units > most:
                return
            if line and units <= reach[rank]:
                break
        else:
            return
        for rank, _, units, line in sorted(
            (-rank, line[0], units, line) for units, rank, line in self._by_units if line
        ):
            while line and self._reach(-rank) >= units:
                for number in self._needed(-rank, units - self._free):
                    self._stop(number, now)
                self._begin(heappop(line) % MANY, now)

    def _reach(self, rank: int) -> int:
        """So many units are free, or held by those whom a rank may have stopped."""
        reach, sums = self._free, self._sums
        for lower in self._beginning.lower[rank]:
            reach += sums[lower]
        return reach

    def _needed(self, rank: int, missing: int) -> list[int]:
        """The first to be stopped who suffice, without those who are not needed."""
        found: list[int] = []
        for lower in self._beginning.lower[rank]:
            for place in self._victims[lower]:
                if missing <= 0:
                    break
                found.append(place % MANY)
                missing -= self._units[place % MANY]
        needed = []
        for number in reversed(found):
            units = self._units[number]
            if missing + units <= 0:
                missing += units
            else:
                needed.append(number)
        return needed

    def _stop(self, number: int, now: int) -> None:
        self._leave(number)
        ran = now - self._started[number]
        self._ran_s[number] += ran
        self._left[number] = max(1, self._left[number] - ran)
        if number < self._running:
            self._stopped.add(number)
        self._wait(number)


def _size(line: tuple[int, int, list[int]]) -> int:
    return line[0]
