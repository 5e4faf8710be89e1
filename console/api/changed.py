"""What was changed after a version that somebody has read, in words: for the answer that refuses to write over it."""

from console.audit.models import AuditEntry
from console.core.diff import differences
from console.partitions.models import Partition
from console.projects.models import Project


def policy_changes(partition: Partition, since: int) -> list[str]:
    """Between that revision of the policy and the one in force."""
    read = partition.revisions.filter(number=since).first()
    if read is None or partition.revision is None:
        return []
    return [str(each) for each in differences(read.document, partition.revision.document)]


def project_changes(project: Project, since: int) -> list[str]:
    """From what the audit log has of the versions after that one, as the priority file would name it."""
    missed = project.version - since
    if missed <= 0:
        return []
    rows = AuditEntry.objects.filter(
        object_type="project", object_id=project.code, cluster=project.cluster.name, action="project.changed"
    )
    latest = list(rows.order_by("-sequence")[:missed])
    if len(latest) < missed:
        return []
    return [str(each) for each in differences(latest[-1].before, latest[0].after)]
