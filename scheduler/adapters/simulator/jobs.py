"""A simulated job: what was submitted (`JobSpec`) and what has become of it (`SimJob`)."""

from dataclasses import dataclass, field
from enum import StrEnum

from scheduler.model.jobs import JobState, Request, RunKey

FOREVER_S = 365 * 86_400
"""Slurm plans a job without a time limit as lasting a year."""


class OnSignal(StrEnum):
    """What a job's batch script does when the checkpoint signal reaches it."""

    IGNORE = "ignore"
    CHECKPOINT = "checkpoint"
    """After `checkpoint_s` seconds its progress is saved and it says so in its comment."""
    DIE = "die"
    """It has no trap: the signal ends it, as a shell script is ended by USR1."""
    REQUEUE = "requeue"
    """It saves, and has itself requeued (`scontrol requeue`)."""


class HeldBy(StrEnum):
    """By whom a job is held."""

    NO = ""
    USER = "user"
    ADMIN = "admin"
    REQUEUED = "requeued"


class Afterwards(StrEnum):
    """What becomes of a completing job once its resources are free."""

    GONE = "gone"
    REQUEUED = "requeued"
    REQUEUED_HELD = "requeued_held"


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a user submits. Times are seconds (`begin`: an epoch second).

    `partitions`: empty = the cluster's first. `run_time_s` None: works until it is stopped or its time is up.
    `array_tasks` > 0 makes that many tasks `<id>_0`, `<id>_1`, ... `dependency`: Slurm's form,
    `afterok:12:13,afterany:4`. `fails`: ends with a non-zero exit code. `completing_s`: how long its ending
    takes (None: as on its cluster). `checkpoint_s`: how long a checkpoint takes (`on_signal` = checkpoint).
    """

    name: str
    user: str
    request: Request
    partitions: tuple[str, ...] = ()
    account: str = ""
    wckey: str = ""
    qos: str = "normal"
    comment: str = ""
    run_time_s: int | None = None
    time_limit_s: int | None = None
    begin: int | None = None
    dependency: str = ""
    nice: int = 0
    held: bool = False
    batch: bool = True
    requeue: bool = True
    array_tasks: int = 0
    fails: bool = False
    on_signal: OnSignal = OnSignal.IGNORE
    checkpoint_s: int = 1
    completing_s: int | None = None


@dataclass(slots=True)
class SimJob:
    """One job (or array task) with its state. Changed only by `lifecycle` and `schedule`.

    `saved_s`: seconds of work that the last checkpoint has kept; `resumed_s`: where the present run began.
    `ends_at`: when the present run ends by itself; `limit_at`: when Slurm would end it.
    `nice` is taken off the cluster's priority, unless that is `fixed` by an administrator.
    `begin`: it does not start before; `put_off`: the begin time that Giveway has set, 0: none.
    `waits_for`: ids it depends on still, each with the kind of dependency (`never`: that one has failed).
    """

    id: str
    spec: JobSpec
    submit: int
    priority: int
    partitions: tuple[str, ...]
    nice: int = 0
    fixed: bool = False
    comment: str = ""
    admin_comment: str = ""
    state: JobState = JobState.PENDING
    held: HeldBy = HeldBy.NO
    reason: str = "None"
    array_job_id: str = ""
    begin: int = 0
    put_off: int = 0
    waits_for: dict[str, str] = field(default_factory=dict)
    restarts: int = 0
    start: int | None = None
    alloc: dict[str, dict[str, int]] = field(default_factory=dict)
    ends_at: int | None = None
    limit_at: int | None = None
    saved_s: int = 0
    resumed_s: int = 0
    checkpoint_at: int | None = None
    free_at: int | None = None
    afterwards: Afterwards = Afterwards.GONE
    killed: bool = False
    estimated_start: int | None = None

    @property
    def run(self) -> RunKey:
        """The present run, as an observation names it."""
        return RunKey(self.id, self.start or 0, self.restarts)

    @property
    def queue_key(self) -> tuple[int, int, int, int]:
        """The order of Slurm's queue: priority, then submit time, then job id, then array task."""
        number, _, task = self.id.partition("_")
        return (-self.priority, self.submit, int(number), int(task or 0))

    def next_event(self) -> int | None:
        """The next moment at which something happens to this job by itself, apart from being started."""
        if self.state is JobState.COMPLETING:
            return self.free_at
        if self.state is JobState.RUNNING:
            moments = [
                moment for moment in (self.ends_at, self.limit_at, self.checkpoint_at) if moment is not None
            ]
            return min(moments, default=None)
        return None
