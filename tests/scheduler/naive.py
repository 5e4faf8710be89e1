"""A second, slow and simple idea of what a plan must be, to check the planner against. Shares no code with it.

Everything is worked out again from the snapshot at every question, and the best set of victims is found by trying
all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from scheduler.model.jobs import JobState, Level, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind, PlanningResult
from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules, Snapshot

LOWEST = 10_000
Amounts = Mapping[str, int]


def depth(level: Level) -> int:
    """0 is the top; nothing configured is at the bottom."""
    return LOWEST if level is None else level


def is_lower(rules: PartitionRules, victim: Level, than: Level) -> bool:
    """Whether a level is below another one, and in a lower band where there are bands."""
    if depth(victim) <= depth(than):
        return False
    if rules.bands is None:
        return True
    bands = [sorted(map(depth, band)) for band in rules.bands]
    return not any(
        band[0] <= depth(victim) <= band[-1] and band[0] <= depth(than) <= band[-1] for band in bands
    )


def tier(rules: PartitionRules, job: SnapshotJob, victim: SnapshotJob) -> int:
    """1 or 2: the tier in which a pending job may stop a running one (spec 1.4); 0 for never."""
    users = is_lower(rules, victim.user_level, job.user_level)
    tasks = is_lower(rules, victim.task_level, job.task_level)
    same_user, same_task = victim.user_level == job.user_level, victim.task_level == job.task_level
    match rules.mode:
        case Mode.USER:
            return 1 if users else 0
        case Mode.TASK:
            return 1 if tasks else 0
        case Mode.USER_THEN_TASK:
            return 1 if users else 2 if same_user and tasks else 0
        case Mode.TASK_THEN_USER:
            return 1 if tasks else 2 if same_task and users else 0


def class_of(rules: PartitionRules, job: SnapshotJob, victim: SnapshotJob) -> tuple[int, int]:
    """The larger, the more valuable: the tier, then the level that the tier is ordered by."""
    own_tier = tier(rules, job, victim)
    users_first = rules.mode in {Mode.USER, Mode.USER_THEN_TASK}
    by_user = users_first == (own_tier == 1)
    return own_tier, -depth(victim.user_level if by_user else victim.task_level)


def stoppable(snapshot: Snapshot, job: SnapshotJob) -> list[SnapshotJob]:
    """The running jobs that a pending one may stop."""
    rules = snapshot.partition
    return [
        other
        for other in snapshot.jobs
        if other.state is JobState.RUNNING
        and other.preemptable
        and snapshot.now - (other.start or 0) >= rules.exempt_s
        and not rests(snapshot, other)
        and tier(rules, job, other)
    ]


def rests(snapshot: Snapshot, job: SnapshotJob) -> bool:
    """Whether a running job is left alone because it was stopped before."""
    rules = snapshot.partition
    if rules.max_stops_per_job_hour is not None and job.stopped >= rules.max_stops_per_job_hour:
        return True
    return job.restarts > 0 and not job.rested and snapshot.now - (job.start or 0) < rules.rest_s


def ran(snapshot: Snapshot, job: SnapshotJob) -> int:
    """How long a running job has run, with the earlier runs that count."""
    return snapshot.now - (job.start or 0) + job.ran_s


def quota_use(jobs: Iterable[SnapshotJob]) -> Counter[tuple[str, Level, str]]:
    """What jobs take of what could be limited: by user (`*`: by all), task level and resource (`jobs`: how many)."""
    taken: Counter[tuple[str, Level, str]] = Counter()
    for job in jobs:
        taken[job.user, job.task_level, "jobs"] += 1
        request = job.request or Request()
        asked = [request.per_node] * request.nodes or [request.spread]
        for part in asked if job.state is JobState.PENDING else job.alloc.values():
            for resource, amount in part.items():
                taken[job.user, job.task_level, resource] += amount
                taken["*", job.task_level, resource] += amount
    return +taken


def quota_limits(rules: PartitionRules, job: SnapshotJob) -> dict[tuple[str, Level, str], int]:
    """The limits that a job is under."""
    level = -1 if job.task_level is None else job.task_level
    limits: dict[tuple[str, Level, str], int] = {}
    if level in rules.quotas:
        limits[job.user, level, "jobs"] = rules.quotas[level]
    limits |= {(job.user, level, name): n for name, n in rules.quota_amounts.get(level, {}).items()}
    return limits | {("*", level, name): n for name, n in rules.quota_totals.get(level, {}).items()}


@dataclass
class World:
    """What a plan has come to so far: who was stopped, and what was set aside for whom."""

    snapshot: Snapshot
    stopped: set[str] = field(default_factory=set)
    rooms: dict[str, Mapping[str, Amounts]] = field(default_factory=dict)
    """Rooms set aside, by job; those taken out of what is free only are in `only_free`."""
    only_free: set[str] = field(default_factory=set)

    def available(self, node: SnapshotNode, stopped: Iterable[str] = ()) -> dict[str, int]:
        """What is free or coming on a node, with further jobs stopped."""
        gone = self.stopped | set(stopped)
        have = dict(node.total)
        held = [node.held_elsewhere]
        held += [
            job.alloc.get(node.name, {})
            for job in self.snapshot.jobs
            if job.state is JobState.RUNNING and job.id not in gone
        ]
        held += [room.get(node.name, {}) for room in self.rooms.values()]
        for part in held:
            for name, amount in part.items():
                have[name] = have.get(name, 0) - amount
        return have

    def free_now(self, node: SnapshotNode) -> dict[str, int]:
        """What is free without waiting for ending jobs: who waits, or stops others, uses what is coming first."""
        coming = dict(node.coming_elsewhere)
        for job in self.snapshot.jobs:
            if job.state is JobState.COMPLETING:
                for name, amount in job.alloc.get(node.name, {}).items():
                    coming[name] = coming.get(name, 0) + amount
        waiting = [room.get(node.name, {}) for job, room in self.rooms.items() if job not in self.only_free]
        have = self.available(node)
        for name, amount in coming.items():
            used = min(amount, sum(part.get(name, 0) for part in waiting))
            have[name] = have.get(name, 0) - amount + used
        return have

    def lonely(self, node: SnapshotNode, stopped: Iterable[str] = ()) -> bool:
        """Whether nobody stays on a node, with further jobs stopped."""
        gone = self.stopped | set(stopped)
        there = (
            job
            for job in self.snapshot.jobs
            if job.state is JobState.RUNNING and job.id not in gone and node.name in job.alloc
        )
        set_aside = any(node.name in room for room in self.rooms.values())
        return not any(there) and not set_aside and not any(node.held_elsewhere.values())

    def fits(self, request: Request, stopped: Iterable[str] = ()) -> bool:
        """Whether a request fits once further jobs are stopped and ending ones gone."""
        gone = tuple(stopped)
        places = [node for node in self.snapshot.nodes if node.up and suits(request, node)]
        if request.exclusive:
            places = [node for node in places if self.lonely(node, gone)]
        rooms = [self.available(node, gone) for node in places]
        if request.nodes:
            return sum(holds(room, request.per_node) for room in rooms) >= request.nodes
        if request.parts:
            part = {name: amount // request.parts for name, amount in request.spread.items()}
            most = [min(room.get(name, 0) // n for name, n in part.items()) for room in rooms]
            return sum(max(0, count) for count in most) >= request.parts
        return all(
            sum(max(0, room.get(name, 0)) for room in rooms) >= amount
            for name, amount in request.spread.items()
        )

    def apply(self, decision: Decision) -> None:
        """Carry out a decision."""
        self.stopped |= {victim.job for victim in decision.victims}
        if decision.placement:
            self.rooms[decision.job] = decision.placement
            if decision.action is DecisionKind.START:
                self.only_free.add(decision.job)


def suits(request: Request, node: SnapshotNode) -> bool:
    """Whether a node has the features, and is not ruled out by name."""
    named = not request.only_nodes or node.name in request.only_nodes
    any_of = not request.any_of or any(one <= node.features for one in request.any_of)
    return request.features <= node.features and any_of and named and node.name not in request.not_nodes


def holds(room: Amounts, want: Amounts) -> bool:
    """Whether a room has all that is wanted."""
    return all(room.get(name, 0) >= amount for name, amount in want.items() if amount)


def sets_that_help(world: World, job: SnapshotJob) -> Iterator[tuple[SnapshotJob, ...]]:
    """Every set of victims with which a pending job fits, by trying them all."""
    candidates = [other for other in stoppable(world.snapshot, job) if other.id not in world.stopped]
    assert job.request is not None
    every = chain.from_iterable(combinations(candidates, n) for n in range(len(candidates) + 1))
    for chosen in every:
        if world.fits(job.request, [victim.id for victim in chosen]):
            yield chosen


def lowest_sufficient_class(world: World, job: SnapshotJob) -> tuple[int, int] | None:
    """The lowest class that the most valuable victim can have; None when nothing helps. (0, 0): nobody needed."""
    rules = world.snapshot.partition
    highest = [
        max((class_of(rules, job, victim) for victim in chosen), default=(0, 0))
        for chosen in sets_that_help(world, job)
    ]
    return min(highest) if highest else None


def applied(snapshot: Snapshot, plan: PlanningResult) -> Snapshot:
    """The snapshot after a plan was carried out: victims held, beneficiaries running, ending jobs gone."""
    decisions = {decision.job: decision for decision in plan.decisions}
    stopped = {victim.job for decision in plan.decisions for victim in decision.victims}
    waits = any(decision.action is DecisionKind.WAIT for decision in plan.decisions)
    jobs = []
    for job in snapshot.jobs:
        decision = decisions.get(job.id)
        if job.id in stopped:
            request = Request(spread={"cpu": 1})
            jobs.append(
                replace(
                    job, state=JobState.PENDING, start=None, alloc={}, request=request, blocked="it gave way"
                )
            )
        elif decision is not None and decision.placement:
            jobs.append(
                replace(
                    job, state=JobState.RUNNING, start=snapshot.now, alloc=decision.placement, promised={}
                )
            )
        elif job.state is not JobState.COMPLETING or not waits:
            jobs.append(job)
    if waits or any(job.state is JobState.COMPLETING for job in jobs):
        jobs = [job for job in jobs if job.state is not JobState.COMPLETING]
    return replace(snapshot, jobs=tuple(jobs))
