"""Running jobs that cannot be requeued, where the policy lets them be cancelled after a notice: this is the notice."""

from collections.abc import Iterator

from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.notices import texts
from console.notices.models import Notice, NoticeKind
from console.notices.requests import NO_PLAN
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from scheduler.model.policy import Enforcement, NotRequeueable

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
