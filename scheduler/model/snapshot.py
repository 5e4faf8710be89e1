"""The planner's input: one partition with its rules, nodes and jobs at one moment (contract A)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model.jobs import SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.policy import Balance, Dispatch, GiveBack, Mode, OverQuota, Partial, VictimOrder
from scheduler.model.resources import Amounts


@dataclass(frozen=True, slots=True)
class PartitionRules:
    """The part of a partition's policy that the planner needs.

    `quotas` maps a task level to how many jobs each user may have running at it, `quota_amounts` to what those may hold
    together, `quota_totals` to what everybody's may; `level_names` is for people.
    `paused`: why nobody may be stopped just now, in words ("dave paused the partition"). `stopped` and
    `stopped_by_user`: how many jobs, in all and of each user, were stopped within the last hour; they count against
    `max_stops_per_hour` and `max_stops_per_user_hour` (None: any number).

    `rest_s`, `max_stops_per_job_hour`, `max_crashes_per_hour`: as in `PartitionPolicy`; jobs tell what counts.

    `units`, `elastic`: whether jobs may lose some of their units, or workers, instead of being stopped. `patience_s`:
    nobody is stopped for a job that is predicted to start by itself within this.
    """

    name: str
    mode: Mode
    victim_order: VictimOrder = VictimOrder.SHORTEST_RUNTIME
    bands: tuple[tuple[int | None, ...], ...] | None = None
    exempt_s: int = 0
    quotas: Mapping[int, int] = field(default_factory=dict)
    over_quota: OverQuota = OverQuota.LOWEST
    level_names: tuple[str, ...] = ()
    paused: str = ""
    min_wait_s: int = 0
    cool_down_s: int = 0
    max_stops_per_hour: int | None = None
    max_stops_per_user_hour: int | None = None
    stopped: int = 0
    stopped_by_user: Mapping[str, int] = field(default_factory=dict)
    units: bool = True
    elastic: bool = True
    partial: Partial = Partial.SPARE
    give_back: GiveBack = GiveBack.UNITS
    dispatch: Dispatch = Dispatch.SLURM
    patience_s: int = 0
    balance: Balance | None = None
    quota_amounts: Mapping[int, Amounts] = field(default_factory=dict)
    quota_totals: Mapping[int, Amounts] = field(default_factory=dict)
    rest_s: int = 0
    max_stops_per_job_hour: int | None = None
    max_crashes_per_hour: int | None = None

    @property
    def has_quotas(self) -> bool:
        """Whether there is any limit of a level."""
        return bool(self.quotas or self.quota_amounts or self.quota_totals)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a plan depends on; `now` is epoch seconds. The order of nodes and jobs never matters."""

    now: int
    partition: PartitionRules
    nodes: tuple[SnapshotNode, ...]
    jobs: tuple[SnapshotJob, ...]
