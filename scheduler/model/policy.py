"""A partition's rules and the projects that priorities come from (spec 1.2 to 1.4, contract B)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from scheduler.model.resources import Amounts
from scheduler.model.task_types import TaskType


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


class Partial(StrEnum):
    """What becomes of a request in units that even everything that may be taken does not satisfy (spec 2.2)."""

    SPARE = "spare"
    """It gets only what is free; the others keep theirs."""
    TAKE = "take"
    """It gets as many whole units as can be had."""


class GiveBack(StrEnum):
    """How what is left over goes back to those it was taken from (spec 2.2)."""

    UNITS = "units"
    """The highest first, each as many whole units as fit."""
    WHOLE = "whole"
    """First those who can keep all they had, the highest first; then units."""


class Dispatch(StrEnum):
    """Who places the jobs (spec 3.1)."""

    SLURM = "slurm"
    MANAGED = "managed"


class Otherwise(StrEnum):
    """What a balanced job does when no set of nodes is even enough (spec 5)."""

    WAIT = "wait"
    NEAREST = "nearest"


class AppliesTo(StrEnum):
    """Which jobs of a partition get even sets (spec 5, point 4)."""

    ALL = "all"
    """Every job that asks for several processors: the partition is designated."""
    ASKED = "asked"
    """Those that ask for it, and those whose type says so."""


@dataclass(frozen=True, slots=True)
class Balance:
    """A partition's rule for sets of equal compute power (spec 5).

    `max_distance`: the largest power of a set minus its smallest, at most. `swap_below_s`: a running job that has
    run for less may have one of its nodes exchanged for a free one (0: none may). `most_wait_s`: who was submitted so
    long ago waits for no even set any more, but takes the nearest (0: it waits as long as it takes).
    """

    resource: str
    max_distance: float
    otherwise: Otherwise = Otherwise.WAIT
    swap_below_s: int = 0
    applies_to: AppliesTo = AppliesTo.ALL
    most_wait_s: int = 0

    def takes_nearest(self, waited_s: int) -> bool:
        """Whether a job that was submitted so long ago takes the nearest set where none is even."""
        return self.otherwise is Otherwise.NEAREST or self.has_waited(waited_s)

    def has_waited(self, waited_s: int) -> bool:
        """Whether a job that was submitted so long ago has waited for evenness as long as it is to."""
        return 0 < self.most_wait_s <= waited_s


class OverQuota(StrEnum):
    """What becomes of a job beyond its user's quota (spec 1.3)."""

    LOWEST = "lowest"
    HOLD = "hold"
    REJECT = "reject"


class KeywordDenied(StrEnum):
    """What becomes of a submission with a level keyword that its user may not use."""

    DEMOTE = "demote"
    """It is accepted; the keyword counts for nothing."""
    REFUSE = "refuse"
    """It is refused at submission where the job_submit plugin is installed, else demoted."""


class NotRequeueable(StrEnum):
    """What becomes of a running job that Slurm does not requeue, when it would have to make room."""

    LEAVE = "leave"
    """It is left alone."""
    REQUEUE = "requeue"
    """One that was submitted requeueable is made so again (Requeue=1); the others are left alone."""
    CANCEL = "cancel"
    """It may be cancelled, `cancel_notice_s` after it was first seen so."""


class Enforcement(StrEnum):
    """How far a partition's plans go (contract B)."""

    SHADOW = "shadow"
    APPROVE = "approve"
    ENFORCE = "enforce"


class LineOrder(StrEnum):
    """Who is first in Slurm's line of a partition that enforces."""

    LEVELS = "levels"
    """Higher levels; inside a level whom Slurm's own priority puts first."""
    SLURM = "slurm"
    """Whom Slurm's own priority puts first."""


@dataclass(frozen=True, slots=True)
class LevelRule:
    """One level of a partition; its index in the policy is its rank, 0 the highest.

    `min_score`: the smallest score that gives this level (None: by keyword, pattern or override only).
    `keyword`: a job named `<keyword>_...` has this task level (¶197, ¶199).
    `keyword_users`: who may use the keyword, as shell-style patterns of user names; empty = nobody, None = everybody
    (the keyword is open: contract B leaves it out).
    """

    name: str
    min_score: float | None = None
    keyword: str | None = None
    keyword_users: tuple[str, ...] | None = None


LONGEST_GROUP_NAME = 64
"""Characters: a group's name stands in one column together with its user and account."""


@dataclass(frozen=True, slots=True)
class TaskRule:
    """A project's shell-style pattern of job names with an importance or a level of its own (¶69).

    `one_request`: jobs of one user and account that fit it are one request in units (spec 2.5). `elastic_min`: they
    are elastic and go on with so many workers; `elastic_wish`: so many they would like to have (None: as many as they
    have). What a job says in its comment comes before both.
    """

    pattern: str
    importance: float = 1.0
    level: str | None = None
    one_request: bool = False
    elastic_min: int | None = None
    elastic_wish: int | None = None


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """A project as it counts for priorities: score = size / grade * urgency (¶182)."""

    code: str
    size: float
    grade: float
    urgency: float
    slurm_account: str = ""
    members: frozenset[str] = frozenset()
    tasks: tuple[TaskRule, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionPolicy:
    """All rules of one partition. `bands` are lists of level indexes, highest band first (spec 2.3).

    Limits: `exempt_s`: how long a job runs before it may be stopped. `rest_s`: how long one runs that has come back
    from a stop. `min_wait_s`: how long a job waits before others are stopped for it. `cool_down_s`: how long after it
    was stopped nobody is stopped for a job. `max_stops_per_hour`, `max_stops_per_user_hour`,
    `max_stops_per_job_hour`: stops within an hour, in all, of one user's jobs and of one job. `max_crashes_per_hour`:
    a job that others were stopped for and that ended badly at once so often within an hour has nobody stopped for it
    (None: any number). `protected_…`: shell-style patterns of what is never stopped; of jobs, their ids or names.
    `no_requeue_users`: shell-style patterns of the users who may have jobs that are not requeued; empty = nobody.
    `units`, `elastic`, `partial`, `give_back`: as in the planner's rules (contract A). `regrow_s`: for so long after
    a restart by which it shrank or grew, a job is not restarted to grow again. `patience_s`: nobody is stopped for a
    job that is predicted to start by itself within so long (spec 3.1); once, and not beyond it. `dispatch`: whether
    nodes are kept for the first job that waits. `balance`: who gets nodes of equal compute power. `task_types`: what
    kinds of tasks need where their requests leave it out; the first that fits a job's name counts.
    What a partition made by hand begins with is in `scheduler/model/kind.py`.

    Quotas by level: `quotas`: how many jobs each user may have running; `quota_amounts`: what those may hold together;
    `quota_totals`: what all running jobs of the level may hold together.

    `…_overrides_until`: for some of the overrides, the second from which on they count no more.
    """

    name: str
    mode: Mode = Mode.USER_THEN_TASK
    enforcement: Enforcement = Enforcement.SHADOW
    levels: tuple[LevelRule, ...] = ()
    quotas: Mapping[str, int] = field(default_factory=dict)
    quota_amounts: Mapping[str, Amounts] = field(default_factory=dict)
    quota_totals: Mapping[str, Amounts] = field(default_factory=dict)
    over_quota: OverQuota = OverQuota.LOWEST
    user_overrides: Mapping[str, str] = field(default_factory=dict)
    task_overrides: Mapping[str, str] = field(default_factory=dict)
    user_overrides_until: Mapping[str, int] = field(default_factory=dict)
    task_overrides_until: Mapping[str, int] = field(default_factory=dict)
    bands: tuple[tuple[int | None, ...], ...] | None = None
    victim_order: VictimOrder = VictimOrder.SHORTEST_RUNTIME
    exempt_s: int = 0
    grace_s: int = 30
    checkpoint_signal: str = "USR1"
    start_deadline_s: int = 120
    max_preemptions_per_job: int = 3
    not_requeueable: NotRequeueable = NotRequeueable.REQUEUE
    cancel_notice_s: int = 600
    no_requeue_users: tuple[str, ...] = ()
    min_wait_s: int = 0
    cool_down_s: int = 300
    max_stops_per_hour: int | None = None
    max_stops_per_user_hour: int | None = None
    protected_jobs: tuple[str, ...] = ()
    protected_users: tuple[str, ...] = ()
    protected_accounts: tuple[str, ...] = ()
    protected_qos: tuple[str, ...] = ()
    keyword_denied: KeywordDenied = KeywordDenied.DEMOTE
    order: LineOrder = LineOrder.LEVELS
    rest_s: int = 0
    max_stops_per_job_hour: int | None = None
    max_crashes_per_hour: int | None = None
    units: bool = True
    elastic: bool = True
    partial: Partial = Partial.TAKE
    give_back: GiveBack = GiveBack.UNITS
    regrow_s: int = 0
    patience_s: int = 0
    dispatch: Dispatch = Dispatch.SLURM
    balance: Balance | None = None
    task_types: tuple[TaskType, ...] = ()

    def at(self, now: int) -> "PartitionPolicy":
        """The policy without the overrides that have ended by `now`."""
        return replace(
            self,
            user_overrides=_still(self.user_overrides, self.user_overrides_until, now),
            task_overrides=_still(self.task_overrides, self.task_overrides_until, now),
        )

    @property
    def stops_per_job_hour(self) -> int:
        """The most times that one job is stopped within an hour, by all these limits together."""
        most = self.max_preemptions_per_job
        return most if self.max_stops_per_job_hour is None else min(most, self.max_stops_per_job_hour)

    def level_index(self, name: str) -> int | None:
        """The rank of the level called `name`, or None when there is no such level."""
        return next((i for i, level in enumerate(self.levels) if level.name == name), None)

    def level_name(self, level: int | None) -> str:
        """What people call a level index; `unconfigured` for None."""
        if level is None:
            return "unconfigured"
        return self.levels[level].name if level < len(self.levels) else f"level {level}"


def _still(overrides: Mapping[str, str], until: Mapping[str, int], now: int) -> Mapping[str, str]:
    return {name: level for name, level in overrides.items() if name not in until or now < until[name]}
