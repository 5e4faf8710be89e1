"""A partition of four nodes on a cluster that measures when it is told to."""

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest
from pytest_django import Settings

from console.cluster.models import Node
from console.partitions.models import Partition
from console.power.models import Measurement, MeasuringRule
from scheduler.model.benchmarks import Benchmark
from scheduler.ports import BenchmarkRefusedError, ClusterUnavailableError
from tests import factories


@dataclass
class Bench:
    """Where benchmarks go. `fault`: what it raises instead of taking one. `is_deaf`: it ends none."""

    submitted: list[Benchmark] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    fault: BenchmarkRefusedError | ClusterUnavailableError | None = None
    is_deaf: bool = False

    def submit(self, benchmark: Benchmark) -> str:
        """Its number as the job's id."""
        if self.fault is not None:
            raise self.fault
        self.submitted.append(benchmark)
        return str(900 + len(self.submitted))

    def end(self, job_ids: Collection[str]) -> None:
        """Remember them."""
        if self.is_deaf:
            raise ClusterUnavailableError("scancel did not answer within 20 s")
        self.ended += job_ids


@dataclass
class Site:
    """A partition that measures its GPUs, one node at a time, and its nodes n1 to n4 with two GPUs each, idle."""

    partition: Partition
    rule: MeasuringRule
    nodes: list[Node]
    bench: Bench = field(default_factory=Bench)

    def states(self) -> dict[str, list[str]]:
        """By node, the states of its measurements, the latest first."""
        found: dict[str, list[str]] = {}
        for row in Measurement.objects.order_by("-id"):
            found.setdefault(row.node, []).append(row.state)
        return found


@pytest.fixture
def site(db: None, settings: Settings) -> Site:
    """All of it."""
    settings.GIVEWAY_NODES_URL = "http://console.test"
    partition = factories.make_partition(factories.make_cluster())
    nodes = [
        factories.make_node(
            partition.cluster, f"n{i}", state="IDLE", total={"cpu": 8, "gpu": 2}, used={}, partitions=["x"]
        )
        for i in range(1, 5)
    ]
    rule = MeasuringRule.objects.create(partition=partition, enabled=True, resource="gpu")
    return Site(partition, rule, nodes)
