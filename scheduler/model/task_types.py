"""The library of task types: what a kind of task needs where its request leaves it out (spec 4.1, 7)."""

from dataclasses import dataclass
from enum import StrEnum


class ShrinkHow(StrEnum):
    """In which way an elastic job gives up workers (spec 4.1)."""

    TASKS = "tasks"
    """Its workers are tasks of an array or jobs of a group; some go back to the queue."""
    INPLACE = "inplace"
    """It gives back nodes and goes on."""
    RESTART = "restart"
    """It is put back and starts again on fewer nodes."""


@dataclass(frozen=True, slots=True)
class TaskType:
    """One row of a partition's library. `pattern`: shell style, of job names; the first row that fits a name counts.

    `cpus`, `gpus` and `memory_mb` are for each node, `time_s` is the time limit; None: nothing is filled in.
    `elastic_min`: such a task is elastic and goes on with so many workers; `elastic_wish`: so many it would like to
    have (None: as many as it has); `elastic_how`: in which way it gives them up. `balanced`: it gets processors of
    equal compute power (spec 5, point 4). What the user says, in the request or the comment, comes first.
    """

    pattern: str
    cpus: int | None = None
    gpus: int | None = None
    memory_mb: int | None = None
    time_s: int | None = None
    elastic_min: int | None = None
    elastic_wish: int | None = None
    elastic_how: ShrinkHow | None = None
    balanced: bool = False

    @property
    def fills(self) -> bool:
        """Whether it fills anything into a request."""
        return any(value is not None for value in (self.cpus, self.gpus, self.memory_mb, self.time_s))
