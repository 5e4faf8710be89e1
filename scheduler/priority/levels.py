"""From a score to a level, by a partition's thresholds (¶183, ¶197)."""

from collections.abc import Sequence

from scheduler.model.jobs import Level
from scheduler.model.policy import LevelRule

_LOWEST = -(1 << 60)
"""Not -(1 << 62): Python hashes that like -1 and -2, and much is kept by weights."""


def level_of(score: float, levels: Sequence[LevelRule]) -> Level:
    """The highest level whose threshold the score reaches; None when it reaches none."""
    return next(
        (rank for rank, rule in enumerate(levels) if rule.min_score is not None and score >= rule.min_score),
        None,
    )


def weight(level: Level) -> int:
    """A number that grows with the rank; nothing configured has the smallest of all."""
    return _LOWEST if level is None else -level


def level_word(level: Level, names: Sequence[str], letter: str = "P") -> str:
    """What people call a level: its name, else `P2` (users) or `L2` (tasks); `unconfigured` for None."""
    if level is None:
        return "unconfigured"
    return names[level] if level < len(names) else f"{letter}{level}"
