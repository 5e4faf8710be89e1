"""What the asker sees of the mirror."""

from django.db.models import QuerySet

from console.accounts.models import User
from console.cluster.models import Cluster, Job
from console.partitions.selectors import visible_partitions


def visible_jobs(user: User, cluster: Cluster) -> QuerySet[Job]:
    """The jobs of the partitions that the asker sees."""
    names = visible_partitions(user).filter(cluster=cluster).values_list("name", flat=True)
    return Job.objects.filter(cluster=cluster, partition__in=list(names))
