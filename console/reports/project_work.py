"""What a project ran, waited, lost by being stopped and gained by others being stopped, in the last days.

The mirror keeps jobs for a week after their end, so that is as far back as this can look. Six queries at most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from django.db.models import QuerySet

from console.cluster.models import Job, JobPhase
from console.core import clock
from console.projects.models import Project
from console.steering.metrics import stops_of
from console.steering.models import STOP_KINDS, ActionState, Plan, PlanKind, PlannedAction
from console.steering.selectors import Work, add_work, work_of
from console.steering.served import jobs_served
from scheduler.model.resources import total

DAYS = 7
MOST_DAYS = 7
"""As long as the mirror keeps jobs that have ended (`console/steering/tasks.py`)."""


@dataclass(frozen=True, slots=True)
class ProjectWaits:
    """How long jobs waited, from submission on."""

    jobs: int = 0
    median_s: float | None = None
    longest_s: float | None = None


@dataclass(frozen=True, slots=True)
class ProjectStops:
    """Runs that were stopped, the work lost with them, and what checkpoints kept."""

    runs: int = 0
    lost: Work = field(default_factory=dict)
    kept: Work = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectWork:
    """All of it since `since`.

    `ran`: the work of each job's latest run; runs that were stopped are in `stopped`. `started`: how long those
    waited that started in this time; `waiting`: those that wait now. `helped`: jobs that started because others were
    stopped for them; `others`: those others.
    """

    since: datetime
    days: int
    ran: Work
    ran_jobs: int
    started: ProjectWaits
    waiting: ProjectWaits
    stopped: ProjectStops
    helped: int
    others: ProjectStops


def project_work(project: Project, days: int = DAYS) -> ProjectWork:
    """What became of a project's jobs in the last days."""
    now = clock.now()
    since = now - timedelta(days=days)
    jobs = _jobs(project, since)
    began = [job for job in jobs if job.start and job.start >= since.timestamp()]
    waiting = [job for job in jobs if job.phase == JobPhase.PENDING]
    ran = [job for job in jobs if job.start and job.phase != JobPhase.PENDING]
    ids = {job.job_id for job in jobs}
    plans = _plans_for(project, ids, since)
    return ProjectWork(
        since=since,
        days=days,
        ran=_work(ran, since, now),
        ran_jobs=len(ran),
        started=_waits([job.start - job.submit for job in began]),
        waiting=_waits([now.timestamp() - job.submit for job in waiting]),
        stopped=_stopped(_actions(project, since).filter(job_id__in=ids)),
        helped=len({job_id for plan in plans for job_id in jobs_served(plan)}),
        others=_stopped(_actions(project).filter(plan__in=plans)),
    )


def _jobs(project: Project, since: datetime) -> list[Job]:
    """Each job once: as it runs or ran, else as it waits."""
    rows = Job.objects.filter(cluster=project.cluster_id, project=project.code).exclude(ended_at__lt=since)
    by_id: dict[str, Job] = {}
    for job in rows.defer("explain", "request", "comment"):
        if job.job_id not in by_id or job.phase != JobPhase.PENDING:
            by_id[job.job_id] = job
    return list(by_id.values())


def _work(jobs: Iterable[Job], since: datetime, now: datetime) -> Work:
    result: Work = {}
    for job in jobs:
        end = (job.ended_at or now).timestamp()
        seconds = max(0.0, end - max(job.start, since.timestamp()))
        add_work(result, work_of({"amounts": total(job.alloc.values()), "ran_s": seconds}))
    return result


def _waits(seconds: Sequence[float]) -> ProjectWaits:
    known = [max(0.0, each) for each in seconds]
    return ProjectWaits(len(known), median(known), max(known)) if known else ProjectWaits()


def _plans_for(project: Project, ids: Iterable[str], since: datetime) -> list[Plan]:
    rows = Plan.objects.filter(
        cluster=project.cluster_id, kind=PlanKind.PREEMPT, job_id__in=ids, started_at__gte=since
    )
    return list(rows.only("id", "job_id", "job_restarts", "tasks"))


def _actions(project: Project, since: datetime | None = None) -> QuerySet[PlannedAction]:
    rows = PlannedAction.objects.filter(
        cluster=project.cluster_id,
        kind__in=STOP_KINDS,
        state=ActionState.VERIFIED,
        issued_at__isnull=False,
    ).select_related("plan")
    return rows.filter(issued_at__gte=since) if since else rows


def _stopped(actions: Iterable[PlannedAction]) -> ProjectStops:
    stops = stops_of(actions)
    lost: Work = {}
    kept: Work = {}
    for stop in stops:
        add_work(lost, stop.work_in(stop.ran_s - stop.kept_s))
        add_work(kept, stop.work_in(stop.kept_s))
    return ProjectStops(len(stops), lost, kept)
