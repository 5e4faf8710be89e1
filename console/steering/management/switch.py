"""What `manage.py pause` and `manage.py resume` share: which partition, who, and why."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.audit.services import SYSTEM
from console.cluster.connect import configured_cluster
from console.cluster.models import Cluster
from console.core.shell import shell_actor
from console.partitions.models import Partition


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
