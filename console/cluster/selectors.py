"""Reading the mirror. Pages and the API come here; only steering goes through `connect`."""

from django.conf import settings

from console.cluster.models import Cluster


def shown_cluster() -> Cluster:
    """The row of the cluster that the settings name, as the pages show it; made at first use."""
    row, _ = Cluster.objects.get_or_create(
        name=settings.GIVEWAY_CLUSTER_NAME, defaults={"kind": settings.GIVEWAY_CLUSTER}
    )
    return row
