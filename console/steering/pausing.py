"""The switch: while it is on, nobody is stopped in a partition, or anywhere on the cluster.

The cycle reads it (`facts.why_paused`): no stop is begun, and plans whose victims still run are taken back.
"""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from console.audit.services import SYSTEM, Context, Subject, record
from console.cluster.connect import configured_cluster
from console.cluster.models import Cluster
from console.cluster.services import show_change
from console.core import clock
from console.core.shell import shell_actor
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


# What `manage.py pause` and `manage.py resume` share: which partition, who, and why.


def add_arguments(parser: CommandParser) -> None:
    """`--partition X --reason TEXT --actor NAME`."""
    parser.add_argument("--partition", metavar="X", help="Only this partition (default: all of them).")
    parser.add_argument("--reason", metavar="TEXT", default="", help="Why; every page shows it.")
    parser.add_argument(
        "--actor", metavar="NAME", help="For the audit log (default: shell:<your user name>)."
    )


def read(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `pausing.pause` and `resume`; a line on stderr and status 2 when they make no sense."""
    actor = options["actor"] or shell_actor()
    if actor.casefold() == SYSTEM:
        raise CommandError(f"--actor: {SYSTEM} stands for the system itself; name a person.", returncode=2)
    cluster = configured_cluster()
    return {
        "actor": actor,
        "cluster": cluster,
        "partition": _partition(cluster, options["partition"]),
        "reason": options["reason"],
    }


def named(partition: Partition | None) -> str:
    """What the switch is about, at the beginning of a sentence."""
    return f"Partition {partition.name}" if partition else "All partitions"


def _partition(cluster: Cluster, name: str | None) -> Partition | None:
    if name is None:
        return None
    found = Partition.objects.filter(cluster=cluster, name=name).first()
    if found is None:
        raise CommandError(f"There is no partition {name} in cluster {cluster.name}.", returncode=2)
    return found
