"""Jobs that were stopped and did not come back: told to their users and to who looks after the partition."""

from collections.abc import Iterator
from datetime import datetime

from console.cluster.models import Cluster
from console.notices import texts
from console.notices.administrators import Administrators
from console.notices.models import Notice, NoticeKind
from console.steering.models import Incident


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
