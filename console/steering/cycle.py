"""One cycle: observe, verify what was issued, decide, record and intend, act.

Correct with the timer alone: a cycle reads all state and writes the difference; it remembers nothing of the one
before but what is in the database. One at a time per cluster (`lease`); whoever finds it taken leaves.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from django.db import transaction

from console.cluster.connect import connect
from console.cluster.models import Cluster
from console.cluster.services import describe_cluster, note_cycle, write_jobs, write_nodes
from console.core import clock
from console.core.points import reached
from console.partitions.services import ensure_partition
from console.steering.actions import checkpoints
from console.steering.actions import lease as leases
from console.steering.actions.acting import Acting, act
from console.steering.actions.stranded import free_stranded
from console.steering.actions.verifying import verify
from console.steering.actions.victims import Following, ask_after
from console.steering.decisions.deciding import Verdicts, decide_all
from console.steering.decisions.facts import Facts, PartitionFacts, gather, open_plans, partition_policies
from console.steering.journal import tell_cluster
from console.steering.models import Cycle, CycleOutcome, Plan, PlanState
from console.steering.plans.intending import intend
from console.steering.plans.new_plans import NewPlans
from console.steering.reports.metering import count
from console.steering.reports.mirroring import rows
from console.steering.reports.submit_rules import write_submit_rules
from console.steering.signals import observed
from scheduler.model.observation import Observation
from scheduler.ports import Cluster as ClusterPort
from scheduler.ports import ClusterUnavailableError

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Report:
    """What a cycle did. `lines`: one per decision, for people and scripts."""

    number: int
    fault: str = ""
    lines: list[str] = field(default_factory=list)
    planned: int = 0
    issued: int = 0
    phases: dict[str, float] = field(default_factory=dict)
    open_before: list[tuple[int, str]] = field(default_factory=list)
    """Plans that were open when the cycle began, with their states."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure one phase, in seconds."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = round(time.perf_counter() - before, 4)


def run_cycle(cluster: Cluster) -> Report | None:
    """Run one whole cycle; None when another one is under way. What Slurm answers never raises: see `fault`."""
    lease = leases.take(cluster)
    if lease is None:
        return None
    try:
        reached("cycle.leased")
        cluster.refresh_from_db()
        report = Report(number=cluster.cycle + 1)
        structlog.contextvars.bind_contextvars(cluster=cluster.name, cycle=report.number)
        adapter = connect(cluster)
        with report.phase("observe"):
            observation = _observe(cluster, adapter, lease, report)
        reached("cycle.observed")
        if observation is not None:
            _steer(cluster, Acting(adapter, observation, lease), report)
        count(cluster, report)
        reached("cycle.closed")
        if observation is not None:
            observed.send_robust(sender=None, cluster=cluster, observation=observation)
    except leases.LeaseLostError as error:
        # Not a defect: this process stood still, and another one goes on with what is written down.
        log.warning("cycle given up", reason=str(error))
        return None
    else:
        return report
    finally:
        structlog.contextvars.unbind_contextvars("cluster", "cycle")
        lease.release()


def _observe(
    cluster: Cluster, adapter: ClusterPort, lease: leases.Lease, report: Report
) -> Observation | None:
    """Look once. When that fails, or only part is seen, the cycle is degraded: say so, plan nothing, stop nobody."""
    try:
        if not cluster.software:
            info = adapter.describe()
            describe_cluster(
                cluster, software=f"{info.kind} {info.version}".strip(), facts=info.facts.items()
            )
        observation = adapter.observe()
    except ClusterUnavailableError as error:
        _degrade(cluster, str(error), lease, report)
        return None
    if observation.degraded:
        _degrade(cluster, "; ".join(observation.faults[:5]), lease, report)
        return None
    return observation


def _degrade(cluster: Cluster, fault: str, lease: leases.Lease, report: Report) -> None:
    report.fault = fault
    with transaction.atomic():
        lease.renew()
        was = cluster.fault
        note_cycle(cluster, fault=fault, changed=False)
        if not was:
            tell_cluster(cluster, "cluster.degraded", fault)
        reached("cycle.degrading")
    reached("cycle.degraded")
    log.warning("cluster cannot be observed", fault=fault)


def _steer(cluster: Cluster, acting: Acting, report: Report) -> None:
    """Everything after a good look."""
    observation = acting.observation
    jobs = {job.id: job for job in observation.jobs}
    with report.phase("verify"):
        endings = ask_after(cluster, jobs, acting.adapter)
        with transaction.atomic():
            acting.lease.renew()
            policies = _policies(cluster, observation)
            plans = open_plans(cluster)
            report.open_before = _shown(plans)
            checkpoints.watch(cluster, jobs)
            following = Following(cluster, jobs, endings)
            verify(plans, following, policies)
            free_stranded(cluster, jobs)
            if following.paused:
                policies = partition_policies(cluster)
            reached("cycle.verifying")
    reached("cycle.verified")
    with report.phase("decide"):
        facts = gather(cluster, open_plans(cluster), policies)
        verdicts = decide_all(observation, facts)
    with report.phase("record"), transaction.atomic():
        acting.lease.renew()
        kept = _record(acting, facts, verdicts, report, cluster)
        reached("cycle.recording")
    reached("cycle.recorded")
    with report.phase("act"):
        report.issued = act(open_plans(cluster), acting)
    reached("cycle.acted")
    kept.close(report)
    write_submit_rules(cluster, verdicts)


def _policies(cluster: Cluster, observation: Observation) -> dict[str, PartitionFacts]:
    """The policies in force; a partition seen for the first time gets one, in shadow."""
    policies = partition_policies(cluster)
    new = [partition.name for partition in observation.partitions if partition.name not in policies]
    for name in new:
        ensure_partition(cluster=cluster, name=name)
    return partition_policies(cluster) if new else policies


def _record(
    acting: Acting, facts: Facts, verdicts: list[Verdicts], report: Report, cluster: Cluster
) -> "KeptCycle":
    """The mirror and the intents, in the caller's transaction."""
    kept = KeptCycle(cluster, report.number)
    for verdict in verdicts:
        report.planned += intend(NewPlans(cluster, kept.row, verdict), facts.plans)
        report.lines.extend(
            f"{verdict.facts.row.name} {decision.job} {decision.action.value}: {decision.explain}"
            for decision in verdict.decisions
        )
    open_now = open_plans(cluster)
    had_fault = cluster.fault
    jobs = rows(cluster, acting.observation, verdicts, open_now, facts.preemptions)
    changed = [
        write_nodes(cluster, acting.observation),
        write_jobs(cluster, jobs),
        _shown(open_now) != report.open_before,
        any(plan.state != PlanState.PROPOSED for plan in open_now),  # its steps are about to move on
    ]
    note_cycle(cluster, fault="", changed=any(changed))
    if had_fault:
        tell_cluster(cluster, "cluster.recovered", had_fault)
    return kept


def _shown(plans: Iterable[Plan]) -> list[tuple[int, str]]:
    return [(plan.pk, plan.state) for plan in plans]


class KeptCycle:
    """The cycle's row, made only when something refers to it: most cycles change nothing and are not kept."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self._cluster = cluster
        self._number = number
        self._started_at = clock.now()
        self._row: Cycle | None = None

    def row(self) -> Cycle:
        """The row, made at first use."""
        if self._row is None:
            self._close_those_that_died()
            self._row = Cycle.objects.create(
                cluster=self._cluster, number=self._number, started_at=self._started_at
            )
        return self._row

    def _close_those_that_died(self) -> None:
        """Whoever holds the lease knows that no other cycle is under way."""
        Cycle.objects.filter(cluster=self._cluster, outcome=CycleOutcome.RUNNING).update(
            finished_at=self._started_at, outcome=CycleOutcome.FAILED, detail="It did not come to its end."
        )

    def close(self, report: Report) -> None:
        """Say how it ended, if it is kept."""
        if self._row is not None:
            Cycle.objects.filter(pk=self._row.pk).update(
                finished_at=clock.now(), outcome=CycleOutcome.OK, phases=report.phases
            )
