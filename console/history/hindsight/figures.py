"""What a simulation of the past is made of: finished jobs of a partition, and what its policy makes of them.

What the simulator cannot follow is left out of the rules and named (`not_followed`): the answer says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from console.cluster.models import Cluster
from console.forecasts.models import KeptRun
from console.history.minutes import axis_of
from scheduler.model.jobs import JobState, Level, ObservedJob
from scheduler.model.policy import Dispatch, LineOrder, PartitionPolicy, ProjectFacts
from scheduler.priority.derive import Deriver
from scheduler.reconcile.build import rules_of
from scheduler.reconcile.protection import protecting_rule
from scheduler.simulate.machine import SimulatedTask
from scheduler.simulate.measures import rank
from scheduler.simulate.policy import OneByOne, Policy, QueueOrder, Requeue, Scheduler
from scheduler.simulate.replay import SimulationOutcome
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


# --- The answer as one document, `giveway.hindsight/1`: waits, stops and work lost, for all, by level and by project.
#
# A figure is that of the jobs as they were submitted (`value`), with the lowest and the highest of all runs.


SCHEMA = "giveway.hindsight/1"
NONE = ""
"""Jobs of no project."""
Work = dict[str, int]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What came of some jobs in one run. `lost`: seconds of work by resource."""

    mean: float
    median: int
    p90: int
    stops: int
    lost: Work


@dataclass(frozen=True, slots=True)
class RunFiguresOfAll:
    """One run: all jobs, those of each level, those of each project."""

    everybody: RunFigures
    levels: Mapping[Level, RunFigures]
    projects: Mapping[str, RunFigures]


def measured(
    outcome: SimulationOutcome, counted: frozenset[str], known: Mapping[str, Standing]
) -> RunFiguresOfAll:
    """The figures of one run, of the jobs that count."""
    tasks = [task for task in outcome.tasks if task.work.row.id in counted]
    levels: dict[Level, list[SimulatedTask]] = {}
    projects: dict[str, list[SimulatedTask]] = {}
    for task in tasks:
        standing = known[task.work.row.id]
        levels.setdefault(standing.rank, []).append(task)
        projects.setdefault(standing.project or NONE, []).append(task)
    # Who was stopped need not count: a stop of a job from before does.
    stops, lost = sum(task.stops for task in outcome.tasks), _lost(outcome.tasks)
    everybody = _figures(tasks)
    return RunFiguresOfAll(
        RunFigures(everybody.mean, everybody.median, everybody.p90, stops, lost),
        {level: _figures(some) for level, some in levels.items()},
        {code: _figures(some) for code, some in projects.items()},
    )


def _figures(tasks: Sequence[SimulatedTask]) -> RunFigures:
    waits = sorted(task.waited for task in tasks)
    return RunFigures(
        mean=round(sum(waits) / len(waits), 1),
        median=rank(waits, 50),
        p90=rank(waits, 90),
        stops=sum(task.stops for task in tasks),
        lost=_lost(tasks),
    )


def _lost(tasks: Iterable[SimulatedTask]) -> Work:
    lost: Work = {}
    for task in tasks:
        if task.lost:
            for name, amount in task.pieces.amounts.items():
                lost[name] = lost.get(name, 0) + amount * task.lost
    return lost


@dataclass(frozen=True, slots=True)
class BothWays:
    """One run without Giveway and one with the policy, of the same submissions."""

    without: RunFiguresOfAll
    with_policy: RunFiguresOfAll


def groups(
    rows: Sequence[TraceRow], known: Mapping[str, Standing], names: Sequence[str], runs: Sequence[BothWays]
) -> dict[str, Any]:
    """`all`, `levels` (the highest first, unconfigured last) and `projects` (the largest first)."""
    levels: dict[Level, list[TraceRow]] = {}
    projects: dict[str, list[TraceRow]] = {}
    for row in rows:
        standing = known[row.id]
        levels.setdefault(standing.rank, []).append(row)
        projects.setdefault(standing.project or NONE, []).append(row)
    return {
        "all": _group(rows, [(run.without.everybody, run.with_policy.everybody) for run in runs]),
        "levels": [
            {
                "rank": rank,
                "name": "unconfigured" if rank is None else names[rank],
                **_group(some, [(run.without.levels[rank], run.with_policy.levels[rank]) for run in runs]),
            }
            for rank, some in sorted(levels.items(), key=lambda item: (item[0] is None, item[0] or 0))
        ],
        "projects": [
            {
                "project": code,
                **_group(
                    some, [(run.without.projects[code], run.with_policy.projects[code]) for run in runs]
                ),
            }
            for code, some in sorted(projects.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
    }


def _group(rows: Sequence[TraceRow], runs: Sequence[tuple[RunFigures, RunFigures]]) -> dict[str, Any]:
    recorded = sorted(row.wait or 0 for row in rows)
    without, with_policy = zip(*runs, strict=True)
    return {
        "jobs": len(rows),
        "recorded": {
            "mean_s": round(sum(recorded) / len(recorded), 1),
            "median_s": rank(recorded, 50),
            "p90_s": rank(recorded, 90),
        },
        "without": _waits(without),
        "with_policy": _waits(with_policy),
        "stops": _range([each.stops for each in with_policy]),
        "lost_s": {
            name: _range([each.lost.get(name, 0) for each in with_policy])
            for name in sorted({name for each in with_policy for name in each.lost})
        },
    }


def _waits(runs: Sequence[RunFigures]) -> dict[str, Any]:
    return {f"{name}_s": _range([getattr(each, name) for each in runs]) for name in ("mean", "median", "p90")}


def _range(values: Sequence[float]) -> dict[str, float]:
    return {"value": values[0], "low": min(values), "high": max(values)}
