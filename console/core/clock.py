"""Time as the services see it: one name to replace in tests."""

from datetime import UTC, date, datetime

from django.utils import timezone


def now() -> datetime:
    """The present moment, aware, UTC."""
    return datetime.now(UTC)


def today() -> date:
    """The day that it is now in the installation's time zone."""
    return timezone.localdate(now(), timezone.get_default_timezone())


def from_epoch(seconds: int) -> datetime:
    """Epoch seconds (what the scheduler core and Slurm speak) as an aware moment."""
    return datetime.fromtimestamp(seconds, UTC)
