"""Named, seeded scenarios: each builds a cluster that stands at a given moment of the clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from scheduler.adapters.simulator import demo
from scheduler.adapters.simulator.arrivals import Stream
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.demo_data import DEMO_CONFIG, TEN_GPUS_CONFIG, USER_THEN_TASK_CONFIG, Config
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.state import SimNode, SimPartition, SimState
from scheduler.model.jobs import Request

# --- The worked examples of document 000 as scenarios: ¶201 (ten GPUs) and ¶81 (user, then task priority) ---


HOUR_S = 3600
ARRIVED_LONG_AGO_S = 10 * HOUR_S


def ten_gpus(now: int, seed: int) -> SimState:
    """¶201: partition q has ten GPUs; nine run user a's jobs: one P0, three P1, five P2, in this order."""
    names = ["p0_a", *(f"p1_aa{n}" for n in (1, 2, 3)), *(f"p2_aaa{n}" for n in (5, 4, 3, 2, 1))]
    node = SimNode("n1", {"cpu": 40, "mem": 400_000, "gpu": 10})
    return _filled(now, seed, "q", node, [_gpu_job(name, "a") for name in names])


def user_then_task(now: int, seed: int) -> SimState:
    """¶81: partition x has eight CPUs: P1's a3 (L1) and a4 (L2) hold two each, P3's b1 (L1) holds four."""
    node = SimNode("n1", {"cpu": 8, "mem": 64_000})
    jobs = [_cpu_job("l1_a3", "ann", 2), _cpu_job("l2_a4", "ann", 2), _cpu_job("l1_b1", "bob", 4)]
    return _filled(now, seed, "x", node, jobs)


def _filled(now: int, seed: int, partition: str, node: SimNode, jobs: list[JobSpec]) -> SimState:
    """A cluster on which these jobs have been running for hours, the first one longest."""
    began = now - ARRIVED_LONG_AGO_S
    state = SimState(
        "patent", began, {node.name: node}, {partition: SimPartition(partition, (node.name,))}, seed=seed
    )
    cluster = SimulatedCluster(state)
    for job in jobs:
        cluster.submit(job)
        cluster.advance(HOUR_S)
    cluster.advance(now - cluster.now)
    return state


def _gpu_job(name: str, user: str, run_time_s: int | None = None) -> JobSpec:
    request = Request(nodes=1, per_node={"cpu": 1, "mem": 1000, "gpu": 1})
    return JobSpec(name, user, request, ("q",), run_time_s=run_time_s, on_signal=OnSignal.CHECKPOINT)


def _cpu_job(name: str, user: str, cpus: int, run_time_s: int | None = None) -> JobSpec:
    request = Request(nodes=1, per_node={"cpu": cpus, "mem": 1000})
    return JobSpec(name, user, request, ("x",), run_time_s=run_time_s, on_signal=OnSignal.CHECKPOINT)


def _later_on_q(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
    """b's P0 job takes the free GPU, then come b's three P1 jobs, then c's P0 job."""
    waves = [
        [_gpu_job("p0_b", "b", 300)],
        [_gpu_job(f"p1_bb{n}", "b", 300) for n in (1, 2, 3)],
        [_gpu_job("p0_c", "c", 300)],
    ]
    return waves[count]


def _later_on_x(rng: Random, state: SimState, count: int) -> Sequence[JobSpec]:
    """A user of P1 asks for six CPUs at L1."""
    return [_cpu_job("l1_c1", "cy", 6, 300)]


TEN_GPUS_STREAMS = {"others": Stream(_later_on_q, gaps=(10, 15, 15))}
USER_THEN_TASK_STREAMS = {"others": Stream(_later_on_x, gaps=(10,))}


DEFAULT_SEED = 7


@dataclass(frozen=True, slots=True)
class Scenario:
    """`state(now, seed)`: the cluster at `now`; `streams`: who comes later; `config`: its priority file."""

    summary: str
    state: Callable[[int, int], SimState]
    streams: Mapping[str, Stream] = field(default_factory=dict)
    config: Config | None = None

    def build(self, now: int, seed: int = DEFAULT_SEED) -> SimulatedCluster:
        """The scenario's cluster at epoch second `now`; same arguments, same cluster, same future."""
        return SimulatedCluster(self.state(now, seed), self.streams)


def contract_state(now: int, seed: int) -> SimState:
    """Empty, like the private Slurm: n1 to n4, 8 CPUs and 8 GPUs each; x = n1, q = n3 and n4, wide = all."""
    nodes = {}
    for number in range(1, 5):
        kind = "a100" if number <= 2 else "v100"
        total = {"cpu": 8, "mem": 16_000, "gpu": 8, f"gpu:{kind}": 8}
        nodes[f"n{number}"] = SimNode(f"n{number}", total, frozenset({kind}))
    partitions = [
        SimPartition("wide", ("n1", "n2", "n3", "n4")),
        SimPartition("x", ("n1",)),
        SimPartition("q", ("n3", "n4")),
    ]
    return SimState("dev", now, nodes, {part.name: part for part in partitions}, seed=seed)


SCENARIOS: dict[str, Scenario] = {
    "demo": Scenario("A busy cluster with urgent jobs every minute", demo.state, demo.STREAMS, DEMO_CONFIG),
    "patent_ten_gpus": Scenario(
        "Document 000, ¶201: ten GPUs, users a, b and c",
        ten_gpus,
        TEN_GPUS_STREAMS,
        TEN_GPUS_CONFIG,
    ),
    "patent_user_then_task": Scenario(
        "Document 000, ¶81: eight CPUs, user before task",
        user_then_task,
        USER_THEN_TASK_STREAMS,
        USER_THEN_TASK_CONFIG,
    ),
    "empty": Scenario("Four empty nodes like those of the private Slurm", contract_state),
}


class UnknownScenarioError(LookupError):
    """There is no scenario of that name; the message lists those that there are."""


def scenario(name: str) -> Scenario:
    """The scenario called `name`."""
    try:
        return SCENARIOS[name]
    except KeyError:
        raise UnknownScenarioError(
            f"there is no scenario {name!r}; there are {', '.join(SCENARIOS)}"
        ) from None
