"""Named, seeded scenarios: each builds a cluster that stands at a given moment of the clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scheduler.adapters.simulator import demo, patent
from scheduler.adapters.simulator.arrivals import Stream
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.demo_data import DEMO_CONFIG, TEN_GPUS_CONFIG, USER_THEN_TASK_CONFIG, Config
from scheduler.adapters.simulator.state import SimNode, SimPartition, SimState

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
        patent.ten_gpus,
        patent.TEN_GPUS_STREAMS,
        TEN_GPUS_CONFIG,
    ),
    "patent_user_then_task": Scenario(
        "Document 000, ¶81: eight CPUs, user before task",
        patent.user_then_task,
        patent.USER_THEN_TASK_STREAMS,
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
