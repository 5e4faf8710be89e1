"""The nodes of an elastic job over time, and for whom it is without some of them now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from console.cluster.elastic import SaidOfJob
from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core.saying import in_a_row
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction
from scheduler.model.actions import RESIZING, ActionKind
from scheduler.model.sentence import Sentence, say

Change = tuple[int, int]
"""From which second on how many nodes more, or fewer."""


@dataclass(frozen=True, slots=True)
class TakenNodes:
    """Nodes of a job that a plan took. `at`: when that was; `back_at`: when it ran on more of them again."""

    nodes: str
    plan: Plan
    at: datetime
    back_at: datetime | None


def nodes_missing(cluster: Cluster, said: Iterable[SaidOfJob]) -> dict[str, Sentence]:
    """By job, how many of its nodes a running job of several nodes has, and when the others come back, in words; two
    queries for all of them."""
    jobs = {each.job.job_id: each for each in said if _may_grow(each)}
    if not jobs:
        return {}
    last = {action.job_id: action for action in _shrinks(cluster, jobs)}
    present = set(
        Job.objects.filter(cluster=cluster, job_id__in=[action.plan.job_id for action in last.values()])
        .exclude(phase=JobPhase.ENDED)
        .values_list("job_id", flat=True)
    )
    told = {}
    for job_id, action in last.items():
        has, wish = len(jobs[job_id].job.alloc), _wish(jobs[job_id], _before(action))
        if has < wish:
            waits = action.plan.job_id in present
            code = "elastic.nodes_taken" if waits else "elastic.nodes_back"
            told[job_id] = say(code, n=has, m=wish, **({"job": action.plan.job_id} if waits else {}))
    return told


def changes_of(cluster: Cluster, job: Job, since: int, now: int) -> list[Change]:
    """Of a job of several nodes: when it began and ended to have how many."""
    runs = JobRun.objects.filter(cluster=cluster, job_id=job.job_id).exclude(ended__lt=since)
    given = {(a.run_start, a.run_restarts): a for a in _shrinks(cluster, {job.job_id: None}) if _in_place(a)}
    changes: list[Change] = []
    for run in runs.order_by("-start")[:200]:
        has = len(run.nodes)
        changes.append((max(run.start, since), has))
        action = given.get((run.start, run.restarts))
        if action is not None and action.verified_at is not None:
            left = len(action.value.split(","))
            changes.append((max(int(action.verified_at.timestamp()), since), left - has))
            has = left
        if run.ended is not None and run.ended <= now:
            changes.append((run.ended, -has))
    return changes


def taken_nodes(cluster: Cluster, job: Job) -> list[TakenNodes]:
    """Who took nodes of a job, the latest first."""
    grown = Plan.objects.filter(
        cluster=cluster, kind=PlanKind.GROW, job_id=job.job_id, started_at__isnull=False
    )
    backs = sorted(at for at in grown.values_list("started_at", flat=True) if at)
    return [
        TakenNodes(
            in_a_row(_victim(action)["nodes"]),
            action.plan,
            action.verified_at,
            next((back for back in backs if back > action.verified_at), None),
        )
        for action in reversed(_shrinks(cluster, {job.job_id: None}))
        if action.verified_at
    ]


def _may_grow(said: SaidOfJob) -> bool:
    return bool(said.words.elastic) and not said.job.group and said.job.phase == JobPhase.RUNNING


def _shrinks(cluster: Cluster, jobs: Mapping[str, object]) -> list[PlannedAction]:
    """What took nodes of jobs, the latest last."""
    rows = PlannedAction.objects.filter(
        cluster=cluster,
        job_id__in=list(jobs),
        kind__in=RESIZING,
        state=ActionState.VERIFIED,
        plan__kind=PlanKind.PREEMPT,
        plan__undo_reason="",
    )
    return [action for action in rows.select_related("plan").order_by("id") if _victim(action)]


def _victim(action: PlannedAction) -> dict[str, list[str]]:
    """What the plan says of the job's nodes; empty where it gives up none."""
    mine = (each for each in action.plan.victims if each["job"] == action.job_id and each.get("keeps"))
    return next(mine, {})


def _before(action: PlannedAction) -> int:
    return len(_victim(action)["keeps"]) + len(_victim(action)["nodes"])


def _wish(said: SaidOfJob, before: int) -> int:
    elastic = said.words.elastic
    return elastic.wish if elastic is not None and elastic.wish else before


def _in_place(action: PlannedAction) -> bool:
    return action.kind == ActionKind.SHRINK
