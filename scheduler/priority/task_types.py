"""Which task type a job has, and what the type says in place of what the job leaves out (spec 4, point 7).

The first type whose pattern fits the job's name counts. What a user has said is never overridden: an amount that the
request names stays, and so do a time limit and words about `elastic` in the comment, even those not understood.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

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


def with_type(words: CommentWords, task_type: TaskType | None) -> CommentWords:
    """A job's words with what its type says of `elastic`, unless the comment says anything of it itself."""
    if task_type is None or task_type.elastic_min is None or words.about_elastic:
        return words
    return replace(words, elastic=ElasticWords(task_type.elastic_min, task_type.elastic_wish))
