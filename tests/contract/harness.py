"""What the contract suite needs of a cluster besides the port: users who submit, an administrator, time.

The cluster it runs on is always the same: nodes n1 to n4 with 8 CPUs, 16,000 MB and 8 GPUs each (a100 on n1
and n2, v100 on n3 and n4, the type being also a feature); partitions x (n1), q (n3, n4) and wide (all); users
ann, bob and cy.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from scheduler.model.actions import Action, ActionKind, ActionOutcome
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation
from scheduler.ports import ClusterPort, NodePort

NODES = ("n1", "n2", "n3", "n4")
CPUS = 8
GPUS = 8
GPU_TYPE = {"n1": "a100", "n2": "a100", "n3": "v100", "n4": "v100"}
PARTITIONS = {"x": ("n1",), "q": ("n3", "n4"), "wide": NODES}
HIGHEST = "4000000000"
"""A priority above all that the clusters of this suite give by themselves."""
PATIENCE_S = 110
"""How long a change may take, on a machine that may be busy: below the 121 s that Slurm itself puts between two runs
of a job."""


@dataclass(frozen=True)
class Work:
    """A job to submit, in words that every cluster understands. It does nothing for `seconds`.

    Either `nodes` (that many, each giving `cpus`, `mem_mb` and `gpus`, e.g. {"gpu": 2} or {"gpu:a100": 2}),
    or `tasks` (that many CPUs anywhere: `sbatch -n`). `after`: the id of a job that has to end first.
    `checkpoints`: on USR1 the script sets its comment to `ckpt:` and something. `ends_slowly`: it ignores
    SIGTERM, so that it is completing for some seconds when it is stopped.
    """

    user: str = "ann"
    name: str = "work"
    partitions: tuple[str, ...] = ("wide",)
    nodes: int = 1
    cpus: int = 1
    mem_mb: int = 100
    gpus: Mapping[str, int] = field(default_factory=dict)
    tasks: int = 0
    features: tuple[str, ...] = ()
    only_nodes: tuple[str, ...] = ()
    not_nodes: tuple[str, ...] = ()
    exclusive: bool = False
    account: str = ""
    comment: str = ""
    seconds: int = 3600
    time_limit_min: int | None = None
    array_tasks: int = 0
    held: bool = False
    begin_in_s: int = 0
    after: str = ""
    requeue: bool = True
    checkpoints: bool = False
    ends_slowly: bool = False


class Harness(Protocol):
    """One adapter with the cluster behind it."""

    @property
    def cluster(self) -> ClusterPort:
        """The adapter to be tested."""
        ...

    def submit(self, work: Work) -> str:
        """Submit a batch job as its user; returns the id that `sbatch` prints (an array's has no task)."""
        ...

    def submit_interactive(self, work: Work) -> str:
        """Get an allocation without a batch script (`salloc`); returns when it has its resources."""
        ...

    def cancel(self, job_id: str) -> None:
        """Cancel a job as its user."""
        ...

    def hold(self, user: str, job_id: str) -> None:
        """A user holds his own waiting job (`scontrol hold`); it is held when this returns."""
        ...

    def release(self, user: str, job_id: str) -> None:
        """A user releases his own job."""
        ...

    def begin_in(self, user: str, job_id: str, seconds: int) -> None:
        """A user has his own waiting job not begin before so many seconds from now."""
        ...

    def forbid_requeue(self, user: str, job_id: str) -> None:
        """A user says of his own job that it must not be requeued."""
        ...

    def admin_comment(self, job_id: str) -> str:
        """What administrators have left with a job that has not ended."""
        ...

    @property
    def nodes(self) -> NodePort:
        """The adapter that drains nodes."""
        ...

    def drain(self, node: str) -> None:
        """No new jobs on this node."""
        ...

    def resume(self, node: str) -> None:
        """New jobs on this node again."""
        ...

    def down(self) -> AbstractContextManager[None]:
        """Inside the block the cluster's controller does not answer; running jobs go on."""
        ...

    def wait_until(
        self, holds: Callable[[Observation], bool], what: str, seconds: int = PATIENCE_S
    ) -> Observation:
        """Observe until `holds`; AssertionError naming `what`, with the last observation, after `seconds`."""
        ...

    def pass_time(self, seconds: int) -> None:
        """Let so much of the cluster's time pass."""
        ...


def find(observation: Observation, job_id: str) -> ObservedJob:
    """The job with this id; KeyError when it is not there."""
    return {job.id: job for job in observation.jobs}[job_id]


def state_of(observation: Observation, job_id: str) -> JobState | None:
    """The state of a job, None when it has ended."""
    return next((job.state for job in observation.jobs if job.id == job_id), None)


def wait_for(harness: Harness, state: JobState | None, *job_ids: str) -> Observation:
    """Wait until all these jobs are in a state (None: gone)."""
    word = "gone" if state is None else state.value
    return harness.wait_until(
        lambda seen: all(state_of(seen, job_id) is state for job_id in job_ids),
        f"{', '.join(job_ids)} {word}",
    )


def start(harness: Harness, work: Work) -> ObservedJob:
    """Submit a job (no array) and wait until it runs."""
    job_id = harness.submit(work)
    return find(wait_for(harness, JobState.RUNNING, job_id), job_id)


def start_interactive(harness: Harness, work: Work) -> ObservedJob:
    """The same without a batch script."""
    job_id = harness.submit_interactive(work)
    return find(wait_for(harness, JobState.RUNNING, job_id), job_id)


def wait_pending(harness: Harness, work: Work) -> ObservedJob:
    """Submit a job that cannot start, and see it pending with Slurm's reason."""
    job_id = harness.submit(work)
    seen = harness.wait_until(
        lambda seen: (
            state_of(seen, job_id) is JobState.PENDING and find(seen, job_id).slurm_reason not in ("", "None")
        ),
        f"{job_id} pending with a reason",
    )
    return find(seen, job_id)


def apply_to(harness: Harness, kind: ActionKind, *jobs: ObservedJob, value: str = "") -> list[ActionOutcome]:
    """One call of `apply` for one kind of action on several jobs, as they were observed."""
    return list(harness.cluster.apply([Action(kind, job.run, value=value) for job in jobs]))


def fill(harness: Harness, *nodes: str) -> dict[str, ObservedJob]:
    """A job of cy on each of these nodes, all its CPUs; returns them by node."""
    return {node: start(harness, Work("cy", f"fill-{node}", cpus=CPUS, only_nodes=(node,))) for node in nodes}
