"""What users say of their jobs in comments, for pages and the API: who is elastic, with how many workers now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from console.cluster.models import Cluster, Job, JobPhase
from scheduler.model.sentence import Sentence, say
from scheduler.model.task_types import TaskType
from scheduler.model.words import amounts, duration
from scheduler.priority.comment import CommentWords, ElasticWords, ShrinkHow, read_comment
from scheduler.priority.task_types import TaskTypes, needs_of, with_type

WAYS: Mapping[ShrinkHow, str] = {
    ShrinkHow.TASKS: "elastic.tasks",
    ShrinkHow.INPLACE: "elastic.inplace",
    ShrinkHow.RESTART: "elastic.restart",
}
NO_TYPES = TaskTypes()


@dataclass(frozen=True, slots=True)
class SaidOfJob:
    """A job with the words of its comment. `workers`: how many it has now; None while it has none running."""

    job: Job
    words: CommentWords
    workers: int | None = None
    task_type: TaskType | None = None

    @property
    def said_by(self) -> str:
        """Who says how elastic it is: its comment, or its task type."""
        return "comment" if self.words.about_elastic else "task_type"

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
        if elastic.how not in (None, ShrinkHow.TASKS):
            return say("elastic.rigid")
        return "" if _workers_of(self.job, self.words) else say("elastic.alone")


def _range(elastic: ElasticWords, workers: int | None, said_by: str) -> Sentence:
    by_type = ".type" if said_by == "task_type" else ""
    if elastic.wish is None:
        told = say(f"elastic.least{by_type}", least=elastic.least)
    else:
        told = say(f"elastic.range{by_type}", least=elastic.least, wish=elastic.wish)
    return told if workers is None else say("elastic.now", range=told, n=workers)


@dataclass(slots=True)
class WorkerCounter:
    """Counts workers, with one query for each user whose workers are jobs of their own (tasks, groups)."""

    cluster: Cluster
    types: Mapping[str, TaskTypes] = field(default_factory=dict)
    """By partition."""
    _by_user: dict[str, list[tuple[str, str, str, str]]] = field(default_factory=dict)

    def said_of(self, job: Job) -> SaidOfJob:
        """What a job's comment says, and its task type where the comment is silent."""
        kind = self.types.get(job.partition, NO_TYPES).of(job.name)
        words = with_type(read_comment(job.comment), kind)
        return SaidOfJob(job, words, self._now(job, words) if words.elastic else None, kind)

    def worth_telling(self, jobs: Iterable[Job]) -> list[SaidOfJob]:
        """Of some jobs those that are elastic, or whose words are not understood; each set of workers once."""
        found: dict[object, SaidOfJob] = {}
        for job in jobs:
            said = self.said_of(job)
            if said.words.elastic or said.words.faults:
                whose = _workers_of(job, said.words) or (job.job_id, job.partition)
                found.setdefault((whose, said.words.faults), said)
        return list(found.values())

    def _now(self, job: Job, words: CommentWords) -> int | None:
        """Running jobs of its array or group; else the nodes that it holds."""
        if mine := _workers_of(job, words):
            return sum(_workers_of_row(row) == mine for row in self._running(job.user)) or None
        return len(job.alloc) if job.phase == JobPhase.RUNNING else None

    def _running(self, user: str) -> list[tuple[str, str, str, str]]:
        if user not in self._by_user:
            rows = Job.objects.filter(cluster=self.cluster, user=user, phase=JobPhase.RUNNING)
            every = rows.values_list("job_id", "account", "partition", "comment")
            self._by_user[user] = list(every)
        return self._by_user[user]


def _workers_of(job: Job, words: CommentWords) -> object:
    """What the workers of a job share where they are jobs of their own: its group, or its array. None: it is alone."""
    return _shared(job.job_id, job.account, job.partition, words)


def _workers_of_row(row: tuple[str, str, str, str]) -> object:
    job_id, account, partition, comment = row
    return _shared(job_id, account, partition, read_comment(comment))


def _shared(job_id: str, account: str, partition: str, words: CommentWords) -> object:
    if words.group:
        return "group", words.group, account, partition
    array, line, _task = job_id.partition("_")
    return ("array", array, partition) if line else None
