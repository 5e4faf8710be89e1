"""The simulated cluster: jobs while they wait and run, who waits, who runs where, what is free and could be had."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from scheduler.model.jobs import Level, SnapshotJob
from scheduler.model.resources import Amounts
from scheduler.simulate.policy import ElasticRule
from scheduler.simulate.room import FreeRoom, Packing
from scheduler.simulate.trace import Work

# --- One job of a simulation while it waits and runs: what is left to do, what it holds, and what stops cost it.
#
# A job consists of equal pieces: its nodes, or units on its one node. Work is counted in piece-seconds: a job of n
# pieces and r seconds has n · r to do, and does as much in a second as it holds pieces (so one that was shrunk takes
# longer). All numbers are integers.


Pair = tuple[int, int]
"""A job's weights on the axes of the partition's mode."""

CORRECTIONS = (60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000)
"""By how much an expected end that has passed is put off, time after time (as in Tsafrir, Etsion, Feitelson 2007)."""


@dataclass(frozen=True, slots=True)
class TaskPieces:
    """What a job consists of: `count` pieces of `amounts` (`packed`), of which it keeps `least` or is stopped.

    `units`: they are all on one node; else each is on a node of its own.
    """

    count: int
    least: int
    packed: int
    amounts: Amounts
    units: bool

    @property
    def elastic(self) -> bool:
        return self.least < self.count


def pieces_of(work: Work, rule: ElasticRule | None) -> TaskPieces:
    """The pieces of a job under the rule of a policy."""
    nodes = work.nodes
    if rule is None or not rule.covers(work.row):
        return TaskPieces(nodes, nodes, work.wants, work.amounts, units=False)
    count = work.amounts.get(rule.unit or "", 0)
    if nodes == 1 and count > 1 and not any(amount % count for amount in work.amounts.values()):
        each = {name: amount // count for name, amount in work.amounts.items()}
        return TaskPieces(count, rule.least(count), work.wants // count, each, units=True)
    return TaskPieces(nodes, rule.least(nodes), work.wants, work.amounts, units=False)


@dataclass(slots=True, eq=False)
class SimulatedTask:
    """A job and its run.

    `key`: its place in the queue; `turn`: its place among those who may pass the first. `estimate`: how long it is
    expected to run. `left`: work still to do. `nodes` (a set, as in `room`) and `held` (how many pieces) are what it
    has. `since`: up to when its work is counted. `delay`: how many seconds of its start still pass without work.
    `fixed`: it is never a victim. `planned`: how the planner sees its run, once it has been asked.

    `ran_s`: how long its earlier runs took that count, because what they did was saved; of others the last. `stops_at`:
    when it was stopped.

    Told at the end: `waited`: seconds in the queue, all together. `occupied`: piece-seconds held. `lost`: work done
    that a stop threw away. `restarting`: piece-seconds of delays. `idle`: piece-seconds of last seconds that there was
    no work for. So `occupied` is its work plus these three. `spans`: from when until when it held how many pieces on
    which nodes, nodes first.
    """

    work: Work
    levels: tuple[Level, Level]
    pair: Pair
    key: tuple[int, ...]
    pieces: TaskPieces
    left: int
    turn: tuple[int, ...] = ()
    estimate: int = 1
    queued: bool = False
    queued_at: int = 0
    nodes: int = 0
    held: int = 0
    started: int = 0
    since: int = 0
    at_start: int = 0
    delay: int = 0
    end: int = 0
    expected_end: int = 0
    overdue: int = 0
    fixed: bool = False
    planned: SnapshotJob | None = None
    stops_at: list[int] = field(default_factory=list)
    ran_s: int = 0
    first_start: int | None = None
    finished: int | None = None
    waited: int = 0
    stops: int = 0
    shrinks: int = 0
    occupied: int = 0
    lost: int = 0
    restarting: int = 0
    idle: int = 0
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def index(self) -> int:
        """Its place in the one order of jobs."""
        return self.work.index

    @property
    def total(self) -> int:
        return self.pieces.count * self.work.runtime

    @property
    def holds(self) -> int:
        """What it has on each of its nodes, packed."""
        return self.pieces.packed * self.held if self.pieces.units else self.pieces.packed

    @property
    def stopped_at(self) -> int | None:
        """When it was last stopped."""
        return self.stops_at[-1] if self.stops_at else None

    def begin(self, nodes: int, now: int, restart_s: int) -> None:
        self.waited += now - self.queued_at
        self.first_start = now if self.first_start is None else self.first_start
        self.nodes, self.held = nodes, self.pieces.count
        self.started = self.since = now
        self.at_start = self.left
        self.delay = restart_s if self.stops else 0
        self.overdue = 0
        self._expect_end(now)

    def settle(self, now: int) -> None:
        elapsed = now - self.since
        if not elapsed:
            return
        delayed = min(self.delay, elapsed)
        done = min(self.left, (elapsed - delayed) * self.held)
        self.delay -= delayed
        self.left -= done
        self.occupied += elapsed * self.held
        self.restarting += delayed * self.held
        self.idle += (elapsed - delayed) * self.held - done
        self.spans.append((self.since, now, self.nodes, self.held))
        self.since = now

    def resize(self, nodes: int, held: int, now: int) -> None:
        self.settle(now)
        before = self.held
        self.nodes, self.held = nodes, held
        self._expect_end(now)
        # Whoever expects an end expects it later by as much as the job is slower now.
        self.expected_end = now + -(-max(1, self.expected_end - now) * before // held)

    def stop(self, now: int, checkpoint_s: int | None) -> None:
        """Be stopped: back to what was saved. The job has to be queued again by the caller."""
        self.settle(now)
        done = self.at_start - self.left
        saved = done
        if checkpoint_s is None:
            saved = 0
        elif checkpoint_s:
            step = checkpoint_s * self.pieces.count
            saved = done // step * step
        self.left += done - saved
        self.lost += done - saved
        ran = now - self.started
        self.ran_s = ran if checkpoint_s is None else self.ran_s + ran
        self.stops += 1
        self.stops_at.append(now)
        self.nodes = self.held = 0

    def finish(self, now: int) -> None:
        self.settle(now)
        self.finished = now
        self.nodes = self.held = 0

    def put_off(self, now: int) -> None:
        """It runs longer than expected: expect it to end later."""
        self.planned = None
        while self.expected_end <= now:
            step = CORRECTIONS[min(self.overdue, len(CORRECTIONS) - 1)]
            self.overdue += 1
            self.expected_end += step

    def _expect_end(self, now: int) -> None:
        self.end = now + self.delay + -(-self.left // self.held)


# --- Who waits: in order, and grouped by what they ask for: those who ask for the same fit or do not fit together.


Ask = tuple[int, int]
"""What is wanted on a node (packed), and how many nodes."""
GroupKey = tuple[Pair, Ask]
Entry = tuple[tuple[int, ...], SimulatedTask]


class WaitingTasks:
    """The jobs that wait. `groups`: by weights and ask, each in the order in which they may pass; none is empty."""

    def __init__(self) -> None:
        self.groups: dict[GroupKey, list[Entry]] = {}
        self._order: list[Entry] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, task: SimulatedTask, now: int) -> None:
        task.queued, task.queued_at = True, now
        self._count += 1
        insort(self.groups.setdefault(_group(task), []), (task.turn, task))
        heappush(self._order, (task.key, task))

    def remove(self, task: SimulatedTask) -> None:
        task.queued = False
        self._count -= 1
        group = self.groups[_group(task)]
        del group[bisect_left(group, (task.turn,))]
        if not group:
            del self.groups[_group(task)]

    def head(self) -> SimulatedTask | None:
        order = self._order
        while order and not order[0][1].queued:
            heappop(order)
        return order[0][1] if order else None


def _group(task: SimulatedTask) -> GroupKey:
    return task.pair, (task.work.wants, task.work.nodes)


# --- The simulated cluster: who runs where, what is free, and what could be had by stopping jobs of lower levels.


Outranks = Callable[[Pair, Pair], bool]
"""Whether jobs of the first pair may stop jobs of the second."""


class Machine:
    """The state of one simulation between two moments. `exact`: expected ends are the true ones.

    `reach`: for every pair of weights that may stop others, what is free or held by those others. `early`: something
    came free before it was expected, since this was last set to False.
    """

    def __init__(self, packing: Packing, nodes: int, *, exact: bool, restart_s: int = 0) -> None:
        self.packing = packing
        self.room = FreeRoom.empty(packing, nodes)
        self.reach: dict[Pair, FreeRoom] = {}
        self.running: list[tuple[int, int, SimulatedTask]] = []
        self.early = False
        self._outranks: dict[tuple[Pair, Pair], bool] = {}
        self._ends: list[tuple[int, int, SimulatedTask]] = []
        self._exact = exact
        self._restart_s = restart_s

    def watch(self, pairs: Iterable[Pair], outranks: Outranks) -> None:
        """Keep `reach` for these pairs, those of all jobs; before anything runs."""
        pairs = sorted(set(pairs))
        self._outranks = {(above, below): outranks(above, below) for above in pairs for below in pairs}
        for above in pairs:
            if any(self._outranks[above, below] for below in pairs):
                self.reach[above] = self.room.copy()

    def next_end(self) -> int | None:
        ends = self._ends
        while ends and (ends[0][2].end != ends[0][0] or not ends[0][2].held):
            heappop(ends)
        return ends[0][0] if ends else None

    def expects_end(self, task: SimulatedTask, now: int) -> int:
        """When a job would be expected to end if it started now."""
        run = -(-task.left // task.pieces.count) if self._exact else task.estimate
        return now + run + (self._restart_s if task.stops else 0)

    def start(self, task: SimulatedTask, nodes: int, now: int) -> None:
        """Start a job on just these nodes, which must have the room."""
        task.expected_end = self.expects_end(task, now)
        task.begin(nodes, now, self._restart_s)
        self._hold(task, 1)
        self._expect(task)

    def finish(self, now: int) -> list[SimulatedTask]:
        """End all jobs that end now, in the order of jobs."""
        ended = []
        while self.next_end() == now:
            task = heappop(self._ends)[2]
            self._release(task, now)
            task.finish(now)
            ended.append(task)
        return ended

    def stop(self, task: SimulatedTask, now: int, checkpoint_s: int | None) -> None:
        self._release(task, now)
        task.stop(now, checkpoint_s)

    def resize(self, task: SimulatedTask, nodes: int, held: int, now: int) -> None:
        """A running job goes on with so many pieces on these nodes."""
        self._forget(task)
        self._hold(task, -1)
        task.resize(nodes, held, now)
        self._hold(task, 1)
        self.early = True
        if self._exact:
            task.expected_end = task.end
        self._expect(task)

    def put_off(self, now: int) -> bool:
        """Expect a later end of jobs that should have ended; whether there were any."""
        late = []
        while self.running and self.running[0][0] <= now:
            late.append(self.running.pop(0)[2])
        for task in late:
            task.put_off(now)
            insort(self.running, (task.expected_end, task.index, task))
        return bool(late)

    def may_stop(self, above: Pair, task: SimulatedTask) -> bool:
        """Whether a job with these weights may have this running job stopped."""
        return not task.fixed and self._outranks[above, task.pair]

    def _release(self, task: SimulatedTask, now: int) -> None:
        self._forget(task)
        self._hold(task, -1)
        self.early = self.early or task.expected_end > now

    def _hold(self, task: SimulatedTask, sign: int) -> None:
        """What a job has is taken (1) or given back (-1)."""
        nodes, by = task.nodes, -sign * task.holds
        self.room.shift(nodes, by)
        for above, room in self.reach.items():
            if not self.may_stop(above, task):
                room.shift(nodes, by)

    def _expect(self, task: SimulatedTask) -> None:
        insort(self.running, (task.expected_end, task.index, task))
        heappush(self._ends, (task.end, task.index, task))

    def _forget(self, task: SimulatedTask) -> None:
        del self.running[bisect_left(self.running, (task.expected_end, task.index))]
