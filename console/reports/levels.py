"""What a project's numbers come to: its score, and the levels that follow in each partition."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Count

from console.cluster.models import Cluster, Job, JobPhase
from console.core.translate import resay
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from scheduler.model.jobs import Level
from scheduler.model.policy import PartitionPolicy
from scheduler.priority.levels import level_of
from scheduler.priority.score import task_score, user_score


@dataclass(frozen=True, slots=True)
class Named:
    """A level with what people call it."""

    index: Level
    name: str


@dataclass(frozen=True, slots=True)
class TypedTask:
    """A pattern of job names as it was typed; `level` instead of an importance, or empty."""

    pattern: str
    importance: float = 1.0
    level: str = ""


@dataclass(frozen=True, slots=True)
class TaskLevel:
    """What a pattern comes to: its score (None when it has a level of its own) and level."""

    task: TypedTask
    score: float | None
    level: Named


@dataclass(frozen=True, slots=True)
class PartitionLevels:
    """What follows in one partition. `before` is None for a project that does not exist yet."""

    partition: str
    before: Named | None
    after: Named
    tasks: list[TaskLevel]
    running: int = 0
    waiting: int = 0

    @property
    def changes(self) -> bool:
        """Whether its members' level moves."""
        return self.before is not None and self.before != self.after


@dataclass(frozen=True, slots=True)
class Inputs:
    """A project's three numbers."""

    size: float
    grade: float
    urgency: float

    @property
    def score(self) -> float:
        """size ÷ grade × urgency (¶182)."""
        return user_score(self.size, self.grade, self.urgency)


@dataclass(frozen=True, slots=True)
class LevelPreview:
    """All that the panel beside a project's form shows; without `inputs` there is nothing to compute yet."""

    inputs: Inputs | None
    partitions: list[PartitionLevels] = field(default_factory=list)


def named_level(policy: PartitionPolicy, index: Level) -> Named:
    """A level with its name in that partition."""
    return Named(index, resay(policy.level_name(index)) if index is None else policy.level_name(index))


def score_level(policy: PartitionPolicy, score: float) -> Named:
    """The level that a score reaches in a partition."""
    return named_level(policy, level_of(score, policy.levels))


def preview(
    cluster: Cluster,
    inputs: Inputs | None,
    tasks: Sequence[TypedTask] = (),
    code: str = "",
    present: Inputs | None = None,
) -> LevelPreview:
    """What `inputs` come to in every partition, beside what `present` (the saved ones) come to; two queries."""
    if inputs is None:
        return LevelPreview(None)
    counts = _job_counts(cluster, code) if code else {}
    rows = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    return LevelPreview(inputs, [_partition(row, inputs, tasks, present, counts) for row in rows])


def _partition(
    row: Partition,
    inputs: Inputs,
    tasks: Iterable[TypedTask],
    present: Inputs | None,
    counts: dict[tuple[str, str], int],
) -> PartitionLevels:
    policy = policy_of(row)
    return PartitionLevels(
        partition=row.name,
        before=score_level(policy, present.score) if present else None,
        after=score_level(policy, inputs.score),
        tasks=[_task(policy, inputs, task) for task in tasks],
        running=counts.get((row.name, JobPhase.RUNNING), 0),
        waiting=counts.get((row.name, JobPhase.PENDING), 0),
    )


def _task(policy: PartitionPolicy, inputs: Inputs, task: TypedTask) -> TaskLevel:
    """A pattern's own level counts where the partition has it; elsewhere its importance does."""
    own = policy.level_index(task.level) if task.level else None
    if own is not None:
        return TaskLevel(task, None, named_level(policy, own))
    score = task_score(inputs.size, inputs.grade, inputs.urgency, task.importance)
    return TaskLevel(task, score, score_level(policy, score))


def _job_counts(cluster: Cluster, code: str) -> dict[tuple[str, str], int]:
    rows = Job.objects.filter(cluster=cluster, project=code).exclude(phase=JobPhase.ENDED)
    grouped = rows.order_by().values_list("partition", "phase").annotate(count=Count("id"))
    return {(partition, phase): count for partition, phase, count in grouped}
