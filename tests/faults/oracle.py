"""What became of a story: judged by the cluster's own record and the database, never by what Giveway believes."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from scheduler.adapters.simulator.jobs import HeldBy, SimJob
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.adapters.simulator.state import What
from scheduler.model.jobs import JobState
from tests.faults.worlds import GRACE_S, START, Stage, World

STOPS = frozenset({What.STOPPED, What.RECOVERED})


@dataclass
class Verdict:
    """What was lost. All lists are empty when all is well; each entry says in words what happened."""

    double_stops: list[str] = field(default_factory=list)
    lost_plans: list[str] = field(default_factory=list)
    stuck_jobs: list[str] = field(default_factory=list)
    rough: list[str] = field(default_factory=list)
    """Jobs that were stopped without their checkpoint signal, or too soon after it."""
    below_minimum: list[str] = field(default_factory=list)
    not_back: list[str] = field(default_factory=list)
    broken_audit: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(asdict(self).values())


@dataclass(frozen=True)
class Line:
    """One line of the cluster's own record."""

    at: int
    what: str
    job: str
    start: int
    restarts: int
    nodes: int = 0

    @property
    def run(self) -> tuple[str, int, int]:
        """Which run of which job."""
        return (self.job, self.start, self.restarts)


def judge(stage: Stage) -> Verdict:
    """Compare the cluster's record and its present state with the database. Needs Django, attached to the stage."""
    lines = [Line(**json.loads(line)) for line in stage.port.record_path.read_text().splitlines()]
    with stage.port.opened() as cluster:
        jobs = list(cluster.state.jobs.values())
    names = _names(stage)
    users = set(stage.world.cancelled)
    lines = [line for line in lines if line.what != What.CANCELLED or names[line.job] not in users]
    verdict = Verdict()
    _stops(stage, lines, names, verdict)
    _plans(stage, lines, names, verdict)
    verdict.stuck_jobs += [
        f"{names[job.id]} is held ({job.held})" for job in jobs if job.held in {HeldBy.REQUEUED, HeldBy.ADMIN}
    ]
    _minimum(stage.world, lines, names, verdict)
    _nodes(stage.world, lines, names, jobs, verdict)
    running = {names[job.id] for job in jobs if job.state is JobState.RUNNING}
    verdict.not_back += [f"{name} does not run again" for name in stage.world.back if name not in running]
    _gentle(stage.world, lines, names, verdict)
    _together(stage.world, lines, names, verdict)
    verdict.broken_audit += _audit()
    return verdict


def _names(stage: Stage) -> dict[str, str]:
    """Jobs get their numbers in the order of the deeds."""
    dry = SCENARIOS["empty"].build(0)
    names: dict[str, str] = {}
    for second in sorted(stage.world.deeds):
        for deed in stage.world.deeds[second]:
            deed(dry)
            names |= {job.id: _name(job) for job in dry.state.jobs.values()}
    return names


def _name(job: SimJob) -> str:
    """A task of an array is called by its number, too."""
    return job.spec.name + job.id.removeprefix(job.array_job_id) if job.array_job_id else job.spec.name


def _stops(stage: Stage, lines: Iterable[Line], names: dict[str, str], verdict: Verdict) -> None:
    """Each stop must have been written down for just that run, and no job is stopped twice."""
    from console.steering.models import STOP_KINDS, PlannedAction

    written = {
        (action.job_id, action.run_start, action.run_restarts)
        for action in PlannedAction.objects.filter(kind__in=STOP_KINDS, attempts__gt=0)
    }
    stops = [line for line in lines if line.what in STOPS | {What.CANCELLED}]
    verdict.double_stops += [
        f"{names[line.job]} was stopped in a run that nobody had named: {line.run}"
        for line in stops
        if line.run not in written
    ]
    times = Counter(names[line.job] for line in stops)
    verdict.double_stops += [
        f"{name} was stopped {count} times"
        for name, count in times.items()
        if count > stage.world.times.get(name, 1)
    ]
    verdict.double_stops += [f"{name} was no victim" for name in times.keys() - set(stage.world.stopped)]


def _plans(stage: Stage, lines: list[Line], names: dict[str, str], verdict: Verdict) -> None:
    """Every plan is over, and as the cluster has it: its beneficiary ran, or it was undone and says why."""
    from console.steering.models import Plan, PlannedAction

    started = {line.job for line in lines if line.what == What.STARTED}
    for plan in Plan.objects.all():
        if plan.state in {"proposed", "approved", "executing"}:
            verdict.lost_plans.append(f"{plan} for {names[plan.job_id]} is still {plan.state}")
        elif plan.state == "verified" and plan.job_id not in started:
            verdict.lost_plans.append(f"{plan} is called done, but {names[plan.job_id]} never ran")
        elif plan.state == "undone" and not plan.outcome:
            verdict.lost_plans.append(f"{plan} was undone without a reason")
    for action in PlannedAction.objects.exclude(state__in=("verified", "expired", "failed")):
        verdict.lost_plans.append(f"{action} of {action.plan} is still {action.state}")
    verdict.lost_plans += [
        f"{name} never started" for name in stage.world.starts if name not in {names[job] for job in started}
    ]
    freed = Counter(line.job for line in lines if line.what == What.RELEASED)
    for job, count in Counter(line.job for line in lines if line.what in STOPS).items():
        if freed[job] < count:
            verdict.stuck_jobs.append(
                f"{names[job]} was stopped {count} times and released {freed[job]} times"
            )


def _minimum(world: World, lines: Iterable[Line], names: dict[str, str], verdict: Verdict) -> None:
    """No elastic job has fewer workers than it needs, once it has had so many."""
    running: dict[str, set[str]] = {name: set() for name in world.least}
    reached: set[str] = set()
    for line in lines:
        array = names[line.job].rpartition("_")[0]
        if array not in running:
            continue
        if line.what == What.STARTED:
            running[array].add(line.job)
        elif line.what in STOPS | {What.ENDED, What.REQUEUED, What.CANCELLED}:
            running[array].discard(line.job)
        if len(running[array]) >= world.least[array]:
            reached.add(array)
        elif array in reached:
            verdict.below_minimum.append(f"{array} has {len(running[array])} workers at {line.at - START}")


def _nodes(
    world: World, lines: Iterable[Line], names: dict[str, str], jobs: Iterable[SimJob], verdict: Verdict
) -> None:
    """No job of several nodes runs on fewer than it needs, and in the end it is on as many as the story says."""
    for line in lines:
        name = names[line.job]
        if line.what in {What.STARTED, What.SHRUNK} and line.nodes < world.least_nodes.get(name, 0):
            verdict.below_minimum.append(f"{name} is on {line.nodes} nodes at {line.at - START}")
    now = {names[job.id]: len(job.alloc) for job in jobs if job.state is JobState.RUNNING}
    verdict.not_back += [
        f"{name} is on {now.get(name, 0)} nodes, not on {count}"
        for name, count in world.ends_on.items()
        if now.get(name) != count
    ]


def _gentle(world: World, lines: list[Line], names: dict[str, str], verdict: Verdict) -> None:
    """A job that was stopped had its signal, and then its grace time or the time to say that it has saved its work."""
    signals = {line.run: line.at for line in lines if line.what == What.SIGNALLED}
    saved = {line.run for line in lines if line.what == What.SAVED}
    for line in lines:
        if line.at < START + world.no_stop_before and line.what in {What.SIGNALLED, What.STOPPED}:
            verdict.rough.append(f"{names[line.job]} was {line.what} too early, at {line.at - START}")
        if line.what not in {What.STOPPED, What.CANCELLED}:
            continue
        before = signals.get(line.run)
        if before is None:
            verdict.rough.append(f"{names[line.job]} was stopped without its signal")
        elif line.at - before < GRACE_S and line.run not in saved:
            verdict.rough.append(f"{names[line.job]} had {line.at - before} s of grace")


AT_ONCE_S = 6
"""Within so many seconds all have started who are let go together: their victims take as long to leave."""


def _together(world: World, lines: list[Line], names: dict[str, str], verdict: Verdict) -> None:
    """Who wants all or none has not had a part of them running while the others waited."""
    first: dict[str, int] = {}
    for line in lines:
        if line.what == What.STARTED and names[line.job] in world.together:
            first.setdefault(names[line.job], line.at)
    if first and max(first.values()) - min(first.values()) > AT_ONCE_S:
        verdict.rough.append(
            f"{', '.join(first)} started one by one: {sorted(at - START for at in first.values())}"
        )


def _audit() -> list[str]:
    from console.audit.verification import verify_chain

    return list(verify_chain().faults)


def as_json(verdict: Verdict) -> dict[str, Any]:
    """For the way from one process to another."""
    return asdict(verdict)
