"""The figures behind `/metrics`: a fixed number of queries, each a sum or a count that the database makes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Q

from console.audit.checks import ChainState, chain_state
from console.audit.models import AuditEntry
from console.cluster.models import Cluster, Job, JobPhase
from console.health.doctor.job_requests import count_by_word
from console.notices.models import Notice
from console.partitions.models import Partition
from console.power.losses import lost_by_partition
from console.power.models import PowerIncident, StandoutState
from console.reports.immune import NOBODY, WHY, immune_parts
from console.starts.quality import StopScore, stop_scores
from console.starts.selectors import last_said_of_all
from console.steering.models import STOP_KINDS, ActionState, CycleMeter, Incident, Pause, Plan, PlannedAction
from scheduler.model.resource_kinds import COUNTED

BROKER_S = 1.0
"""How long the broker may take to answer."""

NEVER_VERIFIED = ChainState(None, None, None)
Counted = dict[tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class Measurements:
    """Everything at one moment; keys are the labels' values in their order."""

    clusters: list[Cluster]
    meters: dict[str, CycleMeter]
    plans: Counted = field(default_factory=dict)
    """(cluster, partition, kind, state)"""
    stops: Counted = field(default_factory=dict)
    """(cluster, partition, kind, reason)"""
    jobs: Counted = field(default_factory=dict)
    """(cluster, partition, phase, user level, task level)"""
    held_back: Counted = field(default_factory=dict)
    """(cluster, partition, reason)"""
    paused: Counted = field(default_factory=dict)
    """(cluster, partition); the whole cluster under an empty partition."""
    immune: Counted = field(default_factory=dict)
    """(cluster, partition, why)"""
    unread: Counted = field(default_factory=dict)
    """Waiting jobs whose request is not planned for: (cluster, word)"""
    immune_shares: dict[tuple[str, ...], float] = field(default_factory=dict)
    """(cluster, partition, resource)"""
    starts_said: dict[tuple[str, ...], int] = field(default_factory=dict)
    """(cluster): when starts of waiting jobs were forecast last, epoch s"""
    chances: dict[tuple[str, ...], StopScore] = field(default_factory=dict)
    """(cluster, partition): what came of the chances of being stopped"""
    incidents: Counted = field(default_factory=dict)
    """Open ones: (cluster, partition)"""
    stand_out: Counted = field(default_factory=dict)
    """Processors with an open incident: (cluster, resource)"""
    hours_lost: dict[tuple[str, ...], float] = field(default_factory=dict)
    """To waiting for the slowest processor, over 30 days: (cluster, partition, resource)"""
    lost: Counted = field(default_factory=dict)
    """(cluster, partition)"""
    audit_rows: int = 0
    chain: ChainState = NEVER_VERIFIED
    notices: Counted = field(default_factory=dict)
    """(by what)"""


def measure() -> Measurements:
    """Read all of it; nothing is written."""
    meters = CycleMeter.objects.select_related("cluster")
    jobs, held_back = _jobs()
    incidents = _incidents()
    clusters = list(Cluster.objects.order_by("name"))
    immune, immune_shares = _immune(clusters)
    return Measurements(
        clusters=clusters,
        meters={meter.cluster.name: meter for meter in meters},
        plans=_counts(Plan.objects, "cluster__name", "partition", "kind", "state"),
        stops=_counts(
            # Only what was seen to have worked: it never becomes less.
            PlannedAction.objects.filter(kind__in=STOP_KINDS, state=ActionState.VERIFIED),
            *("cluster__name", "plan__partition", "kind", "plan__reason"),
        ),
        jobs=jobs,
        held_back=held_back,
        paused=dict(_paused()),
        immune=immune,
        unread=dict(count_by_word().items()),
        immune_shares=immune_shares,
        starts_said=last_said_of_all(),
        chances=stop_scores(),
        incidents={key: opened for key, (_, opened) in incidents.items()},
        stand_out=_counts(
            PowerIncident.objects.filter(state=StandoutState.OPEN), "cluster__name", "resource"
        ),
        hours_lost=lost_by_partition(),
        # Of victims seen again after all the incidents stay: it never becomes less.
        lost={key: every for key, (every, _) in incidents.items()},
        audit_rows=AuditEntry.objects.aggregate(last=Max("sequence"))["last"] or 0,
        chain=chain_state(),
        notices=_notices(),
    )


def broker_queues() -> dict[str, int] | None:
    """How many messages wait in each queue of Redis; None when it does not answer. Empty with the embedded broker."""
    import redis

    if not settings.REDIS_URL:
        return {}
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=BROKER_S, socket_connect_timeout=BROKER_S
    )
    try:
        return {queue: int(client.llen(queue)) for queue in settings.GIVEWAY_QUEUES}
    except redis.RedisError:
        return None
    finally:
        client.close()


def _counts(rows: Any, *names: str) -> Counted:
    counted = rows.order_by().values_list(*names).annotate(count=Count("pk"))
    return {tuple(str(value) for value in row[:-1]): row[-1] for row in counted}


def _jobs() -> tuple[Counted, Counted]:
    """Jobs by level, and those held back by their reason, from one query."""
    jobs: Counted = {}
    held_back: Counted = {}
    rows = _counts(
        Job.objects.exclude(phase=JobPhase.ENDED),
        *("cluster__name", "partition", "phase", "user_level_name", "task_level_name", "verdict", "reason"),
    )
    for (cluster, partition, phase, user, task, verdict, reason), count in rows.items():
        key = (cluster, partition, phase, user or "none", task or "none")
        jobs[key] = jobs.get(key, 0) + count
        if phase == JobPhase.PENDING and verdict in {"queue", "wait"} and reason:
            why = (cluster, partition, reason)
            held_back[why] = held_back.get(why, 0) + count
    return jobs, held_back


def _immune(clusters: Iterable[Cluster]) -> tuple[Counted, dict[tuple[str, ...], float]]:
    """Immune jobs by why, and their shares, of every partition; zeros where there are none."""
    names: dict[int, list[str]] = {}
    for cluster_id, name in Partition.objects.values_list("cluster", "name"):
        names.setdefault(cluster_id, []).append(name)
    jobs: Counted = {}
    shares: dict[tuple[str, ...], float] = {}
    for cluster in clusters:
        theirs = names.get(cluster.pk, [])
        parts = immune_parts(cluster, theirs)
        for name in theirs:
            part = parts.get(name, NOBODY)
            why = part.why
            jobs |= {(cluster.name, name, each): why[each] for each in WHY}
            shares |= {(cluster.name, name, each): part.shares.get(each, 0.0) for each in COUNTED}
    return jobs, shares


def _paused() -> Iterator[tuple[tuple[str, ...], int]]:
    """0 or 1 for every partition with a policy, and for the whole of each cluster."""
    pauses = set(Pause.objects.values_list("cluster__name", "partition"))
    for cluster in Cluster.objects.values_list("name", flat=True):
        yield (cluster, ""), int((cluster, "") in pauses)
    for key in Partition.objects.values_list("cluster__name", "name"):
        yield key, int(key in pauses)


def _incidents() -> dict[tuple[str, ...], tuple[int, int]]:
    """All of them and those that are open, by cluster and partition."""
    rows = Incident.objects.order_by().values_list("cluster__name", "partition")
    counted = rows.annotate(every=Count("pk"), opened=Count("pk", filter=Q(closed_at=None)))
    return {(cluster, partition): (every, opened) for cluster, partition, every, opened in counted}


def _notices() -> Counted:
    waiting = Notice.objects.aggregate(
        mail=Count("pk", filter=Q(mail_due__isnull=False)),
        webhook=Count("pk", filter=Q(hook_due__isnull=False)),
    )
    return {(way,): count for way, count in waiting.items()}
