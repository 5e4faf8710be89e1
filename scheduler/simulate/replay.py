"""The simulation itself: from one moment at which something happens to the next, until every job has ended.

At each moment: jobs end, jobs arrive, jobs start in free room; then, when a cycle is due, the planner makes room and
what is left over is given to whoever waits. Nothing depends on the order of rows, on a clock or on chance.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from scheduler.model.jobs import Elastic, JobState, Level, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import STOPPED, DecidedVictim, Decision, How
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.planner import plan
from scheduler.preemption.ranking import Ranking
from scheduler.simulate.easy import EasyReservation, Starter
from scheduler.simulate.machine import Machine, Pair, SimulatedTask, TaskPieces, WaitingTasks, pieces_of
from scheduler.simulate.policy import Backfill, Policy, QueueOrder, Runtimes, Scheduler
from scheduler.simulate.room import FreeRoom, indexes
from scheduler.simulate.trace import Machines, Work, Workload, fault

# --- Asking the real planner to make room, when that can matter, and doing what it says ---
# Of the waiting jobs it is shown those that would fit if all jobs that they may stop were gone, of each kind at most
# as many as would fit then. Of the running jobs it is shown those that may be stopped for one of these; what the rest
# hold counts as held elsewhere. In one of a hundred small random workloads somebody is stopped a little earlier or
# later than if it saw all. Jobs that it would only start in free room are left to `easy`.


HOUR_S = 3600


class Planning:
    """The planner's part of one simulation. `due`: when it has to be asked next (None: not until something changes)."""

    def __init__(self, policy: Policy, machines: Machines, machine: Machine, queue: WaitingTasks) -> None:
        self._policy = policy
        self._rules = _with_rests(policy)
        self._machine = machine
        self._queue = queue
        self._showing = _Showing(machines, machine, self._rules)
        self._stops: deque[tuple[int, str]] = deque()
        self._shrunk: dict[int, SimulatedTask] = {}
        self.due: int | None = None
        self.plans = 0

    def changed(self, now: int) -> None:
        if self.due is None or self.due > now:
            self.due = -(-now // self._policy.cycle_s) * self._policy.cycle_s

    def run(self, now: int) -> bool:
        self.due = None
        waiting = list(self._who_could_get_room())
        if not waiting:
            return False
        shown = {task.work.row.id: task for task in waiting}
        above = {task.pair for task in waiting}
        below = [entry[2] for entry in self._machine.running]
        if not self._rules.patience_s:  # else all of them: it foresees when room comes free
            below = [task for task in below if any(self._machine.may_stop(pair, task) for pair in above)]
        made = plan(self._showing.snapshot(now, self._rules_at(now), waiting, below))
        self.plans += 1
        running = {task.work.row.id: task for task in below}
        done = [self._do(decision, shown, running, now) for decision in made.decisions if decision.victims]
        if done:
            self._machine.early = True
            self.changed(now + 1)
        else:
            self._ask_again(now, waiting, below)
        return bool(done)

    def could_grow(self) -> list[SimulatedTask]:
        """The shrunk jobs that there is room for, in order."""
        self._shrunk = {i: task for i, task in self._shrunk.items() if 0 < task.held < task.pieces.count}
        return sorted(filter(self._room_for, self._shrunk.values()), key=lambda task: task.key)

    def grow(self, task: SimulatedTask, now: int, kept: EasyReservation | None) -> bool:
        """Ask what a shrunk job gets back, beside what is kept for a higher one; whether it got anything."""
        nodes = self._room_for(task)
        if kept is not None and task.expected_end > kept.at:
            nodes = kept.allowed(self._machine.room, nodes, task.pieces.packed)
        if not nodes:
            return False
        self.plans += 1
        made = plan(self._showing.snapshot(now, self._rules, (), [task], nodes))
        for decision in made.decisions:
            more = self._showing.set_of(decision.nodes)
            if more & ~nodes:
                raise RuntimeError(f"the plan lets {decision.job} grow where there is no room at {now}")
            gained = decision.units or len(decision.nodes)
            self._machine.resize(task, task.nodes | more, task.held + gained, now)
            task.planned = None
        return bool(made.decisions)

    def _room_for(self, task: SimulatedTask) -> int:
        """The nodes that have room for a piece more of a job."""
        fitting = self._machine.room.fitting(task.pieces.packed)
        return fitting & task.nodes if task.pieces.units else fitting & ~task.nodes

    def _who_could_get_room(self) -> Iterator[SimulatedTask]:
        for (pair, (wants, count)), group in self._queue.groups.items():
            room = self._machine.reach.get(pair)
            if room is None or room.fitting(wants).bit_count() < count:
                continue
            most = _times(room, self._machine, group[0][1]) // count
            yield from nsmallest(most, (task for _, task in group), key=lambda task: task.key)

    def _do(
        self, decision: Decision, shown: dict[str, SimulatedTask], running: dict[str, SimulatedTask], now: int
    ) -> Decision:
        for victim in decision.victims:
            self._give_way(running[victim.job], victim, now)
        task = shown[decision.job]
        nodes = self._showing.set_of(decision.nodes)
        if nodes & ~self._machine.room.fitting(task.work.wants):
            raise RuntimeError(f"the plan gives {decision.job} nodes that have no room for it at {now}")
        self._queue.remove(task)
        self._machine.start(task, nodes, now)
        return decision

    def _give_way(self, task: SimulatedTask, victim: DecidedVictim, now: int) -> None:
        if victim.how in STOPPED:
            self._machine.stop(task, now, self._policy.requeue.checkpoint_s)
            task.fixed = task.stops >= self._policy.max_stops_per_job
            self._queue.push(task, now)
            self._stops.append((now, self._showing.user(task)))
        elif victim.how in {How.NODES, How.UNITS}:
            task.shrinks += 1
            nodes = task.nodes & ~self._showing.set_of(victim.nodes)
            self._machine.resize(task, nodes, task.held - victim.units - len(victim.nodes), now)
            self._shrunk[task.index] = task
        else:
            raise RuntimeError(f"{victim.how.value} is not simulated")
        task.planned = None

    def _rules_at(self, now: int) -> PartitionRules:
        """The rules with the stops of the last hour."""
        if self._rules.max_stops_per_hour is None and self._rules.max_stops_per_user_hour is None:
            return self._rules
        while self._stops and self._stops[0][0] <= now - HOUR_S:
            self._stops.popleft()
        by_user = Counter(user for _, user in self._stops)
        return replace(self._rules, stopped=len(self._stops), stopped_by_user=by_user)

    def _ask_again(self, now: int, waiting: Iterable[SimulatedTask], below: Iterable[SimulatedTask]) -> None:
        """Nothing was decided: when would time alone change that? Then is the next time to ask."""
        rules = self._rules
        moments = [task.work.submit + rules.min_wait_s for task in waiting]
        moments += [task.stopped_at + rules.cool_down_s for task in waiting if task.stopped_at is not None]
        moments += [task.started + rules.exempt_s for task in below]
        moments += [task.started + rules.rest_s for task in below if task.stops]
        if rules.max_stops_per_job_hour is not None:
            moments += [at + HOUR_S for task in below for at in task.stops_at]
        moments += [at + HOUR_S for at, _ in self._stops]
        moments += [now + 1] if rules.patience_s else []
        later = [moment for moment in moments if moment > now]
        if later:
            self.changed(min(later))


def _with_rests(policy: Policy) -> PartitionRules:
    """The partition's rules; a job that has come back rests no longer than until it has saved its progress again."""
    rules, requeue = policy.partition, policy.requeue
    if not requeue.checkpoint_s:
        return rules
    return replace(rules, rest_s=min(rules.rest_s, requeue.restart_s + requeue.checkpoint_s))


@dataclass(frozen=True, slots=True)
class _Names:
    names: tuple[str, ...]
    index: dict[str, int]


class _Showing:
    """The simulation as the planner sees it. What does not change from plan to plan is kept."""

    def __init__(self, machines: Machines, machine: Machine, rules: PartitionRules) -> None:
        names = tuple(f"n{i + 1}" for i in range(machines.nodes))
        self._names = _Names(names, {name: i for i, name in enumerate(names)})
        self._total = machines.per_node
        self._machine = machine
        self._predicts = rules.patience_s > 0
        self._counts_stops = rules.max_stops_per_job_hour is not None
        self._nodes: dict[tuple[int, int, bool], SnapshotNode] = {}

    def set_of(self, names: Iterable[str]) -> int:
        """Nodes as a set, from their names."""
        return sum(1 << self._names.index[name] for name in names)

    def user(self, task: SimulatedTask) -> str:
        return task.work.row.user or "unknown"

    def snapshot(
        self,
        now: int,
        rules: PartitionRules,
        waiting: Iterable[SimulatedTask],
        below: Sequence[SimulatedTask],
        up: int = -1,
    ) -> Snapshot:
        """What the planner is shown. `up`: the nodes where something may start."""
        held = self._held_by_others(below)
        nodes = tuple(self._node(i, amount, up=bool(up >> i & 1)) for i, amount in enumerate(held))
        jobs = [self._waiting(task) for task in waiting] + [self._running(task, now) for task in below]
        return Snapshot(now, rules, nodes, tuple(jobs))

    def _held_by_others(self, below: Iterable[SimulatedTask]) -> list[int]:
        """By node, what jobs hold (packed) that the planner is not shown."""
        held = [0] * len(self._names.names)
        for free, mask in self._machine.room.masks.items():
            taken = self._machine.packing.total - free
            for i in indexes(mask) if taken else ():
                held[i] = taken
        for task in below:
            for i in indexes(task.nodes):
                held[i] -= task.holds
        return held

    def _node(self, i: int, held: int, *, up: bool) -> SnapshotNode:
        node = self._nodes.get((i, held, up))
        if node is None:
            elsewhere = self._machine.packing.unpack(held) if held else {}
            node = SnapshotNode(self._names.names[i], up=up, total=self._total, held_elsewhere=elsewhere)
            self._nodes[i, held, up] = node
        return node

    def _held(self, task: SimulatedTask) -> dict[str, int]:
        """What a running job has on each of its nodes; like its request, without what it has nothing of."""
        held = self._machine.packing.unpack(task.holds)
        return {name: amount for name, amount in held.items() if amount}

    def _waiting(self, task: SimulatedTask) -> SnapshotJob:
        work = task.work
        return SnapshotJob(
            id=work.row.id,
            name=work.row.name,
            state=JobState.PENDING,
            user=self.user(task),
            user_level=task.levels[0],
            task_level=task.levels[1],
            submit=work.submit,
            request=Request(nodes=work.nodes, per_node=work.amounts),
            restarts=task.stops,
            stopped_at=task.stopped_at,
        )

    def _running(self, task: SimulatedTask, now: int) -> SnapshotJob:
        if task.planned is None:
            work, pieces = task.work, task.pieces
            names = [self._names.names[i] for i in indexes(task.nodes)]
            task.planned = SnapshotJob(
                id=work.row.id,
                name=work.row.name,
                state=JobState.RUNNING,
                user=self.user(task),
                user_level=task.levels[0],
                task_level=task.levels[1],
                submit=work.submit,
                start=task.started,
                alloc=dict.fromkeys(names, self._held(task)),
                request=Request(only_nodes=frozenset(names)) if pieces.units else None,
                restarts=task.stops,
                unit=pieces.amounts if pieces.units else {},
                elastic=_elastic(pieces) if pieces.elastic else None,
                preemptable=not task.fixed,
                predicted_end=task.expected_end if self._predicts else None,
                ran_s=task.ran_s,
            )
        if not self._counts_stops or not task.stops:
            return task.planned
        return replace(task.planned, stopped=sum(at > now - HOUR_S for at in task.stops_at))


def _elastic(pieces: TaskPieces) -> Elastic:
    if pieces.units:
        return Elastic(min_units=pieces.least, wish_units=pieces.count)
    return Elastic(min_nodes=pieces.least, wish_nodes=pieces.count, per_node=pieces.amounts)


def _times(room: FreeRoom, machine: Machine, task: SimulatedTask) -> int:
    """How many times what a job wants of a node fits on all nodes together, several times on one too."""
    wants = task.work.amounts
    result = 0
    for free, mask in room.masks.items():
        has = machine.packing.unpack(free)
        result += mask.bit_count() * min(has[name] // amount for name, amount in wants.items())
    return result


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
        if task.work.row.user:
            self._ended[task.work.row.user].append(task.work.runtime)

    def set(self, task: SimulatedTask) -> None:
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
