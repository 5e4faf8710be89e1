"""One drawn hour of a partition: who ends, who comes, who starts, and whom that costs his room.

The partition is one pool of its main resource; nodes are not looked at. At each moment at which something happens

1. jobs end, and others come;
2. who waits starts in free room, in the order of the line; who fits may pass who does not;
3. for each who still waits, the highest rank first, the first jobs in the order of stopping that he outranks are
   stopped, if they suffice; none of them is stopped that is not needed. They wait again.

Who started within the hour may be stopped in it too.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from scheduler.forecast.facts import Forecast

HORIZON_S = 3600


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
    """A waiting job. `lasts`: how long it will run; `ran_s`: how long it has run before."""

    rank: int
    units: int
    lasts: Forecast
    ran_s: int = 0


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


@dataclass(slots=True)
class _Task:
    rank: int
    units: int
    key: tuple[int, ...]
    left: int
    ran_s: int
    started: int = 0
    runs: int = 0
    """Counts its starts and stops: an end or a beginning of danger that was noted before is over."""


class Beginning:
    """What the hours of all draws of one picture begin with: by rank who may be stopped, in the order of stopping, and
    their units together; and who may be stopped later in the hour, by his moment."""

    def __init__(self, picture: RiskPicture) -> None:
        self.picture = picture
        self.victims: dict[int, list[tuple[int, int]]] = {rank: [] for rank in picture.outranks}
        self.sums = dict.fromkeys(picture.outranks, 0)
        self.safe: list[tuple[int, int, int]] = []
        for number, job in enumerate(picture.running):
            if job.safe_s == 0:
                self.victims[job.rank].append((job.ran_s, number))
                self.sums[job.rank] += job.units
            elif job.safe_s is not None and job.safe_s < HORIZON_S:
                self.safe.append((job.safe_s, number, 0))
        for victims in self.victims.values():
            victims.sort()
        heapify(self.safe)


class StopHour:
    """The hour of one draw."""

    def __init__(
        self, beginning: Beginning, lefts: Sequence[int], lasts: Sequence[int], coming: Sequence[Arrival]
    ) -> None:
        """`lefts`, `lasts`: how long each running job still runs, and each waiting one will, in this draw; seconds.
        `coming`: by their moment."""
        self._picture = picture = beginning.picture
        self._lefts = lefts
        self._free = picture.free
        self._ends: list[tuple[int, int, int]] = []
        self._safe = beginning.safe.copy()
        self._victims = {rank: victims.copy() for rank, victims in beginning.victims.items()}
        self._sums = beginning.sums.copy()
        self._waiting: dict[tuple[int, int], list[tuple[tuple[int, ...], int]]] = {}
        self._tasks: list[_Task | None] = [None] * len(picture.running)
        """Those that run at the beginning are made when something happens to them: to most of them nothing does."""
        self._coming = coming
        self._stopped: set[int] = set()
        self._set_up(lefts, lasts)

    def _set_up(self, lefts: Sequence[int], lasts: Sequence[int]) -> None:
        self._ends += [(left, number, 0) for number, left in enumerate(lefts) if left < HORIZON_S]
        heapify(self._ends)
        for place, (waiter, runs) in enumerate(zip(self._picture.waiting, lasts, strict=True)):
            key = self._key(waiter.rank, 1, place)
            self._wait(_Task(waiter.rank, waiter.units, key, runs, waiter.ran_s))

    def _task(self, number: int) -> _Task:
        task = self._tasks[number]
        if task is None:
            job = self._picture.running[number]
            key = self._key(job.rank, 0, number)
            task = self._tasks[number] = _Task(job.rank, job.units, key, self._lefts[number], job.ran_s)
        return task

    def stopped(self) -> set[int]:
        """The numbers of those of the picture's running jobs that are stopped in it."""
        coming = 0
        now = 0
        while now < HORIZON_S:
            self._begin_danger(now)
            self._end(now)
            while coming < len(self._coming) and self._coming[coming].at_s <= now:
                self._arrive(self._coming[coming], coming)
                coming += 1
            self._start(now)
            self._make_room(now)
            soon = [heap[0][0] for heap in (self._ends, self._safe) if heap]
            if coming < len(self._coming):
                soon.append(self._coming[coming].at_s)
            now = max(now + 1, min(soon, default=HORIZON_S))
        return self._stopped

    def _key(self, rank: int, kind: int, number: int) -> tuple[int, ...]:
        return (-rank, kind, number) if self._picture.by_rank else (kind, number)

    def _begin_danger(self, now: int) -> None:
        while self._safe and self._safe[0][0] <= now:
            _, number, runs = heappop(self._safe)
            task = self._task(number)
            if task.runs == runs:
                self._endanger(number, task)

    def _endanger(self, number: int, task: _Task) -> None:
        # All run on alike: who had run less when he started, and started later, stays before the others.
        insort(self._victims[task.rank], (task.ran_s - task.started, number))
        self._sums[task.rank] += task.units

    def _end(self, now: int) -> None:
        while self._ends and self._ends[0][0] <= now:
            _, number, runs = heappop(self._ends)
            task = self._tasks[number] or self._task(number)
            if task.runs == runs:
                self._leave(number, task)

    def _leave(self, number: int, task: _Task) -> None:
        """It runs no more."""
        self._free += task.units
        task.runs += 1
        place = (task.ran_s - task.started, number)
        victims = self._victims[task.rank]
        at = bisect_left(victims, place)
        if at < len(victims) and victims[at] == place:
            del victims[at]
            self._sums[task.rank] -= task.units

    def _arrive(self, arrival: Arrival, place: int) -> None:
        key = self._key(arrival.rank, 2, place)
        self._wait(_Task(arrival.rank, arrival.units, key, arrival.lasts_s, 0))

    def _wait(self, task: _Task) -> None:
        self._tasks.append(task)
        self._queue(len(self._tasks) - 1, task)

    def _queue(self, number: int, task: _Task) -> None:
        heappush(self._waiting.setdefault((task.rank, task.units), []), (task.key, number))

    def _start(self, now: int) -> None:
        while fitting := [line for (_, units), line in self._waiting.items() if line and units <= self._free]:
            self._begin(heappop(min(fitting)), now)

    def _begin(self, first: tuple[tuple[int, ...], int], now: int) -> None:
        number = first[1]
        task = self._task(number)
        self._free -= task.units
        task.started = now
        task.runs += 1
        if now + task.left < HORIZON_S:
            heappush(self._ends, (now + task.left, number, task.runs))
        if not self._picture.exempt_s:
            self._endanger(number, task)
        elif now + self._picture.exempt_s < HORIZON_S:
            heappush(self._safe, (now + self._picture.exempt_s, number, task.runs))

    def _make_room(self, now: int) -> None:
        reach = {rank: self._reach(rank) for rank in self._picture.outranks}
        for (rank, units), line in self._waiting.items():
            if units <= reach[rank] and line:
                break
        else:
            return
        lines = [(-rank, line[0], rank, units) for (rank, units), line in self._waiting.items() if line]
        for _, _, rank, units in sorted(lines):
            line = self._waiting[rank, units]
            while line and self._reach(rank) >= units:
                for number in self._needed(rank, units - self._free):
                    self._stop(number, now)
                self._begin(heappop(line), now)

    def _reach(self, rank: int) -> int:
        """So many units are free, or held by those whom a rank may have stopped."""
        sums = self._sums
        return self._free + sum([sums[lower] for lower in self._picture.outranks[rank]])

    def _needed(self, rank: int, missing: int) -> list[int]:
        """The first to be stopped who suffice, without those who are not needed."""
        found: list[int] = []
        for lower in sorted(self._picture.outranks[rank]):
            for _, number in self._victims[lower]:
                if missing <= 0:
                    break
                found.append(number)
                missing -= self._task(number).units
        needed = []
        for number in reversed(found):
            units = self._task(number).units
            if missing + units <= 0:
                missing += units
            else:
                needed.append(number)
        return needed

    def _stop(self, number: int, now: int) -> None:
        task = self._task(number)
        self._leave(number, task)
        ran = now - task.started
        task.ran_s += ran
        task.left = max(1, task.left - ran)
        if number < len(self._picture.running):
            self._stopped.add(number)
        self._queue(number, task)
