"""Which task type a job has, and what the type says in place of what the job leaves out (spec 4, point 7).

How elastic a job is its comment says, else the pattern of its project that fits its name, else its type.

The first type whose pattern fits the job's name counts. What a user has said is never overridden: an amount that the
request names stays, and so do a time limit and words about `elastic` in the comment, even those not understood.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from scheduler.model.jobs import Request
from scheduler.model.task_types import TaskType
from scheduler.priority.comment import CommentWords, ElasticWords
from scheduler.priority.globs import Globs, globs


@dataclass(frozen=True, slots=True)
class TaskTypes:
    """A partition's types in their order, ready to match."""

    types: tuple[TaskType, ...] = ()
    _globs: Globs = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_globs", globs(tuple(each.pattern for each in self.types)))

    def of(self, name: str) -> TaskType | None:
        """The type of a job of this name."""
        number = self._globs.first(name) if self.types else None
        return None if number is None else self.types[number]


def needs_of(task_type: TaskType) -> dict[str, int]:
    """What a type says for each node, by resource; memory in MB."""
    said = {"gpu": task_type.gpus, "cpu": task_type.cpus, "mem": task_type.memory_mb}
    return {name: n for name, n in said.items() if n}


def request_filled(request: Request, task_type: TaskType, counted: Collection[str]) -> Request:
    """The request with what the type needs of the resources that it does not name.

    `counted`: the resources that the partition's nodes have; no others are filled in. GPUs never are: Slurm tells all
    that a job gets, and room for more would be made for nothing. Only requests for nodes are filled.
    """
    if not request.nodes or not request.per_node:
        return request
    missing = {
        name: n
        for name, n in needs_of(task_type).items()
        if name in counted and name != "gpu" and not request.per_node.get(name)
    }
    return replace(request, per_node={**request.per_node, **missing}) if missing else request


class SaysElastic(Protocol):
    """A pattern of a project, or a task type."""

    @property
    def elastic_min(self) -> int | None:
        """So many workers such a job keeps; None: nothing is said."""

    @property
    def elastic_wish(self) -> int | None:
        """So many it would like to have."""


def who_says(words: CommentWords, others: Iterable[SaysElastic | None]) -> SaysElastic | None:
    """The first of the others that says how elastic a job is; None where the comment says anything of it itself."""
    if words.about_elastic:
        return None
    return next((each for each in others if each is not None and each.elastic_min is not None), None)


def with_others(words: CommentWords, *others: SaysElastic | None) -> CommentWords:
    """A job's words with what the first of the others says of `elastic` where the comment says nothing of it."""
    said = who_says(words, others)
    if said is None or said.elastic_min is None:
        return words
    how = said.elastic_how if isinstance(said, TaskType) else None
    return replace(words, elastic=ElasticWords(said.elastic_min, said.elastic_wish, how))
