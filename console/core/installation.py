"""What kind of installation this is."""

from django.conf import settings


def is_production() -> bool:
    """Whether these are the settings of a real installation."""
    return str(settings.SETTINGS_MODULE).endswith(".production")
