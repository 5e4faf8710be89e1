"""The simulated cluster: who runs where, what is free, and what could be had by stopping jobs of lower levels."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from scheduler.simulate.room import FreeRoom, Packing
from scheduler.simulate.tasks import Pair, SimulatedTask

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
        """When the next job ends."""
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
        """Stop a running job."""
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
