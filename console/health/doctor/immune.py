"""How much of what is enforced is out of reach."""

from collections.abc import Iterator

from django.conf import settings

from console.health.doctor.findings import Finding, counted, ok, warn
from console.partitions.models import Partition
from console.reports.immune import immune_parts
from scheduler.model.policy import Enforcement

NAME = "immune jobs"
MUCH = 0.25
"""More of a partition than this is worth a word."""


def check_immune() -> Iterator[Finding]:
    """Whether running jobs that Slurm does not requeue hold much of a partition that enforces its plans."""
    rows = Partition.objects.filter(
        cluster__name=settings.GIVEWAY_CLUSTER_NAME, revision__enforcement=Enforcement.ENFORCE.value
    ).select_related("cluster")
    partitions = {row.name: row.cluster for row in rows}
    if not partitions:
        return
    parts = immune_parts(next(iter(partitions.values())), list(partitions))
    much = {name: part for name, part in sorted(parts.items()) if part.share > MUCH}
    for name, part in much.items():
        code = counted("doctor.immune.much", part.count)
        yield warn(NAME, code, n=part.percent, partition=name, m=part.count, user=part.users[0].user)
    if not much:
        yield ok(NAME, "doctor.immune.little")
