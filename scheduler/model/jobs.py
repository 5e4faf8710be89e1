"""Jobs: as observed on the cluster (`ObservedJob`) and as planned for one partition (`Job`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler.model.plan import How, Shrinking
from scheduler.model.resources import Amounts

Level = int | None
"""A level's index, 0 the highest; `None` = nothing configured = below every integer (document 000, ¶70)."""


class JobState(StrEnum):
    """Where a job is, as far as planning is concerned."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETING = "completing"
    """Ending: still holds its resources, but they are coming free. Never a victim."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """What identifies one run of a job: after a requeue the same job id is a different run."""

    job_id: str
    start: int
    restarts: int = 0

    def __str__(self) -> str:
        return f"{self.job_id}@{self.start}#{self.restarts}"


@dataclass(frozen=True, slots=True)
class Request:
    """What a pending job asks for; exactly one of the shapes.

    `nodes`/`per_node`: that many different nodes, each giving `per_node`.
    `spread`: any amounts on any nodes adding up to this (the document's plain counting of processors).
    `parts`: it comes in so many equal parts, each whole on some node (Slurm's tasks, each with a CPU and its memory).
    `unit`/`count`: that many units, each whole on some node (spec 2.1); `partial`: fewer are welcome too.
    `features` must all be on a node; `only_nodes` (if not empty) and `not_nodes` limit where the job may go.
    Of further sets of features, all of one: `any_of`, on each node some one of them; `same_of`, on all nodes the same.
    `counted`: so many of the `nodes` with all of each set; the numbers add up to `nodes`.
    `exclusive`: every node given must hold nobody else.
    `one_of`: each node gives, besides, one of these amounts, all nodes the same one. `in_unit`: all nodes are of one
    compute unit.
    """

    nodes: int = 0
    per_node: Amounts = field(default_factory=dict)
    spread: Amounts = field(default_factory=dict)
    parts: int = 0
    unit: Amounts = field(default_factory=dict)
    count: int = 0
    partial: bool = True
    features: frozenset[str] = frozenset()
    only_nodes: frozenset[str] = frozenset()
    not_nodes: frozenset[str] = frozenset()
    exclusive: bool = False
    any_of: tuple[frozenset[str], ...] = ()
    same_of: tuple[frozenset[str], ...] = ()
    counted: tuple[tuple[int, frozenset[str]], ...] = ()
    one_of: tuple[Amounts, ...] = ()
    in_unit: bool = False


@dataclass(frozen=True, slots=True)
class Elastic:
    """How far a job may shrink and grow (spec 4), in nodes, in units or in workers.

    `min_…`: it keeps at least so many. `wish_…`: so many it would like to have (None: what it has now).
    `…_workers`: its workers are jobs of their own, all those of the same `SnapshotJob.group`.
    `per_node`: what a node that it gets back must give (empty: as much as its largest worker holds).
    `by`: how it is made smaller, of one in nodes; None: that costs it nothing but the nodes. `first`: the node that it
    cannot give up, because its script runs there.
    Of one with `by`, which grows by a restart only, and `wish_nodes`: `ends_at`: when it ends as it is, epoch s;
    `restart_s`: how long a restart takes. Without these it does not grow.
    """

    min_nodes: int | None = None
    min_units: int | None = None
    wish_nodes: int | None = None
    wish_units: int | None = None
    min_workers: int | None = None
    wish_workers: int | None = None
    per_node: Amounts = field(default_factory=dict)
    by: Shrinking | None = None
    first: str = ""
    ends_at: int | None = None
    restart_s: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotJob:
    """A job of the planned partition with its derived levels (contract A).

    Times are epoch s. `alloc` maps node name to amounts (running, completing); pending jobs have a `request`.
    `protected`: why it may never be a victim, in words (`preemptable` is then false).
    `blocked`: why it cannot start whatever room there is, in words ("it is held by its user"); pending only.
    `how`: how it gives way when it must. `promised`: room that is being made for it already; pending only.
    `stopped_at`: when it was last stopped to make room; pending only.
    `beneficiary`: others were stopped for its present run; running only.
    `unit`: it holds whole units of this and may lose some (spec 2); running only. `elastic`: it may lose workers;
    running only. `balanced`: it wants nodes of equal compute power (spec 5).
    `ran_s`: how long earlier runs took that count because their state is kept. `rested`: it need not rest in this run,
    whatever its `restarts`. `stopped`: how often it was stopped within the last hour. `crashes`: how often it ended
    badly at once, within one hour, after others had been stopped for it. `patience_spent`: it has waited for a start
    that was predicted and did not come: pending only. `group`: the same for all jobs that are one request, such as the
    tasks of an array. `saved_at`: when its present run last acknowledged a checkpoint.

    Only while planning (`preemption.elastic.jobs_as_workers`): `workers`: those that this one stands for. `grows`: it
    is a worker beyond the minimum of its elastic job, for which nobody is stopped; pending only.
    """

    id: str
    name: str
    state: JobState
    user: str
    user_level: Level
    task_level: Level
    submit: int
    start: int | None = None
    alloc: Mapping[str, Amounts] = field(default_factory=dict)
    request: Request | None = None
    preemptable: bool = True
    protected: str = ""
    blocked: str = ""
    restarts: int = 0
    predicted_end: int | None = None
    how: How = How.REQUEUE
    promised: Mapping[str, Amounts] = field(default_factory=dict)
    stopped_at: int | None = None
    beneficiary: bool = False
    unit: Amounts = field(default_factory=dict)
    elastic: Elastic | None = None
    balanced: bool = False
    ran_s: int = 0
    rested: bool = False
    stopped: int = 0
    crashes: int = 0
    group: str = ""
    saved_at: int | None = None
    patience_spent: bool = False
    workers: tuple["SnapshotJob", ...] = ()
    grows: bool = False

    @property
    def run(self) -> RunKey:
        """The present run; for a pending job `start` is 0."""
        return RunKey(self.id, self.start or 0, self.restarts)


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """A job as the cluster tells it, before any policy. Text fields are hostile input: always escape.

    `id` is the id that Slurm's commands take (`1234`, or `1234_7` for a pending or running array task).
    `partitions`: several while pending (`--partition=a,b`), one when running.
    `slurm_state`/`slurm_reason`: Slurm's own words. `reason_code`: Slurm's code of a reason that is a text, where it is
    told. `held`: priority 0, by the user, an administrator or us. `nice`: what is taken off its priority, by anybody.
    `batch`: has a batch script (only these can be requeued); `requeue`: Slurm will accept a requeue.
    `deadline`: when Slurm ends it for good, whether it runs, waits or is held; a run that could not be over by then
    does not begin. `estimated_start`: Slurm's own expectation, if any. Amounts as in `resources`.
    `request`: what a pending job asks for; of a running one what it holds, with the features and names of nodes that
    limit where it may start again, and None where nothing does.
    `unplannable`: the part of a pending job's wishes that a `Request` cannot say, in words for people; no room is
    ever made for such a job, because it might not start in it. `licenses`: what it asks for, in Slurm's words.
    `not_understood`: what of Slurm's words about the job itself is not, for people. It is never stopped, and nothing is
    concluded from how it looks; what is not told of its share is its nodes' `held_elsewhere`.
    `to_be_placed`: that it is not `eligible` yet is Giveway's own doing (`ActionKind.BEGIN`); pending only.
    Of earlier looks, where they are remembered: `was_requeueable`: it was seen requeueable, and is not any more.
    `inner`: what it holds of nodes' `inner`.
    `no_requeue_since`: the second in which it was first seen as it is, by the cluster's clock; not requeueable only.
    """

    id: str
    name: str
    user: str
    state: JobState
    partitions: tuple[str, ...]
    submit: int
    start: int | None = None
    account: str = ""
    wckey: str = ""
    comment: str = ""
    qos: str = ""
    slurm_state: str = ""
    slurm_reason: str = ""
    priority: int = 0
    nice: int = 0
    held: bool = False
    restarts: int = 0
    batch: bool = True
    requeue: bool = True
    time_limit_s: int | None = None
    deadline: int | None = None
    estimated_start: int | None = None
    eligible: int | None = None
    array_job_id: str = ""
    het_job_id: str = ""
    reservation: str = ""
    dependency: str = ""
    alloc: Mapping[str, Amounts] = field(default_factory=dict)
    request: Request | None = None
    unplannable: str = ""
    licenses: str = ""
    not_understood: str = ""
    reason_code: str = ""
    was_requeueable: bool = False
    no_requeue_since: int | None = None
    to_be_placed: bool = False
    inner: Mapping[str, Amounts] = field(default_factory=dict)

    @property
    def run(self) -> RunKey:
        """The present run; for a pending job `start` is 0."""
        return RunKey(self.id, self.start or 0, self.restarts)
