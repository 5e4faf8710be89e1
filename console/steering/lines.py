"""How the lines of all partitions are to stand, by this cycle's verdicts. Nothing is written here.

- Where the policy enforces `order: levels` and nothing is paused, jobs stand by level.
- Elsewhere, in a partition that stops jobs, only those that were stopped or put first keep their places.
- In shadow, and while paused, everybody is where Slurm has them; how they would stand is worked out all the same.
A job that waits in several partitions stands in the line of the first of them that is ordered.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from django.db.models import QuerySet

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.steering.deciding import Verdicts
from console.steering.facts import run_of
from console.steering.models import LinePlace, Plan, PlanKind, PlannedAction, PlanState
from console.steering.new_plans import LONGEST_USER
from console.steering.served import jobs_served
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob, SnapshotJob
from scheduler.model.line import is_front, unniced
from scheduler.model.policy import Enforcement, LineOrder
from scheduler.priority import line
from scheduler.priority.line import PlaceInLine, Waiting

FIXED_AFTER = 3
"""A nice that was asked for so often and is not seen: somebody has fixed the priority, so Slurm ignores it."""


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """One partition's line. `shown`: how it stands by level, or would (`is_ordered` says which).

    `wanted`: the nice of each of its jobs; `at`: the priority at which a held one is let go.
    """

    partition: str
    is_ordered: bool
    shown: Mapping[str, PlaceInLine] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Lines:
    """The lines of a cluster, by partition. Empty until they are worked out."""

    by_partition: dict[str, PartitionLine] = field(default_factory=dict)

    def release_at(self, job_id: str) -> int | None:
        """The priority that a held job is to have when it is let go; None where Slurm's own will do."""
        return next((one.at[job_id] for one in self.by_partition.values() if job_id in one.at), None)


def work_out(
    verdicts: Iterable[Verdicts],
    jobs: Mapping[str, ObservedJob],
    places: Mapping[str, LinePlace],
    since: Mapping[str, int],
    beneficiaries: frozenset[str],
    held: Callable[[str], bool],
) -> Lines:
    """`since`: when jobs were first submitted, where that is not what Slurm says now. `beneficiaries`: jobs that a plan
    puts first. `held`: whether nothing may be begun in a partition."""
    decided = {v.facts.row.name: v for v in verdicts if not v.is_undecided and not held(v.facts.row.name)}
    ordered = {name for name, verdict in decided.items() if is_ordered(verdict)}
    members: dict[str, list[str]] = {name: [] for name in decided}
    for job in jobs.values():
        theirs = [name for name in job.partitions if name in decided]
        if job.state is JobState.PENDING and theirs and job.id not in beneficiaries:
            home = next((name for name in theirs if name in ordered), theirs[0])
            members[home].append(job.id)
    lines = Lines()
    for name, ids in members.items():
        waiting = [
            found
            for job_id in ids
            if (found := _waiting(decided[name], jobs[job_id], places.get(job_id), since)) is not None
        ]
        lines.by_partition[name] = _line(decided[name], waiting, places)
    return lines


def is_ordered(verdicts: Verdicts) -> bool:
    """Whether a partition's line stands by level."""
    facts = verdicts.facts
    enforced = facts.policy.enforcement is Enforcement.ENFORCE
    return enforced and facts.policy.order is LineOrder.LEVELS and not facts.paused


def _keeps_places(verdicts: Verdicts) -> bool:
    facts = verdicts.facts
    return facts.policy.enforcement is not Enforcement.SHADOW and not facts.paused


def _waiting(
    verdicts: Verdicts, job: ObservedJob, place: LinePlace | None, since: Mapping[str, int]
) -> Waiting | None:
    """A job in line; one that is held counts where its place is kept."""
    kept = place.kept if place is not None else None
    planned = verdicts.jobs.get(job.id)
    if planned is None or not (is_in_line(job) or (job.held and kept is not None)):
        return None
    return Waiting(
        job.id,
        _band(verdicts, planned),
        job.priority,
        job.nice,
        since=since.get(job.id, job.submit),
        own_nice=place.own_nice if place is not None else job.nice,
        kept=kept,
        held=job.held,
    )


def _band(verdicts: Verdicts, job: SnapshotJob) -> int:
    policy = verdicts.facts.policy
    return line.band(policy.mode, len(policy.levels), job.user_level, job.task_level)


def _line(verdicts: Verdicts, waiting: Sequence[Waiting], places: Mapping[str, LinePlace]) -> PartitionLine:
    policy, name = verdicts.facts.policy, verdicts.facts.row.name
    by_level = policy.order is LineOrder.LEVELS
    count = line.bands(policy.mode, len(policy.levels)) if by_level else 1
    members = waiting if by_level else [replace(job, band=0) for job in waiting]
    shown = line.stand(members, count)
    ordered = is_ordered(verdicts)
    wished: Mapping[str, PlaceInLine] = {}
    if ordered:
        wished = shown
    elif _keeps_places(verdicts):
        wished = line.stand(waiting, 1)  # Kept places count inside a level here, too.
    wanted = {
        job.id: wished[job.id].nice if job.id in wished else job.own_nice
        for job in waiting
        if not job.held and not _is_fixed(job, places.get(job.id))
    }
    at = {job.id: wished[job.id].priority for job in waiting if job.held and job.id in wished}
    return PartitionLine(name, ordered, shown, wanted, at)


def _is_fixed(job: Waiting, place: LinePlace | None) -> bool:
    return place is not None and place.attempts >= FIXED_AFTER and job.nice == place.asked_from


# Believing only what is seen of nices: what of a job's nice is its user's, and what is ours.
#
# A nice that nobody here asked for is its user's doing. It may have been set outright (`Nice=20`), or counted from the
# one in force (`scontrol top` does that): it is taken for whichever is the smaller change.

FORGOTTEN = timedelta(hours=1)
"""How long a place outlives its job: half a table may have been shown."""
BATCH = 500
SETTING = frozenset({ActionKind.PRIORITISE, ActionKind.RESTORE_PRIORITY, ActionKind.RELEASE})
"""After these Slurm has another nice, or none, whoever had one before."""
LEAVING = frozenset({ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.PRIORITISE})
"""Before these a job has a place that is to be kept. Who is sent a signal may be ended by it, or leave by itself."""
_FIELDS = ("partition", "user", "own_nice", "nice", "asked_from", "attempts", "kept", "unsettled")


def places(cluster: Cluster) -> dict[str, LinePlace]:
    """All that are kept, by job."""
    return {place.job_id: place for place in _places(cluster.pk)}


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
