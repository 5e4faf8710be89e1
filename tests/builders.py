"""Plain values of the planning core for tests: every argument has a plain default, nothing else happens.

Amounts are keyword-free mappings: `{"cpu": 4}`. Times are told as seconds before `NOW`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from scheduler.model.jobs import JobState, Level, ObservedJob, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.model.policy import LevelRule, Mode, PartitionPolicy, ProjectFacts
from scheduler.model.resources import Amounts
from scheduler.model.snapshot import PartitionRules, Snapshot

NOW = 1_700_000_000
HOUR = 3600


# --- What is planned on -----------------------------------------------------------------------------------


def node(name: str = "n1", cpu: int = 8, **fields: Any) -> SnapshotNode:
    """A node that is up. `total` replaces the CPUs."""
    return SnapshotNode(name=name, **{"up": True, "total": {"cpu": cpu}, **fields})


def nodes(count: int, cpu: int = 8) -> list[SnapshotNode]:
    """n1, n2, …"""
    return [node(f"n{i}", cpu) for i in range(1, count + 1)]


def one_node(cpu: int = 1, **fields: Any) -> Request:
    """`cpu` CPUs on one node."""
    return Request(nodes=1, **{"per_node": {"cpu": cpu}, **fields})


def on_nodes(count: int, cpu: int = 1, **fields: Any) -> Request:
    """`cpu` CPUs on each of `count` nodes."""
    return Request(nodes=count, **{"per_node": {"cpu": cpu}, **fields})


def anywhere(cpu: int = 1, **fields: Any) -> Request:
    """`cpu` CPUs, on whatever nodes."""
    return Request(**{"spread": {"cpu": cpu}, **fields})


def running(
    job_id: str,
    on: str | Mapping[str, Amounts] = "n1",
    cpu: int = 1,
    ran: int = HOUR,
    *,
    user: Level = None,
    task: Level = None,
    **fields: Any,
) -> SnapshotJob:
    """A running job: `cpu` CPUs on one node, or what `on` says per node. `user` and `task` are its levels."""
    alloc = {on: {"cpu": cpu}} if isinstance(on, str) else on
    defaults = {"name": job_id, "user": f"u{job_id}", "submit": NOW - ran - 60}
    return SnapshotJob(
        id=job_id,
        state=JobState.RUNNING,
        user_level=user,
        task_level=task,
        start=NOW - ran,
        alloc=alloc,
        **{**defaults, **_named(fields)},
    )


def ending(job_id: str, on: str = "n1", cpu: int = 1, **fields: Any) -> SnapshotJob:
    """A job that is ending: it still holds its CPUs."""
    return replace(running(job_id, on, cpu, **fields), state=JobState.COMPLETING)


def pending(
    job_id: str = "J",
    request: Request | None = None,
    waited: int = 10,
    *,
    user: Level = None,
    task: Level = None,
    **fields: Any,
) -> SnapshotJob:
    """A pending job that asks for one CPU on one node, or for `request`. `user` and `task` are its levels."""
    defaults = {"name": job_id, "user": f"u{job_id}", "submit": NOW - waited}
    return SnapshotJob(
        id=job_id,
        state=JobState.PENDING,
        user_level=user,
        task_level=task,
        request=request or one_node(),
        **{**defaults, **_named(fields)},
    )


def _named(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`of` names the user, since `user` is the level."""
    return {("user" if key == "of" else key): value for key, value in fields.items()}


def snapshot(
    jobs: Iterable[SnapshotJob],
    nodes: Iterable[SnapshotNode] | None = None,
    mode: Mode = Mode.USER,
    **rules: Any,
) -> Snapshot:
    """Partition x with one node of 8 CPUs, or with `nodes`."""
    return Snapshot(
        now=NOW,
        partition=PartitionRules(name="x", mode=mode, **rules),
        nodes=tuple(nodes) if nodes is not None else (node(),),
        jobs=tuple(jobs),
    )


# --- What is observed and configured ----------------------------------------------------------------------


def observed(job_id: str = "1", state: JobState = JobState.PENDING, **fields: Any) -> ObservedJob:
    """A job as the cluster tells it, in partition x: pending for one CPU, or running on n1."""
    defaults: dict[str, Any] = {
        "name": f"job{job_id}",
        "user": "ann",
        "partitions": ("x",),
        "submit": NOW - 2 * HOUR,
        "slurm_state": state.name,
        "slurm_reason": "Resources" if state is JobState.PENDING else "None",
    }
    if state is JobState.PENDING:
        defaults |= {"request": one_node()}
    else:
        defaults |= {"start": NOW - HOUR, "alloc": {"n1": {"cpu": 1}}}
    return ObservedJob(id=job_id, state=state, **{**defaults, **fields})


def observation(
    jobs: Iterable[ObservedJob] = (), nodes: Iterable[SnapshotNode] | None = None, **fields: Any
) -> Observation:
    """Cluster dev with partition x over all nodes (n1 of 8 CPUs, or `nodes`)."""
    every = tuple(nodes) if nodes is not None else (node(),)
    defaults = {"partitions": (ObservedPartition("x", nodes=tuple(each.name for each in every)),)}
    return Observation(cluster="dev", taken_at=NOW, nodes=every, jobs=tuple(jobs), **{**defaults, **fields})


def policy(**fields: Any) -> PartitionPolicy:
    """Partition x with P0 from 60, P1 from 20 and P2 from 5 points, with keywords p0, p1 and p2."""
    levels = tuple(
        LevelRule(f"P{i}", min_score=score, keyword=f"p{i}") for i, score in enumerate((60.0, 20.0, 5.0))
    )
    return PartitionPolicy(**{"name": "x", "levels": levels, **fields})


def project(code: str = "alpha", members: Iterable[str] = ("ann",), **fields: Any) -> ProjectFacts:
    """A project that scores 120 (size 40, grade 1, urgency 3) with its code as Slurm account."""
    defaults = {"size": 40.0, "grade": 1.0, "urgency": 3.0, "slurm_account": code}
    return ProjectFacts(code=code, members=frozenset(members), **{**defaults, **fields})
