"""What became of a job that is not in the queue any more, as the cluster tells it."""

from dataclasses import dataclass
from enum import StrEnum


class EndKind(StrEnum):
    """How a job ended."""

    ALIVE = "alive"
    """It has not ended: it waits, runs, or is on its way."""
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    """By a person: its user or an administrator."""
    TIMED_OUT = "timed_out"
    """Its time limit, or its own deadline, was over."""
    FAILED = "failed"
    """Its script, its node or its start failed."""
    UNTOLD = "untold"
    """Who could tell does not answer just now, or not in words that are known."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a job's last run. `state`: Slurm's own word. `by`: who cancelled it, where that is told.

    `signal`: what ended its script, 0 for none; `exit_code` of a script that ended by itself. `start` and `end` are
    epoch seconds of the cluster's clock; `start` is None for a job that never ran, or where it is not told.
    """

    kind: EndKind
    state: str = ""
    exit_code: int = 0
    signal: int = 0
    by: str = ""
    start: int | None = None
    end: int | None = None
