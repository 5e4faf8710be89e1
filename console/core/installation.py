"""What kind of installation this is."""

from django.conf import settings
from django.http import HttpRequest

SIMULATOR = "simulator"
"""The one kind of cluster that is none: the others are known to `console.cluster.connect` only."""


def is_simulated() -> bool:
    """Whether the attached cluster is the simulator, so that nothing real can come to harm."""
    return bool(settings.GIVEWAY_CLUSTER == SIMULATOR)


def is_production() -> bool:
    """Whether these are the settings of a real installation."""
    return str(settings.SETTINGS_MODULE).endswith(".production")


def page_context(request: HttpRequest) -> dict[str, object]:
    """For the frame around each page."""
    return {"is_simulated": is_simulated(), "cluster_name": settings.GIVEWAY_CLUSTER_NAME}
