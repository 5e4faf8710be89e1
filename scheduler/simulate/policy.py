"""What a simulation is told to do (`giveway.simulation/1`, docs/contracts.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import blake2b
from math import ceil

from scheduler.model.jobs import Level
from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules
from scheduler.simulate.trace import TraceRow, texts


class Scheduler(StrEnum):
    """How jobs are started, and whether others are stopped for them."""

    FCFS = "fcfs"
    """In order; nobody passes a job that does not fit."""
    EASY = "easy"
    """Who would not delay the first job that waits may pass it."""
    PREEMPT = "preempt"
    """EASY, and the planner makes room for jobs of higher levels."""


class QueueOrder(StrEnum):
    """Who is first in the queue."""

    SUBMIT = "submit"
    LEVEL = "level"


class Backfill(StrEnum):
    """Who is tried first of those who may pass."""

    ORDER = "order"
    SHORTEST = "shortest"


class Runtimes(StrEnum):
    """How long a job is expected to run when room is planned."""

    LIMIT = "limit"
    TRUE = "true"
    LAST_TWO = "last_two"
    """The mean of the last two that its user had finished when it was submitted; the limit until there are two."""


class MatchedText(StrEnum):
    """The texts of a row that jobs are told apart by."""

    USER = "user"
    GROUP = "group"
    NAME = "name"
    PRIORITY = "priority"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A shell-style pattern and the level of those who match it."""

    match: str
    level: Level


@dataclass(frozen=True, slots=True)
class ByPattern:
    """The first pattern that a text of the job matches gives its level; a job that matches none has `otherwise`."""

    by: MatchedText
    patterns: tuple[Pattern, ...]
    otherwise: Level = None

    def of(self, row: TraceRow) -> Level:
        """The level of a job."""
        word = text_of(row, self.by)
        return next((p.level for p in self.patterns if fnmatchcase(word, p.match)), self.otherwise)


@dataclass(frozen=True, slots=True)
class Share:
    """A level and how much of all falls to it."""

    level: Level
    share: float


@dataclass(frozen=True, slots=True)
class ByHash:
    """Levels dealt out evenly and always alike: by a hash of the seed and a text of the job.

    All jobs with the same text have the same level; `by: job` deals them out one by one.
    """

    by: MatchedText
    seed: str
    shares: tuple[Share, ...]

    def of(self, row: TraceRow) -> Level:
        """The level of a job."""
        point = evenly(self.seed, text_of(row, self.by)) * sum(each.share for each in self.shares)
        for each in self.shares:
            point -= each.share
            if point < 0:
                return each.level
        return self.shares[-1].level


@dataclass(frozen=True, slots=True)
class Everybody:
    """The same level for all."""

    level: Level = None

    def of(self, _row: TraceRow) -> Level:
        """The level of a job."""
        return self.level


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Levels that are known job by job; a job that is not named has none."""

    levels: Mapping[str, Level]

    def of(self, row: TraceRow) -> Level:
        """The level of a job."""
        return self.levels.get(row.id)


LevelRule = ByPattern | ByHash | Everybody | OneByOne


@dataclass(frozen=True, slots=True)
class Requeue:
    """What a stop costs. `checkpoint_s`: progress is saved every so many seconds of it (None: never; 0: at the stop).

    `restart_s`: every run after a stop begins with so many seconds in which nothing is done.
    """

    checkpoint_s: int | None = None
    restart_s: int = 0


@dataclass(frozen=True, slots=True)
class ElasticRule:
    """Which jobs go on with less: those whose text matches a pattern.

    Jobs of several nodes may lose nodes; those of one node may lose units of the resource `unit` there, each with its
    part of the rest. Each keeps at least `min_share`, rounded up. Its speed is proportional to what it has.
    """

    by: MatchedText
    patterns: tuple[str, ...]
    min_share: float
    unit: str | None = None

    def covers(self, row: TraceRow) -> bool:
        """Whether a job is elastic."""
        word = text_of(row, self.by)
        return any(fnmatchcase(word, pattern) for pattern in self.patterns)

    def least(self, count: int) -> int:
        """How many of so many pieces a job keeps."""
        return max(1, ceil(count * self.min_share))


@dataclass(frozen=True, slots=True)
class Policy:
    """One way to run the workload. `partition`: the rules that the planner goes by, and the mode of all levels.

    `spared`: ids of jobs that are never stopped.
    """

    name: str
    scheduler: Scheduler
    partition: PartitionRules = field(default_factory=lambda: PartitionRules("simulated", Mode.USER))
    order: QueueOrder = QueueOrder.SUBMIT
    backfill: Backfill = Backfill.ORDER
    runtimes: Runtimes = Runtimes.LIMIT
    assumed_limit_s: int | None = None
    user_level: LevelRule = field(default_factory=Everybody)
    task_level: LevelRule = field(default_factory=Everybody)
    requeue: Requeue = field(default_factory=Requeue)
    max_stops_per_job: int = 3
    cycle_s: int = 60
    elastic: ElasticRule | None = None
    spared: frozenset[str] = frozenset()


def text_of(row: TraceRow, which: MatchedText) -> str:
    """A text of a job; "" when the trace does not know it."""
    return row.id if which is MatchedText.JOB else dict(texts(row))[which.value]


def evenly(seed: str, word: str) -> float:
    """A number from 0 up to 1 that depends on nothing but the two texts."""
    digest = blake2b(word.encode(), key=blake2b(seed.encode(), digest_size=32).digest(), digest_size=8)
    return int.from_bytes(digest.digest()) / 2**64
