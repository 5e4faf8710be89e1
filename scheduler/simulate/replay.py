"""The simulation itself: from one moment at which something happens to the next, until every job has ended.

At each moment: jobs end, jobs arrive, jobs start in free room; then, when a cycle is due, the planner makes room and
what is left over is given to whoever waits. Nothing depends on the order of rows, on a clock or on chance.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler.model.jobs import JobState, Level, SnapshotJob
from scheduler.preemption.ranking import Ranking
from scheduler.simulate.easy import Starter
from scheduler.simulate.machine import Machine
from scheduler.simulate.planning import Planning
from scheduler.simulate.policy import Backfill, Policy, QueueOrder, Runtimes, Scheduler
from scheduler.simulate.queue import WaitingTasks
from scheduler.simulate.tasks import Pair, SimulatedTask, pieces_of
from scheduler.simulate.trace import fault
from scheduler.simulate.workload import Work, Workload


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """What came of a workload under a policy: all its jobs, ended; `plans`: how often the planner was asked."""

    policy: Policy
    workload: Workload
    tasks: tuple[SimulatedTask, ...]
    plans: int


Watch = Callable[[int], None]
"""Called at every moment with how many jobs have arrived; what it raises ends the simulation."""


def replay(workload: Workload, policy: Policy, watch: Watch | None = None) -> SimulationOutcome:
    """Run the workload. Raises `InputError` when the policy needs limits that the trace does not have."""
    _check_limits(workload, policy)
    return _Replay(workload, policy).run(watch)


class _Replay:
    """One simulation."""

    def __init__(self, workload: Workload, policy: Policy) -> None:
        self._workload = workload
        self._policy = policy
        ranking = Ranking.of(policy.partition)
        self._tasks = tuple(_task(work, policy, ranking) for work in workload.jobs)
        machines = workload.machines
        exact = policy.runtimes is Runtimes.TRUE
        restart_s = policy.requeue.restart_s
        self._machine = Machine(machines.packing(), machines.nodes, exact=exact, restart_s=restart_s)
        self._queue = WaitingTasks()
        self._starter = Starter(self._machine, self._queue, passing=policy.scheduler is not Scheduler.FCFS)
        self._estimates = _Estimates(policy)
        self._planning: Planning | None = None
        if policy.scheduler is Scheduler.PREEMPT:
            self._planning = Planning(policy, machines, self._machine, self._queue)
            self._machine.watch(
                (task.pair for task in self._tasks),
                lambda above, below: ranking.scope(*above).class_of(*below) is not None,
            )

    def run(self, watch: Watch | None) -> SimulationOutcome:
        """From the first moment to the last."""
        coming = deque(self._tasks)
        while (now := self._next_moment(coming)) is not None:
            self._moment(now, coming)
            if watch is not None:
                watch(len(self._tasks) - len(coming))
        plans = self._planning.plans if self._planning else 0
        return SimulationOutcome(self._policy, self._workload, self._tasks, plans)

    def _next_moment(self, coming: deque[SimulatedTask]) -> int | None:
        moments = [
            self._machine.next_end(),
            coming[0].work.submit if coming else None,
            self._planning.due if self._planning else None,
        ]
        return min((moment for moment in moments if moment is not None), default=None)

    def _moment(self, now: int, coming: deque[SimulatedTask]) -> None:
        ended = self._machine.finish(now)
        for task in ended:
            self._estimates.ended(task)
        arrived: list[SimulatedTask] = []
        while coming and coming[0].work.submit == now:
            task = coming.popleft()
            self._estimates.set(task)
            self._queue.push(task, now)
            arrived.append(task)
        planning = self._planning
        grown = planning is not None and self._grow(planning, now)
        self._starter.start(now, None if ended or grown else arrived)
        if planning is None:
            return
        if (ended or arrived) and len(self._queue):
            planning.changed(now)
        if planning.due is not None and planning.due <= now and planning.run(now):
            self._starter.start(now)

    def _grow(self, planning: Planning, now: int) -> bool:
        """Shrunk jobs have their turn among those who wait, by their rank; whether any grew."""
        grown = False
        for task in planning.could_grow():
            self._starter.start(now, until=task.key)
            grown = planning.grow(task, now, self._starter.reservation) or grown
        return grown


class _Estimates:
    """How long jobs are expected to run, and the order in which they may pass that follows from it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._ended: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=2))

    def ended(self, task: SimulatedTask) -> None:
        """Remember how long a job ran."""
        if task.work.row.user:
            self._ended[task.work.row.user].append(task.work.runtime)

    def set(self, task: SimulatedTask) -> None:
        """Expect something of a job that arrives."""
        task.estimate = self._of(task.work)
        shortest = self._policy.backfill is Backfill.SHORTEST
        task.turn = (task.estimate, *task.key) if shortest else task.key

    def _of(self, work: Work) -> int:
        if self._policy.runtimes is Runtimes.TRUE:
            return work.runtime
        limit = work.row.limit or self._policy.assumed_limit_s or work.runtime
        last = self._ended.get(work.row.user, ())
        if self._policy.runtimes is Runtimes.LAST_TWO and len(last) == 2:
            return max(1, min(limit, sum(last) // 2))
        return limit


def _task(work: Work, policy: Policy, ranking: Ranking) -> SimulatedTask:
    levels = policy.user_level.of(work.row), policy.task_level.of(work.row)
    pair = _weights(ranking, levels)
    by_level = policy.order is QueueOrder.LEVEL
    key = (-pair[0], -pair[1], work.index) if by_level else (work.index,)
    pieces = pieces_of(work, policy.elastic)
    left, fixed = pieces.count * work.runtime, work.row.id in policy.spared
    return SimulatedTask(work, levels, pair, key, pieces, left=left, fixed=fixed)


def _weights(ranking: Ranking, levels: tuple[Level, Level]) -> Pair:
    user_level, task_level = levels
    job = SnapshotJob("", "", JobState.PENDING, "", user_level, task_level, 0)
    return ranking.weights(job)


def _check_limits(workload: Workload, policy: Policy) -> None:
    """Who may pass depends on when jobs are expected to end."""
    guesses = policy.runtimes is not Runtimes.TRUE and policy.scheduler is not Scheduler.FCFS
    if not guesses or policy.assumed_limit_s is not None:
        return
    unlimited: Sequence[Work] = [work for work in workload.jobs if work.row.limit is None]
    if unlimited:
        first = min(unlimited, key=lambda work: work.row.row)
        message = f"is blank, and the policy {policy.name} expects jobs to run for their limit; give it assumed_limit_s"
        raise fault(first.row.row, "time_limit_s", message)
