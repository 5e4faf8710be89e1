"""Time as the services see it: one name to replace in tests."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment, aware, UTC."""
    return datetime.now(UTC)


def from_epoch(seconds: int) -> datetime:
    """Epoch seconds (what the scheduler core and Slurm speak) as an aware moment."""
    return datetime.fromtimestamp(seconds, UTC)
