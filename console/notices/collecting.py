"""From what plans and actions have become to notices: after the fact, outside the cycle, each thing once.

A notice's key names the fact, so looking twice (or two processes looking at once) makes it once. What is looked at
goes back a day: what happened just before the workers were down for the night is told in the morning.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F

from console.audit.services import SYSTEM
from console.cluster.models import Cluster, Job, JobPhase, Node
from console.core import clock
from console.notices import texts
from console.notices.models import Notice, NoticeKind
from console.notices.recipients import Administrators
from console.notices.requests import NO_PLAN, requests
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.power.models import PowerIncident, StandoutState
from console.steering.models import (
    STOP_KINDS,
    ActionState,
    Checkpoint,
    Incident,
    Pause,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
)
from console.steering.requests import asked_plans, requests_among
from scheduler.model.policy import Enforcement, NotRequeueable

# --- Jobs that were stopped and did not come back: told to their users and to who looks after the partition ---


def incidents(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Incidents since then."""
    opened = list(Incident.objects.filter(cluster=cluster, opened_at__gte=since).order_by("id"))
    if not opened:
        return
    administrators = Administrators(cluster)
    for incident in opened:
        text = texts.lost(incident)
        yield _about(NoticeKind.LOST, f"lost/{incident.pk}", incident.user, cluster, incident, text)
        for name, user in administrators.of(incident.partition):
            text = texts.incident(incident)
            yield _about(NoticeKind.INCIDENT, f"incident/{incident.pk}/{name}", user, cluster, incident, text)


def _about(kind: NoticeKind, key: str, user: str, cluster: Cluster, incident: Incident, text: str) -> Notice:
    return Notice(
        kind=kind,
        key=key,
        user=user,
        cluster=cluster.name,
        partition=incident.partition,
        job_id=incident.job_id,
        plan=incident.plan,
        text=text,
    )


# --- Running jobs that cannot be requeued, where the policy lets them be cancelled after a notice: this is the notice.


_STOPS_SOMEBODY = (Enforcement.ENFORCE.value, Enforcement.APPROVE.value)


def may_end(cluster: Cluster) -> Iterator[Notice]:
    """To each user, once for each run of a job."""
    partitions = Partition.objects.filter(cluster=cluster, revision__enforcement__in=_STOPS_SOMEBODY)
    for partition in partitions.select_related("revision"):
        policy = policy_of(partition)
        if policy.not_requeueable is not NotRequeueable.CANCEL or not policy.cancel_notice_s:
            continue
        rows = Job.objects.filter(cluster=cluster, partition=partition.name, phase=JobPhase.RUNNING)
        for row in rows.filter(immune_since__isnull=False).exclude(immune__in=("", "het")).order_by("job_id"):
            at = clock.from_epoch((row.immune_since or 0) + policy.cancel_notice_s)
            yield Notice(
                kind=NoticeKind.MAY_END,
                key=f"may_end/{cluster.pk}/{row.job_id}/{row.start}/{row.restarts}",
                user=row.user,
                cluster=cluster.name,
                partition=partition.name,
                job_id=row.job_id,
                plan=NO_PLAN,
                text=texts.may_end(row, at),
            )


# --- Processors that stand out: told to who looks after a partition of their nodes ---


def slow_processors(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Those that were opened, or opened again, since then and stand open; each person once."""
    rows = PowerIncident.objects.filter(cluster=cluster, state=StandoutState.OPEN, opened_at__gte=since)
    found = list(rows.order_by("id"))
    if not found:
        return
    administrators = Administrators(cluster)
    names = {row.node for row in found}
    nodes = dict(Node.objects.filter(cluster=cluster, name__in=names).values_list("name", "partitions"))
    managed = Partition.objects.filter(cluster=cluster, revision__isnull=False)
    known = set(managed.values_list("name", flat=True))
    for incident in found:
        for partition in (name for name in nodes.get(incident.node, ()) if name in known):
            for name, user in administrators.of(partition):
                yield Notice(
                    kind=NoticeKind.POWER,
                    key=f"power/{incident.pk}/{incident.times}/{name}",
                    user=user,
                    cluster=cluster.name,
                    partition=partition,
                    job_id="",
                    plan=NO_PLAN,
                    text=texts.stands_out(incident, partition),
                )


LOOK_BACK = timedelta(days=1)
REMEMBERED = timedelta(days=30)
"""How long a stopped job's return is waited for."""
BATCH = 500


def collect() -> int:
    """Make the notices that are missing; returns how many."""
    now = clock.now()
    since = now - LOOK_BACK
    found = [
        notice
        for cluster in Cluster.objects.all()
        for notice in (
            *_stopped(cluster, since),
            *_resumed(cluster, now),
            *_started(cluster, since),
            *_undone(cluster, since),
            *_grown(cluster, since),
            *_approvals(cluster),
            *_paused(cluster),
            *may_end(cluster),
            *incidents(cluster, since),
            *slow_processors(cluster, since),
            *requests(cluster, since),
        )
    ]
    new = {notice.key: notice for notice in found}
    for key in _known(list(new)):
        del new[key]
    for notice in new.values():
        notice.made_at = now
        notice.mail_due = now if settings.GIVEWAY_EMAIL else None
        notice.hook_due = now if settings.GIVEWAY_WEBHOOK_URL else None
    Notice.objects.bulk_create(new.values(), ignore_conflicts=True, batch_size=BATCH)
    return len(new)


def _known(keys: list[str]) -> Iterator[str]:
    for first in range(0, len(keys), BATCH):
        yield from Notice.objects.filter(key__in=keys[first : first + BATCH]).values_list("key", flat=True)


def _stopped(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Stops that were seen to have worked."""
    done = PlannedAction.objects.filter(
        cluster=cluster, kind__in=STOP_KINDS, state=ActionState.VERIFIED, verified_at__gte=since
    )
    stops = list(done.exclude(plan__job_id=F("job_id")).select_related("plan").order_by("id"))
    saved = _checkpoints(cluster, {stop.job_id for stop in stops})
    for stop in stops:
        run = (stop.job_id, stop.run_start, stop.run_restarts)
        key = f"stopped/{cluster.pk}/{stop.job_id}/{stop.run_start}/{stop.run_restarts}"
        text = texts.stopped(stop, saved.get(run))
        yield _notice(NoticeKind.STOPPED, key, stop.user, stop.plan, job_id=stop.job_id, text=text)


def _resumed(cluster: Cluster, now: datetime) -> Iterator[Notice]:
    """Jobs whose stop was told and which have started again since; also when they are over by now."""
    told = Notice.objects.filter(
        cluster=cluster.name, kind=NoticeKind.STOPPED, made_at__gte=now - REMEMBERED
    ).values("job_id")
    rows = list(
        Job.objects.filter(cluster=cluster, job_id__in=told, start__gt=0, restarts__gt=0).exclude(
            phase=JobPhase.PENDING
        )
    )
    done = PlannedAction.objects.filter(cluster=cluster, kind__in=STOP_KINDS, state=ActionState.VERIFIED)
    saved = _checkpoints(cluster, {row.job_id for row in rows})
    stops: dict[str, list[PlannedAction]] = {}
    for stop in done.filter(job_id__in=[row.job_id for row in rows]).select_related("plan").order_by("-id"):
        stops.setdefault(stop.job_id, []).append(stop)
    for row in rows:
        before = [stop for stop in stops.get(row.job_id, ()) if stop.run_restarts < row.restarts]
        if not before:
            continue
        stop = before[0]
        if stop.plan.kind == PlanKind.GROW:
            continue  # `_grown` tells of it.
        key = f"resumed/{cluster.pk}/{row.job_id}/{row.start}/{row.restarts}"
        checkpoint = saved.get((row.job_id, stop.run_start, stop.run_restarts))
        text = texts.resumed(row, stop, clock.from_epoch(row.start), checkpoint)
        yield _notice(NoticeKind.RESUMED, key, row.user, stop.plan, job_id=row.job_id, text=text)


def _started(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Beneficiaries that run, when somebody was stopped for them."""
    plans = Plan.objects.filter(
        cluster=cluster, kind=PlanKind.PREEMPT, started_at__gte=since, actions__kind__in=STOP_KINDS,
        actions__state=ActionState.VERIFIED,
    )  # fmt: skip
    for plan in plans.distinct().order_by("id"):
        text = texts.started(plan)
        yield _notice(NoticeKind.STARTED, f"started/{plan.pk}", plan.user, plan, text=text)


def _undone(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    plans = Plan.objects.filter(
        cluster=cluster, kind=PlanKind.PREEMPT, state=PlanState.UNDONE, ended_at__gte=since
    ).exclude(victims=[])
    for plan in plans.order_by("id"):
        text = texts.undone(plan)
        yield _notice(NoticeKind.UNDONE, f"undone/{plan.pk}", plan.user, plan, text=text)


def _grown(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Jobs that were started again on more nodes and run."""
    plans = Plan.objects.filter(cluster=cluster, kind=PlanKind.GROW, started_at__gte=since, undo_reason="")
    for plan in plans.order_by("id"):
        text = texts.grown(plan)
        yield _notice(NoticeKind.RESUMED, f"grown/{plan.pk}", plan.user, plan, text=text)


def _approvals(cluster: Cluster) -> Iterator[Notice]:
    """Requests that wait for a person, to each administrator of the partition; to the console's where it has none."""
    asked = requests_among(asked_plans().filter(cluster=cluster).order_by("id"))
    if not asked:
        return
    administrators = Administrators(cluster)
    for plan in (request.lead for request in asked):
        for name, user in administrators.of(plan.partition):
            text = texts.approval(plan)
            yield _notice(NoticeKind.APPROVAL, f"approval/{plan.pk}/{name}", user, plan, text=text)


def _paused(cluster: Cluster) -> Iterator[Notice]:
    """Partitions that Giveway has paused by itself: only a person resumes them."""
    pauses = list(Pause.objects.filter(cluster=cluster, by=SYSTEM).order_by("partition"))
    administrators = Administrators(cluster) if pauses else None
    for pause in pauses:
        for name, user in administrators.of(pause.partition) if administrators else ():
            yield Notice(
                kind=NoticeKind.PAUSED,
                key=f"paused/{pause.pk}/{name}",
                user=user,
                cluster=cluster.name,
                partition=pause.partition,
                job_id="",
                plan=NO_PLAN,
                text=texts.paused(pause),
            )


def _checkpoints(cluster: Cluster, jobs: set[str]) -> dict[tuple[str, int, int], Checkpoint]:
    rows = Checkpoint.objects.filter(cluster=cluster, job_id__in=jobs)
    return {(row.job_id, row.run_start, row.run_restarts): row for row in rows}


def _notice(kind: NoticeKind, key: str, user: str, plan: Plan, *, text: str, job_id: str = "") -> Notice:
    return Notice(
        kind=kind,
        key=key,
        user=user,
        cluster=plan.cluster.name,
        partition=plan.partition,
        job_id=job_id or plan.job_id,
        plan=plan.pk,
        text=text,
    )
