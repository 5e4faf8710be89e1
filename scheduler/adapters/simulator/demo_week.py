"""The week before a demonstration begins: the same people and jobs as in the scenario `demo`, in fast time.

By day the cluster is full and somebody is in a hurry every quarter of an hour; in the evening, by night and at the
weekend less and less runs, and much of it for hours. It ends with an empty queue, where the scenario begins.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from scheduler.adapters.simulator import demo
from scheduler.adapters.simulator.arrivals import Stream
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.state import SimNodeState, SimState
from scheduler.model.jobs import JobState

FIRST_JOB = 1_001
MINUTE, HOUR, DAY = 60, 3600, 86_400
DAYS = 7
PARTITIONS = frozenset({"demo", "cpu"})
LONG_TIMES = (4, 16)
"""So many times as long as in the scenario takes a job that is left alone for the evening, the night or the weekend."""
LAST_MINUTES = 40
"""Of the week: who comes then has what is left of it."""
LAST_URGENT = 15
LARGEST = 4
"""GPUs of a node that most urgent jobs ask for."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How busy a time is: what share of the GPUs and CPUs is asked for, how many GPUs more wait, which share of the
    jobs is long, and how many seconds pass between two that are urgent."""

    gpus: float
    cpus: float
    queue: int
    long: float
    urgent: tuple[int, int]


BY_DAY = Rhythm(1.0, 1.1, 14, 0.25, (7 * MINUTE, 22 * MINUTE))
EVENING = Rhythm(0.9, 0.6, 0, 0.6, (20 * MINUTE, 60 * MINUTE))
NIGHT = Rhythm(0.7, 0.3, 0, 0.9, (60 * MINUTE, 240 * MINUTE))
WEEKEND = Rhythm(0.5, 0.25, 0, 0.8, (60 * MINUTE, 200 * MINUTE))


def pace(now: int) -> Rhythm:
    """How busy it is at an epoch second, by UTC as the scenario has it."""
    day, hour = (now // DAY + 3) % 7, now // HOUR % 24  # 1 January 1970 was a Thursday
    if day >= 5:
        return WEEKEND
    if 8 <= hour < 18:
        return BY_DAY
    return EVENING if 6 <= hour < 22 else NIGHT


def week(until: int, seed: int) -> SimulatedCluster:
    """The cluster as it stood a week before `until`, with all who will come until then."""
    return SimulatedCluster(demo.opened(until - DAYS * DAY, seed, FIRST_JOB), _streams(until))


def next_urgent(cluster: SimulatedCluster) -> int:
    """When the next one in a hurry comes, epoch seconds."""
    return cluster.state.streams["urgent"].next_at


@dataclass(frozen=True, slots=True)
class _UrgentStream(Stream):
    """Who is in a hurry, by the time of the day and of the week."""

    def gap(self, rng: Random, count: int, now: int) -> int:
        """As `Stream.gap`."""
        return rng.randint(*pace(now).urgent)


def _streams(until: int) -> Mapping[str, Stream]:
    return {
        "work": Stream(_until(until, _work), gaps=(MINUTE,), then=(2 * MINUTE, 9 * MINUTE)),
        "cpu": Stream(_until(until, _cpu_work), gaps=(MINUTE,), then=(3 * MINUTE, 12 * MINUTE)),
        "urgent": _UrgentStream(_until(until - LAST_URGENT * MINUTE, _urgent)),
    }


_Make = Callable[[Random, SimState, int], Sequence[JobSpec]]


def _until(until: int, make: _Make) -> _Make:
    """Nobody comes whose job would not be over by then: in the end jobs are as short as is left."""

    def made(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
        left = until - state.now
        if left < 5 * MINUTE:
            return []
        return [_fitting(rng, spec, left) for spec in make(rng, state, count)]

    return made


def _fitting(rng: Random, spec: JobSpec, left: int) -> JobSpec:
    most = left - rng.randint(20, 120)
    if left > LAST_MINUTES * MINUTE or (spec.run_time_s or 0) <= most:
        return replace(spec, run_time_s=min(spec.run_time_s or 0, max(60, most)))
    return replace(spec, run_time_s=max(60, most))


def _work(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
    now = pace(state.now)
    total = sum(node.total.get("gpu", 0) for node in state.nodes_of("demo") if node.state is SimNodeState.UP)
    wanted = int(total * now.gpus) + now.queue
    return _as_much_as(rng, state, ("demo", "gpu"), wanted, demo.background_job)


def _cpu_work(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
    total = sum(node.total.get("cpu", 0) for node in state.nodes_of("cpu"))
    wanted = int(total * pace(state.now).cpus)
    return _as_much_as(rng, state, ("cpu", "cpu"), wanted, demo.cpu_job)


def _as_much_as(
    rng: Random, state: SimState, where: tuple[str, str], wanted: int, make: Callable[[Random], JobSpec]
) -> Sequence[JobSpec]:
    """Jobs until so much of a resource is held or asked for in a partition."""
    partition, resource = where
    asked = sum(
        demo.demand(job.spec, resource)
        for job in state.in_state(JobState.PENDING, JobState.RUNNING)
        if partition in job.partitions
    )
    specs: list[JobSpec] = []
    while asked < wanted:
        spec = make(rng)
        if (spec.on_signal is OnSignal.CHECKPOINT or resource == "cpu") and rng.random() < pace(
            state.now
        ).long:
            times = rng.randint(*LONG_TIMES)
            spec = replace(
                spec,
                run_time_s=(spec.run_time_s or 0) * times,
                time_limit_s=min(DAY, (spec.time_limit_s or 0) * times),
            )
        specs.append(spec)
        asked += demo.demand(spec, resource) * max(1, spec.array_tasks)
    return specs


def _urgent(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
    spec = demo.urgent_job(rng, count)
    while spec.request.per_node["gpu"] > LARGEST and rng.random() < 0.8:
        spec = demo.urgent_job(rng, 1)
    times = rng.randint(2, 9)
    return [replace(spec, run_time_s=(spec.run_time_s or 0) * times, time_limit_s=15 * MINUTE)]
