"""How fast the demonstration's GPUs are: figures that its administrator has written down before the made-up week."""

from datetime import datetime
from random import Random

from console.audit.services import NO_CONTEXT
from console.cluster.models import Cluster
from console.cluster.services import write_nodes
from console.core import clock
from console.partitions.models import Partition
from console.power.figures import NewReading
from console.power.models import Source
from console.power.services import set_figures
from scheduler.adapters.simulator.demo_data import DEMO_PARTITION_ADMINS
from scheduler.model.observation import Observation

SECONDS = {"gpu:a100": 12.4, "gpu:h100": 7.1}
"""Of the benchmark on a processor of a kind."""
UNEVEN = 0.02
SLOWER, BY = "g3", 1.04
"""One node is a little slower than those of its kind: seen, and no incident."""


def write_figures(cluster: Cluster, seen: Observation, at: datetime, seed: int) -> None:
    """The nodes as they are, and their figures as they were written down at a moment."""
    write_nodes(cluster, seen)
    rng = Random(f"{seed}/figures")  # noqa: S311 (nothing secret here)
    told = [
        NewReading(node.name, "gpu", device, round(_seconds(rng, node.name, kind), 2))
        for node in seen.nodes
        for kind in sorted(SECONDS.keys() & node.total.keys())
        for device in range(node.total[kind])
    ]
    with clock.set_to(at):
        set_figures(
            Partition.objects.get(cluster=cluster, name="demo"),
            told,
            Source.IMPORTED,
            actor=DEMO_PARTITION_ADMINS[0],
            reason="Measured at the acceptance.",
            context=NO_CONTEXT,
        )


def _seconds(rng: Random, node: str, kind: str) -> float:
    return SECONDS[kind] * (1 + rng.uniform(-UNEVEN, UNEVEN)) * (BY if node == SLOWER else 1)
