"""The switch: while it is on, nobody is stopped in a partition, or anywhere on the cluster.

The cycle reads it (`facts.why_paused`): no stop is begun, and plans whose victims still run are taken back.
"""

from django.db import transaction

from console.audit.services import Context, Subject, record
from console.cluster.models import Cluster
from console.cluster.services import show_change
from console.core import clock
from console.partitions.models import Partition
from console.steering.models import Incident, Pause
from scheduler.model.sentence import Sentence

LONGEST_REASON = 1000
EVERYWHERE = ""
"""The partition of a pause that holds for the whole cluster."""


def pauses_shown(cluster_name: str) -> list[Pause]:
    """The pauses that hold now, the whole cluster's first, for the banner on every page."""
    return list(Pause.objects.filter(cluster__name=cluster_name).order_by("partition"))


def pause_of(cluster: Cluster, partition: Partition | None) -> Pause | None:
    """The pause of a partition itself, or of the whole cluster; a partition under the latter may have none."""
    return Pause.objects.filter(cluster=cluster, partition=_name(partition)).first()


def pause(
    *,
    actor: str,
    cluster: Cluster,
    partition: Partition | None = None,
    reason: str = "",
    request_id: str = "",
) -> Pause:
    """Stop nobody from the next cycle on. What is paused already stays as it was paused first."""
    if not isinstance(reason, Sentence):
        reason = reason.strip()[:LONGEST_REASON]
    with transaction.atomic():
        row, is_new = Pause.objects.get_or_create(
            cluster=cluster,
            partition=_name(partition),
            defaults={"since": clock.now(), "by": actor, "reason": reason},
        )
        if is_new:
            show_change(cluster)
            _tell("pause.set", actor, cluster, partition, reason, request_id)
    return row


def resume(
    *,
    actor: str,
    cluster: Cluster,
    partition: Partition | None = None,
    reason: str = "",
    request_id: str = "",
) -> bool:
    """Lift the pause; False when there was none. Incidents of before do not pause the partition again."""
    with transaction.atomic():
        lifted, _ = Pause.objects.filter(cluster=cluster, partition=_name(partition)).delete()
        if lifted:
            incidents = Incident.objects.filter(cluster=cluster, counts=True)
            if partition:
                incidents = incidents.filter(partition=partition.name)
            incidents.update(counts=False)
            show_change(cluster)
            _tell("pause.lifted", actor, cluster, partition, reason.strip()[:LONGEST_REASON], request_id)
    return bool(lifted)


def _name(partition: Partition | None) -> str:
    return partition.name if partition else EVERYWHERE


def _tell(
    action: str, actor: str, cluster: Cluster, partition: Partition | None, reason: str, request_id: str
) -> None:
    name = _name(partition)
    record(
        actor=actor,
        action=action,
        subject=Subject(
            type="partition" if partition else "cluster",
            id=name or cluster.name,
            label=f"partition {name}" if partition else f"all partitions of {cluster.name}",
            cluster=cluster.name,
            partition=name,
        ),
        reason=reason,
        context=Context(request_id=request_id),
    )
