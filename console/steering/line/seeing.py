"""Believing only what is seen of nices: what of a job's nice is its user's, and what is ours.

A nice that nobody here asked for is its user's doing. It may have been set outright (`Nice=20`), or counted from the
one in force (`scontrol top` does that): it is taken for whichever is the smaller change.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from django.db.models import QuerySet

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock, kept_queries
from console.steering.decisions.facts import run_of
from console.steering.models import LinePlace, Plan, PlanKind, PlannedAction, PlanState
from console.steering.plans.new_plans import LONGEST_USER
from console.steering.served import jobs_served
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.line import is_front, unniced

FORGOTTEN = timedelta(hours=1)
"""How long a place outlives its job: half a table may have been shown."""
BATCH = 500
SETTING = frozenset({ActionKind.PRIORITISE, ActionKind.RESTORE_PRIORITY, ActionKind.RELEASE})
"""After these Slurm has another nice, or none, whoever had one before."""
LEAVING = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.PRIORITISE})
"""Before these a job has a place that is to be kept for it."""
_FIELDS = ("partition", "user", "own_nice", "nice", "asked_from", "attempts", "kept", "unsettled")


def places(cluster: Cluster) -> dict[str, LinePlace]:
    """All that are kept, by job."""
    return {place.job_id: place for place in kept_queries.rows(_places, cluster.pk)}


def _places(cluster: int) -> QuerySet[LinePlace]:
    return LinePlace.objects.filter(cluster=cluster)


def as_seen(cluster: Cluster, jobs: Mapping[str, ObservedJob]) -> dict[str, LinePlace]:
    """The places as they are now seen to be. Must run inside a transaction."""
    known = places(cluster)
    gone = [place for place in known.values() if place.job_id not in jobs]
    if gone:
        _forget(cluster, gone)
    changed = []
    for job_id, place in list(known.items()):
        job = jobs.get(job_id)
        if job is not None and place.user != job.user[:LONGEST_USER]:
            known.pop(job_id).delete()  # Slurm began to count anew: it is another job.
        elif job is not None and is_in_line(job) and _settle(place, job.nice):
            changed.append(place)
    save(changed)
    return known


def is_in_line(job: ObservedJob) -> bool:
    """Whether a job waits at the priority that Slurm computes for it: neither held nor put first by Giveway."""
    return (
        job.state is JobState.PENDING
        and not job.held
        and not job.not_understood
        and job.priority > 0
        and not is_front(job.priority)
        and job.het_job_id in {"", job.id}  # The others of a heterogeneous job go with the first one.
    )


def first_submissions(cluster: Cluster, jobs: Iterable[ObservedJob]) -> dict[str, int]:
    """When waiting jobs that ran before were first submitted: Slurm sets the time anew at each requeue."""
    ids = [job.id for job in jobs if job.state is JobState.PENDING and job.restarts]
    found: dict[str, int] = {}
    for first in range(0, len(ids), BATCH):
        rows = Job.objects.filter(
            cluster=cluster, job_id__in=ids[first : first + BATCH], first_submit__gt=0
        ).exclude(phase=JobPhase.ENDED)
        found.update(rows.order_by().values_list("job_id", "first_submit"))
    return found


def put_first(plans: Iterable[Plan]) -> frozenset[str]:
    """The jobs that plans put first in line, or have put there."""
    return frozenset(
        job_id
        for plan in plans
        if plan.kind == PlanKind.PREEMPT and plan.state != PlanState.PROPOSED
        for job_id in jobs_served(plan)
    )


def save(changed: Sequence[LinePlace]) -> None:
    """Write places down, new ones too."""
    LinePlace.objects.bulk_create(
        changed,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["cluster", "job_id"],
        update_fields=_FIELDS,
    )


def place_of(known: Mapping[str, LinePlace], cluster: Cluster, job: ObservedJob, partition: str) -> LinePlace:
    """A job's place, or a new one, not saved: all of its nice is its user's then."""
    found = known.get(job.id)
    if found is not None:
        return found
    user = job.user[:LONGEST_USER]
    return LinePlace(
        cluster=cluster, job_id=job.id, partition=partition, user=user, own_nice=job.nice, nice=job.nice
    )


def keep_places(actions: Iterable[PlannedAction], jobs: Mapping[str, ObservedJob]) -> None:
    """Note, before actions on them are sent, the places that jobs are about to leave. Must run inside a transaction."""
    concerned = [
        action
        for action in actions
        if action.kind in SETTING | LEAVING
        and action.job_id in jobs
        and not jobs[action.job_id].not_understood
    ]
    if not concerned:
        return
    cluster = concerned[0].cluster
    ids = {action.job_id for action in concerned}
    known = {p.job_id: p for p in LinePlace.objects.filter(cluster=cluster, job_id__in=ids)}
    for action in concerned:
        job = jobs[action.job_id]
        place = known[job.id] = place_of(known, cluster, job, action.plan.partition)
        if action.kind in LEAVING and place.kept is None and not job.held:
            first = is_front(job.priority)
            same = action.kind == ActionKind.PRIORITISE or job.run == run_of(action)
            place.kept = unniced(job.priority, job.nice) if same and not first else 0
        place.unsettled |= action.kind in SETTING
    save(list(known.values()))


def _settle(place: LinePlace, nice: int) -> bool:
    """Bring a place up to the nice that is seen. Whether that changes it."""
    before = (place.own_nice, place.nice, place.asked_from, place.attempts, place.unsettled)
    if place.unsettled:
        place.nice, place.asked_from, place.attempts, place.unsettled = nice, None, 0, False
    elif nice == place.nice:
        place.asked_from, place.attempts = None, 0
    elif nice != place.asked_from:
        given = place.given
        place.own_nice = nice - given if abs(nice - given) < abs(nice) else nice
        place.nice, place.asked_from, place.attempts = nice, None, 0
    return before != (place.own_nice, place.nice, place.asked_from, place.attempts, place.unsettled)


def _forget(cluster: Cluster, gone: Sequence[LinePlace]) -> None:
    ids = [place.job_id for place in gone]
    for first in range(0, len(ids), BATCH):
        some = ids[first : first + BATCH]
        rows = Job.objects.filter(cluster=cluster, job_id__in=some)
        alive = set(rows.exclude(phase=JobPhase.ENDED).values_list("job_id", flat=True))
        alive |= set(rows.filter(ended_at__gte=clock.now() - FORGOTTEN).values_list("job_id", flat=True))
        LinePlace.objects.filter(cluster=cluster, job_id__in=set(some) - alive).delete()
