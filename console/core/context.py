"""What every page's template may use."""

from django.conf import settings
from django.http import HttpRequest


def page(request: HttpRequest) -> dict[str, object]:
    """The kind of cluster and its name, for the frame around each page."""
    return {"cluster_kind": settings.GIVEWAY_CLUSTER, "cluster_name": settings.GIVEWAY_CLUSTER_NAME}
