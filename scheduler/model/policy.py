"""A partition's rules and the projects that priorities come from (spec 1.2 to 1.4, contract B)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Mode(StrEnum):
    """Which priority decides, and which one breaks the tie (document 000, ¶75-¶83)."""

    USER = "user"
    USER_THEN_TASK = "user_then_task"
    TASK = "task"
    TASK_THEN_USER = "task_then_user"


class VictimOrder(StrEnum):
    """Who goes first inside a level."""

    SHORTEST_RUNTIME = "shortest_runtime"
    LEAST_LOST_WORK = "least_lost_work"


class OverQuota(StrEnum):
    """What becomes of a job beyond its user's quota (spec 1.3)."""

    LOWEST = "lowest"
    HOLD = "hold"
    REJECT = "reject"


class Enforcement(StrEnum):
    """How far a partition's plans go (contract B)."""

    SHADOW = "shadow"
    APPROVE = "approve"
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True)
class LevelRule:
    """One level of a partition; its index in the policy is its rank, 0 the highest.

    `min_score`: the smallest score that gives this level (None: by keyword, pattern or override only).
    `keyword`: a job named `<keyword>_...` has this task level (¶197, ¶199).
    """

    name: str
    min_score: float | None = None
    keyword: str | None = None


@dataclass(frozen=True, slots=True)
class TaskPattern:
    """A project's shell-style pattern of job names with an importance or a level of its own (¶69)."""

    pattern: str
    importance: float = 1.0
    level: str | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """A project as it counts for priorities: score = size / grade * urgency (¶182)."""

    code: str
    size: float
    grade: float
    urgency: float
    slurm_account: str = ""
    members: frozenset[str] = frozenset()
    tasks: tuple[TaskPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionPolicy:
    """All rules of one partition. `bands` are lists of level indexes, highest band first (spec 2.3)."""

    name: str
    mode: Mode = Mode.USER_THEN_TASK
    enforcement: Enforcement = Enforcement.SHADOW
    levels: tuple[LevelRule, ...] = ()
    quotas: Mapping[str, int] = field(default_factory=dict)
    over_quota: OverQuota = OverQuota.LOWEST
    user_overrides: Mapping[str, str] = field(default_factory=dict)
    task_overrides: Mapping[str, str] = field(default_factory=dict)
    bands: tuple[tuple[int | None, ...], ...] | None = None
    victim_order: VictimOrder = VictimOrder.SHORTEST_RUNTIME
    exempt_s: int = 0
    grace_s: int = 30
    checkpoint_signal: str = "USR1"
    start_deadline_s: int = 120
    max_preemptions_per_job: int = 3
    cancel_if_not_requeueable: bool = False

    def level_index(self, name: str) -> int | None:
        """The rank of the level called `name`, or None when there is no such level."""
        return next((i for i, level in enumerate(self.levels) if level.name == name), None)

    def level_name(self, level: int | None) -> str:
        """What people call a level index; `unconfigured` for None."""
        if level is None:
            return "unconfigured"
        return self.levels[level].name if level < len(self.levels) else f"level {level}"
