"""What every page's template may use."""

from django.conf import settings
from django.http import HttpRequest

from console.core.installation import is_simulated


def page(request: HttpRequest) -> dict[str, object]:
    """Whether the cluster is simulated, and its name, for the frame around each page."""
    return {"is_simulated": is_simulated(), "cluster_name": settings.GIVEWAY_CLUSTER_NAME}
