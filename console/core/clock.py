"""Time as the services see it: one name to replace in tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime

from django.utils import timezone

_MADE_UP: ContextVar[datetime | None] = ContextVar("made_up_moment", default=None)


def now() -> datetime:
    """The present moment, aware, UTC."""
    return _MADE_UP.get() or datetime.now(UTC)


@contextmanager
def set_to(moment: datetime) -> Iterator[None]:
    """Inside, it is this moment: for the past that a demonstration makes up, and for nothing else."""
    token = _MADE_UP.set(moment)
    try:
        yield
    finally:
        _MADE_UP.reset(token)


def is_made_up() -> bool:
    """Whether what is written down now is of a past that is made up, and no event of this process."""
    return _MADE_UP.get() is not None


def today() -> date:
    """The day that it is now in the installation's time zone."""
    return timezone.localdate(now(), timezone.get_default_timezone())


def from_epoch(seconds: int) -> datetime:
    """Epoch seconds (what the scheduler core and Slurm speak) as an aware moment."""
    return datetime.fromtimestamp(seconds, UTC)
