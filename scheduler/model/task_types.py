"""The library of task types: what a kind of task needs where its request leaves it out (spec 4.1, 7)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskType:
    """One row of a partition's library. `pattern`: shell style, of job names; the first row that fits a name counts.

    `cpus`, `gpus` and `memory_mb` are for each node, `time_s` is the time limit; None: nothing is filled in.
    `elastic_min`: such a task is elastic and goes on with so many workers; `elastic_wish`: so many it would like to
    have (None: as many as it has). What the user says, in the request or the comment, comes first.
    """

    pattern: str
    cpus: int | None = None
    gpus: int | None = None
    memory_mb: int | None = None
    time_s: int | None = None
    elastic_min: int | None = None
    elastic_wish: int | None = None

    @property
    def fills(self) -> bool:
        """Whether it fills anything into a request."""
        return any(value is not None for value in (self.cpus, self.gpus, self.memory_mb, self.time_s))
