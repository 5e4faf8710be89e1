"""Processors that stand out: told to who looks after a partition of their nodes."""

from collections.abc import Iterator
from datetime import datetime

from console.cluster.models import Cluster, Node
from console.notices import texts
from console.notices.administrators import Administrators
from console.notices.models import Notice, NoticeKind
from console.notices.requests import NO_PLAN
from console.partitions.models import Partition
from console.power.models import PowerIncident, StandoutState


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
