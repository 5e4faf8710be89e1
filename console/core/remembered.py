"""Goes with its last callers, the lanes' own caches (`console/reports/lane_*.py`)."""

from collections.abc import Callable

_forget: list[Callable[[], None]] = []


def forget_everything() -> None:
    """For tests, each of which begins with a new database."""
    for forget in _forget:
        forget()


def on_forgetting(forget: Callable[[], None]) -> None:
    """Whoever keeps what the database has told forgets it with everything else."""
    _forget.append(forget)
