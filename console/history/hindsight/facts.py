"""What a simulation of the past is made of: finished jobs of a partition, and what its policy makes of them.

What the simulator cannot follow is left out of the rules and named (`not_followed`): the answer says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from console.cluster.models import Cluster
from console.forecasts.models import KeptRun
from console.history.minutes import axis_of
from scheduler.model.jobs import JobState, Level, ObservedJob
from scheduler.model.policy import Dispatch, LineOrder, PartitionPolicy, ProjectFacts
from scheduler.priority.derive import Deriver
from scheduler.reconcile.build import rules_of
from scheduler.reconcile.protection import protecting_rule
from scheduler.simulate.policy import OneByOne, Policy, QueueOrder, Requeue, Scheduler
from scheduler.simulate.trace import TraceRow

MOST_JOBS = 100_000
"""The newest so many are simulated: on 300 busy nodes they take half a minute a run both ways, and 330 MB."""
UNLIMITED_S = 365 * 24 * 3600
"""What is expected of a job without a time limit."""
_FIELDS = (
    "job_id",
    "user",
    "account",
    "qos",
    "name",
    "submit",
    "start",
    "end",
    "nodes",
    "cpus",
    "gpus",
    "limit_s",
)


@dataclass(frozen=True, slots=True)
class ReplayedJobs:
    """All of them, by submission. `counted`: those that were submitted in the time that is asked about; others only
    hold room at first. `since`: from when on they count; `cut`: there were more than are simulated."""

    rows: tuple[TraceRow, ...]
    counted: frozenset[str]
    since: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What a policy makes of a job. `rank`: the level that it is told by; `spared`: it is never stopped."""

    rank: Level
    levels: tuple[Level, Level]
    project: str
    spared: bool


def past_jobs(cluster: Cluster, partition: str, since: int, until: int) -> ReplayedJobs:
    """Jobs of a partition that were submitted since then, and those that still ran at that moment. One query."""
    ended = KeptRun.objects.filter(cluster=cluster, partition=partition, end__gt=since, submit__lt=until)
    newest = list(ended.order_by("-end", "-pk").values_list(*_FIELDS)[: MOST_JOBS + 1])
    cut = len(newest) > MOST_JOBS
    newest = newest[:MOST_JOBS]
    if cut:  # jobs that ended before the oldest of these are missing
        since = newest[-1][_FIELDS.index("end")]
    found: dict[str, TraceRow] = {}
    counted: dict[str, bool] = {}
    for values in reversed(newest):
        kept = dict(zip(_FIELDS, values, strict=True))
        job_id = str(kept["job_id"])
        # Of a job that ran several times the last run is known, as sacct has it.
        counted[job_id] = int(str(kept["submit"])) >= since
        found[job_id] = _row(kept, counts=counted[job_id])
    rows = sorted(found.values(), key=lambda row: (row.submit, row.id))
    return ReplayedJobs(
        tuple(rows), frozenset(each for each, counts in counted.items() if counts), since, cut
    )


def _row(kept: Mapping[str, object], *, counts: bool) -> TraceRow:
    submit, start, end = (int(str(kept[name])) for name in ("submit", "start", "end"))
    runtime = end - start
    limit = kept["limit_s"]
    return TraceRow(
        row=0,
        id=str(kept["job_id"]),
        # One that ran at the beginning holds its room from where it had it, whatever it had waited for.
        submit=submit if counts else max(submit, start),
        runtime=runtime,
        # Slurm ends a job some seconds after its limit; here it ran as long as it did.
        limit=None if limit is None else max(1, runtime, int(str(limit))),
        nodes=int(str(kept["nodes"])) or None,
        cpus=int(str(kept["cpus"])),
        gpus=int(str(kept["gpus"])),
        user=str(kept["user"]),
        group=str(kept["account"]),
        name=str(kept["name"]),
        priority="",
        wait=max(0, start - submit),
        qos=str(kept["qos"]),
    )


def standings(
    rows: Iterable[TraceRow], policy: PartitionPolicy, projects: Sequence[ProjectFacts], now: int
) -> dict[str, Standing]:
    """What a policy makes of each job today: overrides that have ended count no more."""
    deriver = Deriver(policy, projects, now)
    first = axis_of(policy.mode) == "user"
    made: dict[str, Standing] = {}
    for row in rows:
        observed = ObservedJob(
            id=row.id,
            name=row.name,
            user=row.user,
            state=JobState.RUNNING,
            partitions=(policy.name,),
            submit=row.submit,
            account=row.group,
            qos=row.qos,
        )
        standing = deriver.derive(observed)
        levels = standing.user_level, standing.task_level
        spared = bool(protecting_rule(observed, policy))
        made[row.id] = Standing(levels[0 if first else 1], levels, standing.project, spared)
    return made


def without_giveway(policy: PartitionPolicy, known: Mapping[str, Standing]) -> Policy:
    """First come, first served, as Slurm's backfill has it; levels are only told."""
    return replace(_policy(policy, known), name="without", scheduler=Scheduler.EASY, order=QueueOrder.SUBMIT)


def with_policy(policy: PartitionPolicy, known: Mapping[str, Standing]) -> Policy:
    """The policy as if it enforced."""
    return _policy(policy, known)


def _policy(policy: PartitionPolicy, known: Mapping[str, Standing]) -> Policy:
    rules = replace(
        rules_of(policy),
        quotas={},
        quota_amounts={},
        quota_totals={},
        max_crashes_per_hour=None,
        dispatch=Dispatch.SLURM,
        balance=None,
    )
    return Policy(
        name="with",
        scheduler=Scheduler.PREEMPT,
        partition=rules,
        order=QueueOrder.LEVEL,
        assumed_limit_s=UNLIMITED_S,
        user_level=OneByOne({job: each.levels[0] for job, each in known.items()}),
        task_level=OneByOne({job: each.levels[1] for job, each in known.items()}),
        requeue=Requeue(checkpoint_s=None),
        max_stops_per_job=policy.max_preemptions_per_job,
        spared=frozenset(job for job, each in known.items() if each.spared),
    )


def not_followed(policy: PartitionPolicy) -> Iterator[str]:
    """What of the policy is not simulated, as words for programs; `wording.py` has them for people."""
    if policy.quotas or policy.quota_amounts or policy.quota_totals:
        yield "quotas"
    if policy.balance is not None:
        yield "balance"
    if policy.dispatch is not Dispatch.SLURM:
        yield "dispatch"
    if policy.order is LineOrder.SLURM:
        yield "order"
    if policy.task_types:
        yield "task_types"
