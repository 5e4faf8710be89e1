"""Whom a plan makes room for: one job, or several tasks of one group together (`Plan.tasks`).

A group is an array, or jobs that say that they belong together (`scheduler.priority.groups`).

Slurm starts the tasks of one array in whatever place is free, and not at once. What is left to be done is about those
that still wait; the room that is kept is theirs, and who has started in another's place has left it its own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from django.db.models import Q

from console.cluster.models import Cluster, Job
from console.steering.models import Plan, PlanKind, PlanVersion
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.resources import Amounts, add
from scheduler.preemption.units.groups import label_of_jobs

STARTED, ELSEWHERE, GONE = "started", "elsewhere", "gone"
"""What is seen of a task: it has started in a place that was kept for one of them, or elsewhere, or is not there."""

MOST_READ = 200
"""How many plans of a group are looked through for one of its tasks."""

Jobs = Mapping[str, ObservedJob]
Tasks = list[dict[str, Any]]


class Serving(Protocol):
    """What tells whom a plan is for: the plan itself, or what is read of it for a list."""

    @property
    def job_id(self) -> str:
        """The job, or the first of the tasks."""

    @property
    def job_restarts(self) -> int:
        """How often that had been restarted."""

    @property
    def tasks(self) -> Sequence[Mapping[str, Any]]:
        """All of them, where there are several."""


def runs_served(plan: Serving) -> list[tuple[str, int]]:
    """Job id and restarts of everybody whom the plan makes room for."""
    if not plan.tasks:
        return [(plan.job_id, plan.job_restarts)]
    return [(task["job"], task["restarts"]) for task in plan.tasks]


def jobs_served(plan: Serving) -> list[str]:
    """The ids of everybody whom the plan makes room for."""
    return [job_id for job_id, _ in runs_served(plan)]


def label_of(plan: Plan) -> str:
    """The same for people: `4711`, or `41_[3-9]`."""
    return label_of_jobs(jobs_served(plan))


def array_of(job_id: str) -> str:
    """The id of the array that a job is a task of; empty when it is none."""
    array, is_task, _task = job_id.partition("_")
    return array if is_task else ""


def new_tasks(tasks: Iterable[tuple[str, int, str]]) -> Tasks:
    """What a plan keeps of its tasks, of which nothing is seen yet: job id, restarts and node of each."""
    return [
        {"job": job_id, "restarts": restarts, "node": node, "seen": ""} for job_id, restarts, node in tasks
    ]


def as_seen(plan: Plan, jobs: Jobs) -> Tasks:
    """The plan's tasks with what is seen of them now: who has started or is gone, and whose place is whose."""
    tasks = [dict(task) for task in plan.tasks]
    for task in tasks:
        job = jobs.get(task["job"])
        if task["seen"] in (STARTED, ELSEWHERE):
            continue  # It may be over by now. Who was not there may have been missed, and be there again.
        task["seen"] = GONE if job is None else ""
        if job is None:
            continue
        if job.state is not JobState.PENDING or job.restarts > task["restarts"]:
            task["seen"] = _take_place(task, next(iter(job.alloc), task["node"]), tasks)
    return tasks


def _take_place(task: dict[str, Any], node: str, tasks: Tasks) -> str:
    """A task has started on a node: one that was to start there gets its place instead. Returns where it started."""
    if node == task["node"]:
        return STARTED
    for other in tasks:
        if not other["seen"] and other["node"] == node:
            other["node"], task["node"] = task["node"], node
            return STARTED
    return ELSEWHERE


def waiting(plan: Plan, jobs: Jobs | None = None) -> list[str]:
    """Who of those served neither has started nor is gone, as noted, or as seen now."""
    if not plan.tasks:
        return [plan.job_id]
    return [task["job"] for task in (plan.tasks if jobs is None else as_seen(plan, jobs)) if not task["seen"]]


def rooms_left(plan: Plan, jobs: Jobs | None = None) -> dict[str, dict[str, Amounts]]:
    """The room that is kept for each of those who wait, as noted, or as seen now. A plan that only holds keeps none."""
    if plan.kind == PlanKind.WHOLE:
        return {}
    if not plan.tasks:
        return {plan.job_id: plan.placement}
    count = Counter(task["node"] for task in plan.tasks)
    unit = {
        node: {name: amount // count[node] for name, amount in part.items()}
        for node, part in plan.placement.items()
        if count[node]
    }
    tasks = plan.tasks if jobs is None else as_seen(plan, jobs)
    return {task["job"]: {task["node"]: unit[task["node"]]} for task in tasks if not task["seen"]}


def placement_left(plan: Plan, jobs: Jobs) -> dict[str, Amounts]:
    """The same together: what must come free, by node."""
    if not plan.tasks:
        return dict(plan.placement)
    left: dict[str, dict[str, int]] = {}
    for room in rooms_left(plan, jobs).values():
        for node, part in room.items():
            add(left.setdefault(node, {}), part)
    return dict(left)


def nodes_with_less(plan: Plan, jobs: Jobs) -> frozenset[str]:
    """The nodes on which less room is needed than was planned: a task has started meanwhile, or is gone."""
    return frozenset(task["node"] for task in as_seen(plan, jobs) if task["seen"])


def plans_for(cluster: Cluster, job_id: str) -> list[Plan]:
    """The plans that make, or made, room for a job, alone or as one of their tasks; the newest first."""
    own = Q(job_id=job_id)
    groups = Job.objects.filter(cluster=cluster, job_id=job_id).exclude(group="").values("group")
    own |= Q(group__in=groups) & ~Q(tasks=[])
    if array := array_of(job_id):
        own |= Q(job_id__startswith=f"{array}_") & ~Q(tasks=[])
    rows = Plan.objects.filter(own, cluster=cluster).order_by("-id")
    return [plan for plan in rows[:MOST_READ] if job_id in jobs_served(plan)]


# What a request for approval has asked for, version by version.


def keep_version(plan: Plan, ended: Sequence[str] = ()) -> None:
    """Keep what the plan asks for now. `ended`: jobs of the version before whose runs are over."""
    PlanVersion.objects.get_or_create(
        plan=plan,
        number=plan.version,
        defaults={
            "at": plan.worked_out_at,
            "victims": plan.victims,
            "ended": list(ended),
            "placement": plan.placement,
            "explain": plan.explain,
            "policy_revision": plan.policy_revision,
        },
    )
