"""The scenario `demo`: always full, and every minute or two (by night every few) comes a job that matters more.

The background stream tops the queue up whenever it gets short, by night later, so the cluster stays full for days and
the queue never grows without bound. Users, accounts and job names are those of `demo_data`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

from scheduler.adapters.simulator.arrivals import Stream, is_night
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal, SimJob
from scheduler.adapters.simulator.state import SimNode, SimNodeState, SimPartition, SimState
from scheduler.model.jobs import JobState, Request

MIN = 60
WARM_UP_S = 3600
WARM_UP_STEP_S = 20
GPUS_WAITING, BY_NIGHT = 10, 3
"""So much demand the background keeps in the queue of `demo`, by day and by night."""
URGENT_WAITING = 4
"""As many urgent jobs may wait before the next one is thought better of (when nobody makes room for them)."""
CPUS_WAITING = 64


FIRST_JOB = 20_001
"""The numbers below are those of a past that is made up (`demo_week`)."""


def state(now: int, seed: int) -> SimState:
    """The demo cluster an hour after its queue was opened: full, with jobs of all ages."""
    cluster_state = opened(now - WARM_UP_S, seed, FIRST_JOB)
    for _ in warm_up(SimulatedCluster(cluster_state), seed):
        pass
    return cluster_state


def opened(now: int, seed: int, first_job: int) -> SimState:
    """The demo cluster with nothing in its queue; jobs are numbered from `first_job` on."""
    nodes = {
        name: _gpu_node(name, "a100" if name < "g4" else "h100") for name in ("g1", "g2", "g3", "g4", "g5")
    }
    nodes["g5"].state, nodes["g5"].reason = SimNodeState.DRAIN, "fan replaced, burn-in until Friday"
    nodes |= {
        name: SimNode(name, {"cpu": 96, "mem": 384_000}, frozenset({"epyc"}), unit="rack2")
        for name in ("c1", "c2")
    }
    partitions = [
        SimPartition("demo", ("g1", "g2", "g3", "g4", "g5")),
        SimPartition("cpu", ("c1", "c2")),
    ]
    parts = {part.name: part for part in partitions}
    return SimState("demo", now, nodes, parts, seed=seed, next_id=first_job)


def warm_up(cluster: SimulatedCluster, seed: int) -> Iterator[None]:
    """The hour after the queue was opened, step by step."""
    rng = Random(f"{seed}/warm-up")  # noqa: S311 (nothing secret here)
    for _ in range(WARM_UP_S // WARM_UP_STEP_S):
        for spec in [*_background(rng, cluster.state, 0), *_cpu_work(rng, cluster.state, 0)]:
            cluster.submit(spec)
        cluster.advance(WARM_UP_STEP_S)
        yield


def _gpu_node(name: str, kind: str) -> SimNode:
    total = {"cpu": 64, "mem": 512_000, "gpu": 8, f"gpu:{kind}": 8}
    return SimNode(name, total, frozenset({kind, "nvlink"}), unit="rack1")


def _background(rng: Random, cluster: SimState, count: int) -> Sequence[JobSpec]:
    """Work of the lower projects, as much as keeps the queue of `demo` from running dry."""
    specs: list[JobSpec] = []
    asked = sum(demand(job.spec, "gpu") for job in waiting(cluster, "demo") if job.spec.account != "alpha")
    wanted = BY_NIGHT if is_night(cluster.now) else GPUS_WAITING
    while asked < wanted:
        spec = background_job(rng)
        specs.append(spec)
        asked += demand(spec, "gpu") * max(1, spec.array_tasks)
    return specs


def background_job(rng: Random) -> JobSpec:
    """A job of one of the lower projects, for the partition `demo`."""
    return rng.choices(_BACKGROUND, _WEIGHTS)[0](rng)


def _cpu_work(rng: Random, cluster: SimState, count: int) -> Sequence[JobSpec]:
    """Work for the partition `cpu`, of all projects, counted in processors wherever they are."""
    specs: list[JobSpec] = []
    asked = sum(demand(job.spec, "cpu") for job in waiting(cluster, "cpu"))
    while asked < CPUS_WAITING:
        specs.append(cpu_job(rng))
        asked += demand(specs[-1], "cpu")
    return specs


def cpu_job(rng: Random) -> JobSpec:
    """A job of any project, for the partition `cpu`."""
    user, account, name = rng.choice(_CPU_WORK)
    cpus = rng.choice((8, 16, 16, 32, 48))
    request = Request(spread={"cpu": cpus, "mem": cpus * 2000})
    return _timed(rng, JobSpec(_numbered(rng, name), user, request, ("cpu",), account), 3 * MIN, 30 * MIN)


def _urgent(rng: Random, cluster: SimState, count: int) -> Sequence[JobSpec]:
    """A short job of project alpha that finds no room; now and then on two nodes or with a type of GPU."""
    if sum(job.spec.account == "alpha" for job in waiting(cluster, "demo")) >= URGENT_WAITING:
        return []
    return [urgent_job(rng, count)]


def urgent_job(rng: Random, count: int) -> JobSpec:
    """The nth of the short jobs of project alpha."""
    shape = rng.choice((_gpus(2), _gpus(4), _gpus(4), _gpus(6), _gpus(2, nodes=2), _gpus(4, kind="a100")))
    if count == 0:
        shape = _gpus(4)  # one that surely finds no room and surely can be helped
    if count % 10 == 9:
        shape = _gpus(8)  # a whole node, where often something runs that cannot be requeued
    name = rng.choice(("p0_eval_{}", "alpha_eval_{}", "alpha_{}_release", "p1_check_{}")).format(count + 1)
    spec = JobSpec(name, rng.choice(("ann", "bob")), shape, ("demo",), "alpha", on_signal=OnSignal.CHECKPOINT)
    return _timed(rng, spec, 25, 55)


def _sweep(rng: Random) -> JobSpec:
    spec = JobSpec(
        "gamma_sweep", "eve", _gpus(1), ("demo",), "gamma", array_tasks=4, on_signal=OnSignal.CHECKPOINT
    )
    return _timed(rng, spec, 5 * MIN, 15 * MIN)


def _elastic(rng: Random) -> JobSpec:
    """Four workers that go on with fewer, of one of three people."""
    name, user, account, least = rng.choice(
        (
            ("delta_ensemble", "gil", "delta", 2),
            ("epsilon_mc", "ivy", "epsilon", 1),
            ("zeta_grid", "jan", "zeta", 1),
        )
    )
    comment = f"elastic:min={least},wish=4"
    spec = JobSpec(_numbered(rng, name), user, _gpus(1), ("demo",), account, comment=comment, array_tasks=4)
    return _timed(rng, replace(spec, on_signal=OnSignal.CHECKPOINT), 15 * MIN, 40 * MIN)


def _teaching(rng: Random) -> JobSpec:
    spec = JobSpec(_numbered(rng, "zeta_lesson"), "jan", _gpus(1), ("demo",), "zeta")
    return _timed(rng, spec, 3 * MIN, 15 * MIN)


def _training(rng: Random) -> JobSpec:
    spec = JobSpec(_numbered(rng, "p2_train"), "finn", _gpus(rng.choice((1, 2, 2, 3))), ("demo",), "gamma")
    return _timed(rng, replace(spec, on_signal=OnSignal.CHECKPOINT), 10 * MIN, 40 * MIN)


def _two_nodes(rng: Random) -> JobSpec:
    spec = JobSpec(
        _numbered(rng, "beta_train"), "cy", _gpus(2, nodes=2), ("demo",), "beta", comment="resumable"
    )
    return _timed(rng, replace(spec, on_signal=OnSignal.CHECKPOINT, checkpoint_s=2), 10 * MIN, 30 * MIN)


def _tuning(rng: Random) -> JobSpec:
    return _timed(
        rng, JobSpec(_numbered(rng, "p1_tune"), "dee", _gpus(1), ("demo",), "beta"), 3 * MIN, 12 * MIN
    )


def _notebook(rng: Random) -> JobSpec:
    return _timed(rng, JobSpec("notebook", "gus", _gpus(1), ("demo",), batch=False), 10 * MIN, 30 * MIN)


def _not_again(rng: Random) -> JobSpec:
    spec = JobSpec(_numbered(rng, "legacy"), "gus", _gpus(1), ("demo",), requeue=False)
    return _timed(rng, spec, 10 * MIN, 30 * MIN)


def _by_chance(rng: Random) -> JobSpec:
    spec = JobSpec(
        _numbered(rng, "try"), "hal", _gpus(rng.choice((1, 2))), ("demo",), fails=rng.random() < 0.2
    )
    return _timed(rng, spec, 2 * MIN, 10 * MIN)


_BACKGROUND: tuple[Callable[[Random], JobSpec], ...] = (
    _elastic,
    _teaching,
    _sweep,
    _training,
    _two_nodes,
    _tuning,
    _notebook,
    _not_again,
    _by_chance,
)
_WEIGHTS = (3, 2, 3, 5, 2, 3, 2, 2, 3)
_CPU_WORK = (
    ("ann", "alpha", "alpha_prep"),
    ("cy", "beta", "p1_audio"),
    ("dee", "beta", "beta_align"),
    ("eve", "gamma", "gamma_mc"),
    ("finn", "gamma", "p2_fit"),
    ("hao", "delta", "delta_assim"),
    ("jan", "zeta", "zeta_lab"),
    ("hal", "", "convert"),
)


def _gpus(gpus: int, *, nodes: int = 1, kind: str = "") -> Request:
    """`gpus` on each of `nodes`, with the CPUs and the memory that go with them."""
    per_node = {"cpu": gpus * 6, "mem": gpus * 48_000, "gpu": gpus}
    if kind:
        per_node[f"gpu:{kind}"] = gpus
    return Request(nodes=nodes, per_node=per_node)


def _timed(rng: Random, spec: JobSpec, low_s: int, high_s: int) -> JobSpec:
    """The job with a run time, and with a time limit as people choose them: too long, and a round number."""
    run_time_s = rng.randint(low_s, high_s)
    limit_s = -(-int(run_time_s * rng.uniform(1.2, 3)) // 300) * 300
    return replace(spec, run_time_s=run_time_s, time_limit_s=limit_s)


def _numbered(rng: Random, name: str) -> str:
    return f"{name}_{rng.randrange(100):02d}"


def waiting(cluster: SimState, partition: str) -> list[SimJob]:
    """The jobs that wait in a partition."""
    return [job for job in cluster.in_state(JobState.PENDING) if partition in job.partitions]


def demand(spec: JobSpec, resource: str) -> int:
    """How much of a resource a job asks for, on all its nodes."""
    request = spec.request
    return request.spread.get(resource, 0) or request.nodes * request.per_node.get(resource, 0)


STREAMS = {
    "background": Stream(_background, then=(3, 8)),
    "cpu": Stream(_cpu_work, then=(5, 15)),
    "urgent": Stream(_urgent, gaps=(12,), then=(45, 120), night=(180, 420)),
}
