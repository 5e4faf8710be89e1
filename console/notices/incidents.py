"""Jobs that were stopped and did not come back: told to their users and, as are pauses of Giveway's own, to who looks
after the partition."""

from collections.abc import Iterator
from datetime import datetime

from console.accounts.models import Role, User
from console.audit.services import SYSTEM
from console.cluster.models import Cluster
from console.notices import texts
from console.notices.models import Notice, NoticeKind
from console.notices.spoken import Spoken
from console.partitions.models import PartitionAdmin
from console.steering.models import Incident, Pause

NO_PLAN = 0


class Administrators:
    """Who is told what concerns a partition: its administrators; the console's where it has none."""

    def __init__(self, cluster: Cluster) -> None:
        self._named: dict[str, set[str]] = {}
        rows = PartitionAdmin.objects.filter(partition__cluster=cluster)
        for partition, username in rows.values_list("partition__name", "username"):
            self._named.setdefault(partition, set()).add(username)
        self._accounts = {account.username: account for account in User.objects.filter(is_active=True)}
        self._everywhere = {name for name, row in self._accounts.items() if row.role == Role.ADMINISTRATOR}

    def of(self, partition: str) -> Iterator[tuple[str, str]]:
        """Account and user name on the cluster of each."""
        for name in sorted(self._named.get(partition) or self._everywhere):
            yield name, self._accounts[name].slurm_user if name in self._accounts else name


def incidents(cluster: Cluster, since: datetime, spoken: Spoken) -> Iterator[Notice]:
    """Incidents since then, and the pauses that Giveway has set by itself."""
    opened = list(Incident.objects.filter(cluster=cluster, opened_at__gte=since).order_by("id"))
    paused = list(Pause.objects.filter(cluster=cluster, by=SYSTEM, since__gte=since).exclude(partition=""))
    if not opened and not paused:
        return
    administrators = Administrators(cluster)
    for incident in opened:
        text = spoken.to(incident.user, texts.lost, incident)
        yield _about(NoticeKind.LOST, f"lost/{incident.pk}", incident.user, cluster, incident, text)
        for name, user in administrators.of(incident.partition):
            text = spoken.to(user, texts.incident, incident)
            yield _about(NoticeKind.INCIDENT, f"incident/{incident.pk}/{name}", user, cluster, incident, text)
    for pause in paused:
        for name, user in administrators.of(pause.partition):
            text = spoken.to(user, texts.paused, pause)
            yield Notice(
                kind=NoticeKind.PAUSED,
                key=f"paused/{pause.pk}/{int(pause.since.timestamp())}/{name}",
                user=user,
                cluster=cluster.name,
                partition=pause.partition,
                job_id="",
                plan=NO_PLAN,
                text=text,
            )


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
