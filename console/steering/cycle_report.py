"""What a cycle did, as it tells it."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from django.db import transaction

from console.cluster.models import Cluster
from console.cluster.services import describe_cluster, note_cycle
from console.core.failpoints import failpoint
from console.steering.journal import tell_cluster
from console.steering.lease import Lease
from console.steering.models import BEGUN_STATES, Plan, PlanKind
from scheduler.model.observation import Observation
from scheduler.model.plan import How
from scheduler.model.sentence import facts_of
from scheduler.ports import ClusterPort, ClusterUnavailableError


@dataclass(slots=True)
class Report:
    """What a cycle did. `lines`: one per decision, for people and scripts."""

    number: int
    fault: str = ""
    has_failed: bool = False
    """`fault` is an exception that was raised, and not what kept the cluster from being observed."""
    lines: list[str] = field(default_factory=list)
    planned: int = 0
    issued: int = 0
    placed: int = 0
    """Jobs that got another nice."""
    kept: int = 0
    """Jobs that nodes were asked to be kept for, or no longer."""
    begun: int = 0
    """Jobs that were asked to begin on chosen nodes, or later."""
    phases: dict[str, float] = field(default_factory=dict)
    open_before: list[tuple[int, str]] = field(default_factory=list)
    """Plans that were open when the cycle began, with their states."""
    asked_before: list[tuple[object, ...]] = field(default_factory=list)
    """What was asked of people then."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure one phase, in seconds."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = round(time.perf_counter() - before, 4)


def shown(plans: Iterable[Plan]) -> list[tuple[int, str]]:
    """What pages show of plans first: which there are, in which states."""
    return [(plan.pk, plan.state) for plan in plans]


def asked(plans: Iterable[Plan]) -> list[tuple[object, ...]]:
    """What is asked of people in them. Durations grow by themselves, and are no news."""
    return [(plan.pk, plan.version, facts_of(plan.not_now), len(plan.alternatives)) for plan in plans]


# The one look of a cycle. When it fails, or only part is seen, the cycle is degraded: nothing is planned on it.

log = structlog.get_logger(__name__)
_described: dict[int, ClusterPort] = {}
"""By cluster who has told what it is. It is asked again after a fault: a Slurm that was away may be another release."""


def observe(cluster: Cluster, adapter: ClusterPort, lease: Lease, report: Report) -> Observation | None:
    """Look once; quickly where no nodes are about to change hands: before anybody is stopped another look is taken
    (`ledger`), and what became of stops, of the beneficiary and of releases is seen of jobs alone.

    When that fails, or only part is seen, the cycle is degraded: say so, plan nothing, stop nobody.
    """
    try:
        if _described.get(cluster.pk) is not adapter or cluster.fault or not cluster.software:
            info = adapter.describe()
            describe_cluster(
                cluster, software=f"{info.kind} {info.version}".strip(), facts=info.facts.items()
            )
            _described[cluster.pk] = adapter
        begun = Plan.objects.filter(cluster=cluster, state__in=BEGUN_STATES).only("kind", "victims")
        observation = adapter.observe(quick=not any(map(_gives_nodes, begun)))
    except ClusterUnavailableError as error:
        _degrade(cluster, str(error), lease, report)
        return None
    if observation.degraded:
        _degrade(cluster, "; ".join(observation.faults[:5]), lease, report)
        return None
    return observation


def _gives_nodes(plan: Plan) -> bool:
    """Whether a plan has nodes change hands, kept meanwhile: what is kept is seen by whole looks only."""
    return plan.kind != PlanKind.PREEMPT or any(victim["how"] == How.SWAP for victim in plan.victims)


def _degrade(cluster: Cluster, fault: str, lease: Lease, report: Report) -> None:
    report.fault = fault
    with transaction.atomic():
        lease.renew()
        was = cluster.fault
        note_cycle(cluster, fault=fault, changed=False)
        if not was:
            tell_cluster(cluster, "cluster.degraded", fault)
        failpoint("cycle.degrading")
    failpoint("cycle.degraded")
    log.warning("cluster cannot be observed", fault=fault)
