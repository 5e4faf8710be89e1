"""What users say of their jobs in comments, for pages and the API: who is elastic, with how many workers now."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from console.cluster.models import Cluster, Job, JobPhase
from scheduler.model.policy import TaskRule
from scheduler.model.sentence import Sentence, say
from scheduler.model.task_types import ShrinkHow, TaskType
from scheduler.model.words import amounts, duration
from scheduler.priority.comment import CommentWords, ElasticWords, read_comment
from scheduler.priority.task_patterns import TaskPatterns
from scheduler.priority.task_types import TaskTypes, needs_of, who_says, with_others

WAYS: Mapping[ShrinkHow, str] = {
    ShrinkHow.TASKS: "elastic.tasks",
    ShrinkHow.INPLACE: "elastic.inplace",
    ShrinkHow.RESTART: "elastic.restart",
}
PLAIN = frozenset({"cpu", "mem"})
NO_TYPES, NO_PATTERNS = TaskTypes(), TaskPatterns()


@dataclass(frozen=True, slots=True)
class SaidOfJob:
    """A job with the words of its comment. `workers`: how many it has now; None while it has none running."""

    job: Job
    words: CommentWords
    workers: int | None = None
    task_type: TaskType | None = None
    pattern: TaskRule | None = None

    @property
    def said_by(self) -> str:
        """Who says how elastic it is: its comment, a pattern of its project, or its task type."""
        said = who_says(self.words, (self.pattern, self.task_type))
        if said is None:
            return "comment"
        return "project" if said is self.pattern else "task_type"

    @property
    def type_needs(self) -> Sentence | str:
        """What its task type says that it needs; empty without one."""
        kind = self.task_type
        if kind is None:
            return ""
        needs = needs_of(kind)
        parts = [amounts(needs)] if needs else []
        parts += [duration(kind.time_s)] if kind.time_s else []
        return ", ".join(parts)

    @property
    def range(self) -> str:
        """How many workers it may have and has, in words; empty for a rigid job."""
        if self.words.elastic is None:
            return ""
        return _range(self.words.elastic, self.workers, self.said_by)

    @property
    def way(self) -> str:
        """In which way it gives up workers, where it says so."""
        how = self.words.elastic.how if self.words.elastic else None
        return say(WAYS[how]) if how else ""

    @property
    def note(self) -> str:
        """Why Giveway counts it as rigid all the same; empty when it shrinks it."""
        elastic = self.words.elastic
        if elastic is None:
            return ""
        if self.job.group:
            return "" if elastic.how in (None, ShrinkHow.TASKS) else say("elastic.rigid")
        if elastic.how is ShrinkHow.TASKS or self._is_small:
            return say("elastic.alone")
        more = elastic.how is ShrinkHow.INPLACE and any(
            part.keys() - PLAIN for part in self.job.alloc.values()
        )
        return say("elastic.gpus") if more else ""

    @property
    def _is_small(self) -> bool:
        """Whether it is on one node, or asks for one."""
        nodes = self.job.alloc or range(self.job.request.get("nodes") or 0)
        return len(nodes) < 2


def _range(elastic: ElasticWords, workers: int | None, said_by: str) -> Sentence:
    by = {"task_type": ".type", "project": ".project"}.get(said_by, "")
    if elastic.wish is None:
        told = say(f"elastic.least{by}", least=elastic.least)
    else:
        told = say(f"elastic.range{by}", least=elastic.least, wish=elastic.wish)
    return told if workers is None else say("elastic.now", range=told, n=workers)


@dataclass(slots=True)
class WorkerCounter:
    """Counts workers, with one query for each user whose workers are jobs of their own (tasks, groups)."""

    cluster: Cluster
    types: Mapping[str, TaskTypes] = field(default_factory=dict)
    """By partition."""
    patterns: Mapping[str, TaskPatterns] = field(default_factory=dict)
    """By the code of the project."""
    _by_user: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)

    def said_of(self, job: Job, workers: int | None = None) -> SaidOfJob:
        """What a job's comment says, and its project and its task type where the comment is silent.

        `workers`: how many it has now, where that is known already.
        """
        kind = self.types.get(job.partition, NO_TYPES).of(job.name)
        pattern = self.patterns.get(job.project, NO_PATTERNS).of(job.name)
        words = with_others(read_comment(job.comment), pattern, kind)
        if words.elastic and workers is None:
            workers = self._now(job)
        return SaidOfJob(job, words, workers if words.elastic else None, kind, pattern)

    def worth_telling(self, jobs: Iterable[Job]) -> list[SaidOfJob]:
        """Of some jobs those that are elastic, or whose words are not understood; each set of workers once."""
        found: dict[object, SaidOfJob] = {}
        for job in jobs:
            said = self.said_of(job)
            if said.words.elastic or said.words.faults:
                found.setdefault((job.group or job.job_id, job.partition, said.words.faults), said)
        return list(found.values())

    def _now(self, job: Job) -> int | None:
        """Running jobs of its group; else the nodes that it holds."""
        if job.group:
            return self._running(job.user)[job.group, job.partition] or None
        return len(job.alloc) if job.phase == JobPhase.RUNNING else None

    def _running(self, user: str) -> Counter[tuple[str, str]]:
        """How many of the user's jobs run, by group and partition."""
        if user not in self._by_user:
            rows = Job.objects.filter(cluster=self.cluster, user=user, phase=JobPhase.RUNNING)
            self._by_user[user] = Counter(rows.values_list("group", "partition"))
        return self._by_user[user]
