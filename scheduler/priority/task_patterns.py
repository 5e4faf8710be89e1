"""Which of a project's patterns counts for a job: the longest that fits its name, then the alphabetically first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scheduler.model.policy import TaskRule
from scheduler.priority.globs import Globs, globs


@dataclass(frozen=True, slots=True)
class TaskPatterns:
    """A project's patterns, ready to match."""

    tasks: Sequence[TaskRule] = ()
    _globs: Globs = field(init=False, compare=False)

    def __post_init__(self) -> None:
        by_pattern = {task.pattern: task for task in self.tasks}
        ordered = tuple(specific_first(by_pattern))
        object.__setattr__(self, "tasks", tuple(by_pattern[pattern] for pattern in ordered))
        object.__setattr__(self, "_globs", globs(ordered))

    def of(self, name: str) -> TaskRule | None:
        """The pattern that counts for a job of this name."""
        number = self._globs.first(name) if self.tasks else None
        return None if number is None else self.tasks[number]


def specific_first(patterns: Iterable[str]) -> list[str]:
    """Patterns in the order in which they are tried: the longest, then the alphabetically first."""
    return sorted(patterns, key=lambda text: (-len(text), text))
