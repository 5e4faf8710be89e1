"""A partition's rules and the projects that priorities come from (spec 1.2 to 1.4, contract B)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from scheduler.model.policy_setting import PolicySetting, SettingKind, setting, settings_of
from scheduler.model.resources import Amounts
from scheduler.model.task_types import TaskType

SECONDS, TIMES, LIMIT, LIMIT_FROM_1 = (
    SettingKind.SECONDS, SettingKind.TIMES, SettingKind.LIMIT, SettingKind.LIMIT_FROM_1,
)  # fmt: skip
CHOICE, SWITCH, PATTERNS, SIGNAL = (
    SettingKind.CHOICE, SettingKind.SWITCH, SettingKind.PATTERNS, SettingKind.SIGNAL,
)  # fmt: skip


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


class AskedToSave(StrEnum):
    """Which victims are sent the checkpoint signal. It ends a script that does not listen: the run counts as failed."""

    WHO_SAVES = "who_saves"
    """Who says so in its comment (`ckpt`), or has acknowledged a signal under this name before."""
    EVERYBODY = "everybody"
    """Every job with a batch script."""


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

    Quotas by level: `quotas`: how many jobs each user may have running; `quota_amounts`: what those may hold together;
    `quota_totals`: what all running jobs of the level may hold together. `…_overrides_until`: for some of the
    overrides, the second from which on they count no more. `balance`: who gets nodes of equal compute power.
    `task_types`: what kinds of tasks need where their requests leave it out; the first that fits a job's name counts.
    What the others mean is said where they are declared, and in docs/priority-file.md. What a partition made by hand
    begins with is in `scheduler/model/kind.py`. The order is that of the priority file.
    """

    # fmt: off
    name: str
    mode: Mode = setting(Mode.USER_THEN_TASK, CHOICE, "first", 1, "Who makes room for whom",
        about="mode",
        words={
            Mode.USER: "User: only jobs of lower users make room",
            Mode.USER_THEN_TASK: "User, then task: then also lower tasks of equal users",
            Mode.TASK: "Task: only jobs of lower task level make room",
            Mode.TASK_THEN_USER: "Task, then user: then also equal tasks of lower users",
        },
    )
    enforcement: Enforcement = setting(Enforcement.SHADOW, CHOICE, "first", 2, "Enforcement",
        words={
            Enforcement.SHADOW: "Shadow: plans are made, shown and recorded; nothing is touched",
            Enforcement.APPROVE: "Approve: a plan waits until an administrator accepts it",
            Enforcement.ENFORCE: "Enforce: plans are carried out at once; running jobs are stopped",
        },
    )
    levels: tuple[LevelRule, ...] = ()
    quotas: Mapping[str, int] = field(default_factory=dict)
    quota_amounts: Mapping[str, Amounts] = field(default_factory=dict)
    quota_totals: Mapping[str, Amounts] = field(default_factory=dict)
    over_quota: OverQuota = setting(OverQuota.LOWEST, CHOICE, "submission", 1, "A job beyond its user's quota",
        words={
            OverQuota.LOWEST: "counts as unconfigured: free room only, first to make room",
            OverQuota.HOLD: "is held until its user is under quota again",
            OverQuota.REJECT: "is refused at submission where the plugin is installed, else held",
        },
    )
    user_overrides: Mapping[str, str] = field(default_factory=dict)
    task_overrides: Mapping[str, str] = field(default_factory=dict)
    user_overrides_until: Mapping[str, int] = field(default_factory=dict)
    task_overrides_until: Mapping[str, int] = field(default_factory=dict)
    bands: tuple[tuple[int | None, ...], ...] | None = None
    victim_order: VictimOrder = setting(VictimOrder.SHORTEST_RUNTIME, CHOICE, "order", 2,
        "Within a level, the first to go is",
        about="first to go within a level",
        words={
            VictimOrder.SHORTEST_RUNTIME: "the one that has run for the shortest time",
            VictimOrder.LEAST_LOST_WORK: "the one that loses the least work (time × share of the scarcest resource)",
        },
    )
    exempt_s: int = setting(0, SECONDS, "first", 3, "Left alone at first",
        help="A job that has run for less than this is never stopped.",
    )
    rest_s: int = setting(0, SECONDS, "limits", 1, "Left alone after a stop",
        left_out=0,
        help="A job that has come back is not stopped again until it has run for so long, or has saved its state "
        "since.",
        told="How long a job that has come back from a stop runs before it may be stopped again.",
    )
    grace_s: int = setting(30, SECONDS, "first", 4, "Grace",
        help="Between the checkpoint signal and the requeue.",
    )
    checkpoint_signal: str = setting("USR1", SIGNAL, "stopping", 1, "Checkpoint signal",
        help="USR1, USR2, TERM, INT …: sent to the batch script first. Empty sends none.",
    )
    asked_to_save: AskedToSave = setting(AskedToSave.WHO_SAVES, CHOICE, "stopping", 2,
        "Who is sent the checkpoint signal",
        help="The signal ends a script that does not listen. Whoever is not sent it is requeued at once, which "
        "nobody who waits for its end sees.",
        told="Which victims are asked to save their state.",
        words={
            AskedToSave.WHO_SAVES: "jobs that save: ckpt in the comment, or acknowledged before",
            AskedToSave.EVERYBODY: "every job with a batch script",
        },
    )
    start_deadline_s: int = setting(120, SECONDS, "stopping", 3, "Start deadline",
        help="If the job that room was made for does not run by then, the plan is undone.",
    )
    max_preemptions_per_job: int = setting(3, TIMES, "limits", 6, "Most stops per job",
        unit="times",
        help="A job that has been stopped so often is left alone from then on.",
    )
    not_requeueable: NotRequeueable = setting(NotRequeueable.REQUEUE, CHOICE, "stopping", 4,
        "A running job that cannot be requeued",
        help="Interactive, submitted with --no-requeue, or changed by its user since.",
        told="What becomes of a running job that Slurm does not requeue.",
        words={
            NotRequeueable.LEAVE: "is left alone",
            NotRequeueable.REQUEUE: "is made requeueable again if it was submitted so, else left alone",
            NotRequeueable.CANCEL: "may be cancelled after a notice (its work is lost)",
        },
    )
    cancel_notice_s: int = setting(600, SECONDS, "stopping", 5, "Notice before it may be cancelled",
        help="From the moment in which it is first seen so; its user is told. Only where it may be cancelled.",
        told="With `cancel`: how long after it was first seen so it may be cancelled.",
    )
    no_requeue_users: tuple[str, ...] = setting((), PATTERNS, "submission", 3, "Who may use --no-requeue",
        help="User names or patterns (eval-*). Everybody else's submission with it is refused where the "
        "partition enforces and the plugin is installed. Empty: nobody may.",
        told="Users who may have jobs that are not requeued.",
    )
    min_wait_s: int = setting(0, SECONDS, "limits", 2, "Wait before others are stopped",
        left_out=0,
        help="A job must have waited this long before anybody is stopped for it. 0: no wait.",
        told="How long a job waits before others are stopped for it.",
    )
    cool_down_s: int = setting(300, SECONDS, "limits", 5, "Cool-down after being stopped",
        left_out=0,
        help="For this long after a job was stopped, nobody is stopped for it: two jobs do not take turns "
        "stopping each other.",
        told="How long nobody is stopped for a job that was itself stopped.",
    )
    max_stops_per_hour: int | None = setting(None, LIMIT, "limits", 7, "Most stops within an hour",
        unit="jobs", left_out=None,
        help="In the whole partition. Empty: any number. 0: nobody is stopped.",
        told="Stops within an hour; null: any number.",
    )
    max_stops_per_user_hour: int | None = setting(None, LIMIT, "limits", 8, "Most stops of one user within an hour",
        unit="jobs", left_out=None,
        help="Of each user's jobs in this partition. Empty: any number.",
        told="The same of each user's jobs; null: any number.",
    )
    max_stops_per_job_hour: int | None = setting(None, LIMIT, "limits", 9, "Most stops of one job within an hour",
        unit="times", left_out=None,
        help="Empty: any number.",
        told="Stops of each single job within an hour; null: any number.",
    )
    max_crashes_per_hour: int | None = setting(None, LIMIT_FROM_1, "limits", 10, "Most failed starts within an hour",
        unit="times", left_out=None,
        help="A job that others were stopped for, and that ended badly within a minute of its start so often, "
        "has nobody stopped for it until it has run well or is submitted anew. Empty: however often.",
        told="After so many ends within a minute of the start nobody is stopped for a job; null: however many.",
    )
    protected_jobs: tuple[str, ...] = setting((), PATTERNS, "protection", 4, "Jobs",
        about="protected jobs",
        help="Job ids (4711) or job names (release_*) that are never stopped.",
        told="Ids or names of jobs that are never stopped.",
    )
    protected_users: tuple[str, ...] = setting((), PATTERNS, "protection", 1, "Users",
        about="protected users",
        help="Their jobs are never stopped.",
        told="Users whose jobs are never stopped.",
    )
    protected_accounts: tuple[str, ...] = setting((), PATTERNS, "protection", 2, "Accounts",
        about="protected accounts",
        help="Jobs under these Slurm accounts are never stopped.",
        told="Accounts whose jobs are never stopped.",
    )
    protected_qos: tuple[str, ...] = setting((), PATTERNS, "protection", 3, "QOS",
        about="protected QOS",
        help="Jobs with these QOS are never stopped.",
        told="QOS whose jobs are never stopped.",
    )
    keyword_denied: KeywordDenied = setting(KeywordDenied.DEMOTE, CHOICE, "submission", 2,
        "A job with a keyword that is not its user's",
        words={
            KeywordDenied.DEMOTE: "is accepted; the keyword counts for nothing",
            KeywordDenied.REFUSE: "is refused at submission where the plugin is installed, else accepted",
        },
    )
    order: LineOrder = setting(LineOrder.LEVELS, CHOICE, "order", 1, "Slurm's line stands",
        about="order of Slurm's line",
        told="Who is first in Slurm's line where plans are enforced: by level, or as Slurm would have it.",
        words={
            LineOrder.LEVELS: "higher levels first, inside a level by Slurm's own priority (where plans are enforced)",
            LineOrder.SLURM: "by Slurm's own priority, whatever the level",
        },
    )
    units: bool = setting(True, SWITCH, "units-and-elastic", 1,
        "A job that holds units, such as the tasks of an array",
        about="single units may be given up", left_out=True,
        told="Whether jobs that hold units may lose some of them instead of being stopped.",
        words={
            True: "gives up single units",
            False: "is stopped whole",
        },
    )
    elastic: bool = setting(True, SWITCH, "units-and-elastic", 4, "A job that says it is elastic",
        about="elastic jobs give up workers", left_out=True,
        told="Whether elastic jobs give up workers before anybody is stopped.",
        words={
            True: "gives up workers before anybody is stopped",
            False: "is treated like any other job",
        },
    )
    partial: Partial = setting(Partial.TAKE, CHOICE, "units-and-elastic", 2,
        "A request in units that does not fit whole",
        left_out=Partial.SPARE,
        told="Whether others are stopped for a part of a request in units.",
        words={
            Partial.SPARE: "gets only free room; nobody is stopped for a part of it",
            Partial.TAKE: "gets as many units as can be had; others are stopped for them",
        },
    )
    give_back: GiveBack = setting(GiveBack.UNITS, CHOICE, "units-and-elastic", 3, "What is left over goes back to",
        left_out=GiveBack.UNITS,
        told="How what is left over goes back.",
        words={
            GiveBack.UNITS: "the highest first, each as many units as fit",
            GiveBack.WHOLE: "first those who can keep all they had, then units",
        },
    )
    regrow_s: int = setting(0, SECONDS, "units-and-elastic", 5, "Between two restarts to grow",
        help="A job that grows only by a restart is not restarted again sooner. 0: no limit.",
        told="How long a job is not restarted again to grow; 0: no limit.",
    )
    patience_s: int = setting(0, SECONDS, "limits", 3, "Patience",
        left_out=0,
        help="Nobody is stopped for a job that is forecast to start by itself within this time. If it has not "
        "started by then, others may be stopped for it. 0: no patience.",
        told="Nobody is stopped for a job that is forecast to start by itself within so many seconds.",
    )
    dispatch: Dispatch = setting(Dispatch.SLURM, CHOICE, "limits", 4, "A job that waits for room",
        left_out=Dispatch.SLURM,
        told="Whether nodes are kept for the first job that waits (managed).",
        words={
            Dispatch.SLURM: "starts wherever Slurm finds room for it",
            Dispatch.MANAGED: "has the earliest nodes kept for it, if it is the first (where plans are enforced)",
        },
    )
    balance: Balance | None = None
    task_types: tuple[TaskType, ...] = ()
    # fmt: on

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


SETTINGS: Mapping[str, PolicySetting] = settings_of(PartitionPolicy)
"""By key."""
SENTENCES: Mapping[str, str] = {
    f"{key}: {text}": text
    for key, each in SETTINGS.items()
    for text in (each.title, each.about, each.help, *each.words.values())
    if text
}
"""What people read of them, for the catalogues of messages."""
