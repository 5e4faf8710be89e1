"""What kind of installation this is."""

from django.conf import settings

SIMULATOR = "simulator"
"""The one kind of cluster that is none: the others are known to `console.cluster.connect` only."""


def is_simulated() -> bool:
    """Whether the attached cluster is the simulator, so that nothing real can come to harm."""
    return bool(settings.GIVEWAY_CLUSTER == SIMULATOR)


def is_production() -> bool:
    """Whether these are the settings of a real installation."""
    return str(settings.SETTINGS_MODULE).endswith(".production")
