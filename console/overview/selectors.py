"""What the overview and the partition page show, gathered from the apps below in a fixed number of queries."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from console.accounts.rules import is_signed_in, once
from console.cluster.models import Cluster, ClusterPartition, JobPhase
from console.cluster.selectors import SeenNode, alike
from console.core import clock
from console.overview.nodemap import share
from console.overview.openplans import OpenPlan, open_plans_of
from console.overview.plots import Plot
from console.partitions.models import Partition
from console.partitions.selectors import all_partitions, policy_of
from console.reports.seen import Seen, level_field, see
from console.steering.models import OPEN_STATES, STOP_KINDS, ActionState, Plan, PlannedAction
from scheduler.model.jobs import Level
from scheduler.model.policy import PartitionPolicy
from scheduler.model.resource_kinds import DRAWN

STALE_S = 30
"""An observation older than this is called old."""
HELD_PHASES = (JobPhase.RUNNING, JobPhase.COMPLETING)
MB_PER_GB = 1024


@dataclass(frozen=True, slots=True)
class Capacity:
    """One resource over a partition's nodes. `away`: on nodes that take no jobs. Memory in MB."""

    name: str
    total: int
    used: int
    away: int = 0

    @property
    def label(self) -> str:
        """What people call it."""
        names = {"gpu": _("GPUs"), "cpu": _("CPUs"), "mem": _("memory"), "npu": _("NPUs")}
        return names.get(self.name, self.name)

    @property
    def used_share(self) -> str:
        """`87.5%`, for a bar."""
        return share(self.used, self.total)

    @property
    def away_share(self) -> str:
        """The part that is on nodes which take no jobs, for a bar."""
        return share(self.away, self.total)

    @property
    def text(self) -> str:
        """`28 / 32`; memory in GB."""
        if self.name == "mem":
            return f"{self.used / MB_PER_GB:.0f} / {self.total / MB_PER_GB:.0f} GB"
        return f"{self.used} / {self.total}"


@dataclass(frozen=True, slots=True)
class LevelCount:
    """How many jobs wait at a level; `index` None is unconfigured."""

    index: int | None
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class PartitionState:
    """All that a card of the overview says about a partition."""

    partition: Partition
    policy: PartitionPolicy
    slurm_state: str
    capacities: list[Capacity]
    nodes: list[SeenNode]
    waiting: list[LevelCount]
    running: int
    plans: list[OpenPlan] = field(default_factory=list)
    stops_today: int = 0
    immune: int = 0
    """How many running jobs nobody stops, because Slurm does not requeue them."""
    running_levels: Mapping[tuple[Level, Level], int] = field(default_factory=dict)
    """How many jobs run (or end) of each pair of a user level and a task level."""
    grouped: frozenset[str] = frozenset()
    """The phases in which some jobs belong to arrays or groups."""
    day: list[Plot] = field(default_factory=list)
    """The last day, where a page shows it."""

    @property
    def waiting_total(self) -> int:
        """How many jobs wait."""
        return sum(level.count for level in self.waiting)

    @property
    def nodes_off(self) -> int:
        """How many nodes take no jobs."""
        return sum(not node.up for node in self.nodes)


def day_start() -> datetime:
    """Midnight, where this installation is."""
    return timezone.localtime(clock.now()).replace(hour=0, minute=0, second=0, microsecond=0)


def is_stale(cluster: Cluster) -> bool:
    """Whether the last look at the cluster is too old to be called live."""
    return cluster.observed_at is None or (clock.now() - cluster.observed_at).total_seconds() > STALE_S


def listed_partitions(user: Any) -> list[Partition]:
    """The partitions that a person sees, with their policies and `slurm_state`, by name.

    Asked once per request: the frame's navigation needs them, and most pages do.
    """

    return once(user, "listed partitions", lambda: list(_listed()) if is_signed_in(user) else [])


def _listed() -> QuerySet[Partition]:
    seen = ClusterPartition.objects.filter(cluster=OuterRef("cluster"), name=OuterRef("name"))
    return all_partitions().annotate(slurm_state=Subquery(seen.values("state")[:1]))


def partition_states(
    cluster: Cluster, partitions: Iterable[Partition], seen: Seen | None = None
) -> list[PartitionState]:
    """A state per partition of `listed_partitions`: four queries, whatever their number, two where they were seen."""
    chosen = [partition for partition in partitions if partition.revision_id]
    names = [partition.name for partition in chosen]
    seen = seen or see(cluster, names)
    nodes, jobs = seen.nodes, seen.jobs
    plans = open_plans_of(cluster, names)
    stops = stops_since(cluster, day_start())
    return [_state(partition, nodes, jobs, plans, stops) for partition in chosen]


def _state(
    partition: Partition,
    nodes: Iterable[SeenNode],
    jobs: Iterable[Mapping[str, Any]],
    plans: Iterable[OpenPlan],
    stops: Mapping[str, int],
) -> PartitionState:
    policy = policy_of(partition)
    theirs = [node for node in nodes if partition.name in node.partitions]
    rows = [row for row in jobs if row["partition"] == partition.name]
    return PartitionState(
        partition=partition,
        policy=policy,
        slurm_state=getattr(partition, "slurm_state", None) or "",
        capacities=capacities(theirs),
        nodes=theirs,
        waiting=_waiting(policy, rows),
        running=sum(row["count"] for row in rows if row["phase"] in HELD_PHASES),
        running_levels=_pairs(row for row in rows if row["phase"] in HELD_PHASES),
        plans=[plan for plan in plans if plan.partition == partition.name],
        stops_today=stops.get(partition.name, 0),
        immune=sum(row["immune_jobs"] for row in rows if row["phase"] == JobPhase.RUNNING),
        grouped=frozenset(row["phase"] for row in rows if row["grouped"]),
    )


def _pairs(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Level, Level], int]:
    found: Counter[tuple[Level, Level]] = Counter()
    for row in rows:
        found[row["user_level"], row["task_level"]] += row["count"]
    return found


def _waiting(policy: PartitionPolicy, rows: Iterable[Mapping[str, Any]]) -> list[LevelCount]:
    axis = level_field(policy.mode)
    counts: dict[int | None, int] = {}
    for row in rows:
        if row["phase"] == JobPhase.PENDING:
            index = row[axis]
            counts[index] = counts.get(index, 0) + row["count"]
    ordered = sorted(counts, key=lambda index: (index is None, index or 0))
    return [LevelCount(index, policy.level_name(index), counts[index]) for index in ordered]


def capacities(nodes: Collection[SeenNode]) -> list[Capacity]:
    """The main resources over some nodes, GPUs first."""
    total: dict[str, int] = {}
    used: dict[str, int] = {}
    away: dict[str, int] = {}
    for node, count in alike(nodes):
        for name, amount in node.total.items():
            held = min(node.used.get(name, 0), amount)
            total[name] = total.get(name, 0) + amount * count
            used[name] = used.get(name, 0) + held * count
            away[name] = away.get(name, 0) + (0 if node.up else (amount - held) * count)
    return [Capacity(name, total[name], used[name], away[name]) for name in DRAWN if total.get(name)]


def open_plans(cluster: Cluster) -> dict[int, Plan]:
    """The plans that are not over, by id."""
    rows = Plan.objects.filter(cluster=cluster, state__in=OPEN_STATES)
    return rows.only(
        "id", "job_id", "job_restarts", "tasks", "state", "kind", "enforcement", "not_now"
    ).in_bulk()


def stops_since(cluster: Cluster, moment: datetime) -> dict[str, int]:
    """How many jobs were stopped since then, by partition."""
    return dict(_stops_by_partition(cluster.pk, moment))


def _stops_by_partition(cluster: int, moment: datetime) -> QuerySet[PlannedAction, Any]:
    return done_stops(cluster, moment).order_by().values_list("plan__partition").annotate(Count("id"))


def done_stops(cluster: Cluster | int, moment: datetime) -> QuerySet[PlannedAction]:
    """Stops that were issued since then, and not refused."""
    return PlannedAction.objects.filter(
        cluster=cluster,
        kind__in=STOP_KINDS,
        state__in=(ActionState.ISSUED, ActionState.VERIFIED),
        issued_at__gte=moment,
    )
