"""The planner's input: one partition with its rules, nodes and jobs at one moment (contract A)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model.jobs import Job
from scheduler.model.nodes import Node
from scheduler.model.policy import Mode, OverQuota, VictimOrder


@dataclass(frozen=True, slots=True)
class PartitionRules:
    """The part of a partition's policy that the planner needs.

    `quotas` maps a task level to how many jobs each user may have running at it; `level_names` is for people.
    `paused`: why nobody may be stopped just now, in words ("dave paused the partition"). `stopped` and
    `stopped_by_user`: how many jobs, in all and of each user, were stopped within the last hour; they count against
    `max_stops_per_hour` and `max_stops_per_user_hour` (None: any number).
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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a plan depends on; `now` is epoch seconds. The order of nodes and jobs never matters."""

    now: int
    partition: PartitionRules
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
