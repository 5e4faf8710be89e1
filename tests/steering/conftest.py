"""A console attached to a simulated cluster whose clock is the only clock."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from console.cluster.connect import configured_cluster
from console.cluster.models import Cluster, Job
from console.core import clock
from console.partitions.services import activate_policy, ensure_partition
from console.steering import cycle
from console.steering.cycle import run_cycle
from console.steering.cycle_report import Report
from console.steering.models import Plan, PlannedAction
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, Request

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
START = 1_700_000_000


@dataclass
class Sim:
    """The simulated cluster, its users, and the worker's cycles."""

    port: SimulatedCluster
    cluster: Cluster = field(default_factory=configured_cluster)
    may_fail: bool = False

    def policy(self, partition: str = "x", **keys: Any) -> None:
        """Put a policy in force; `ann` is P3, `cy` is P0 unless said otherwise."""
        row = ensure_partition(cluster=self.cluster, name=partition)
        document = {
            "name": partition,
            "mode": "user",
            "enforcement": "enforce",
            "grace_s": 0,
            "asked_to_save": "everybody",
            "levels": LEVELS,
            "user_overrides": {"ann": "P3", "bob": "P2", "cy": "P0"},
            **keys,
        }
        activate_policy(actor="dave", partition=row, document=document, reason="Test.", based_on=None)

    def submit(self, user: str, cpus: int, partition: str = "x", **spec: Any) -> str:
        """A batch job of one node."""
        name = spec.pop("name", f"{user}_job")
        request = Request(nodes=1, per_node={"cpu": cpus})
        return self.port.submit(JobSpec(name, user, request, partitions=(partition,), **spec))

    def running(self, user: str, cpus: int, partition: str = "x", **spec: Any) -> str:
        """Submitted, and running by now."""
        job = self.submit(user, cpus, partition, **spec)
        self.port.advance(2)
        assert self.state(job) is JobState.RUNNING
        return job

    def state(self, job: str) -> JobState | None:
        """Where the job is; None when it has ended."""
        return self.port.job(job).state if job in self.port.state.jobs else None

    def cycle(self) -> Report:
        """One cycle; nobody else holds the lease. What is raised in it is kept, so that the next goes on: not here."""
        report = run_cycle(self.cluster)
        assert report is not None
        assert self.may_fail or not report.has_failed, "the cycle failed; its error is in the log"
        return report

    def cycles(self, count: int, every_s: int = 1) -> None:
        """Cycles with the cluster's clock going on between them."""
        for _ in range(count):
            self.cycle()
            self.port.advance(every_s)

    def plan(self) -> Plan:
        """The newest plan."""
        plan = Plan.objects.order_by("-id").first()
        assert plan is not None
        return plan

    def actions(self, kind: ActionKind) -> list[PlannedAction]:
        """All actions of a kind, oldest first."""
        return list(PlannedAction.objects.filter(kind=kind).order_by("id"))

    def row(self, job: str, partition: str = "x") -> Job:
        """The job in the mirror."""
        return Job.objects.get(cluster=self.cluster, job_id=job, partition=partition)


def attached(port: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """The console is attached to this cluster, and goes by its clock."""
    monkeypatch.setattr(cycle, "connect", lambda row: port)
    monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(port.now))
    return Sim(port)


@pytest.fixture
def sim(db: None, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """Four empty nodes of 8 CPUs; partition x has one of them."""
    return attached(SCENARIOS["empty"].build(START), monkeypatch)
