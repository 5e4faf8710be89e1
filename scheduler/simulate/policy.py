"""What a simulation is told to do (`giveway.simulation/1`, docs/contracts.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import blake2b
from math import ceil

from scheduler.contracts.errors import InputError, join, quoted
from scheduler.contracts.fields import (
    Fields,
    Reader,
    above_zero,
    choice,
    different,
    entries,
    level,
    listing,
    maybe,
    name,
    number,
    positive,
    text,
    whole,
)
from scheduler.contracts.jsontext import parse
from scheduler.contracts.rules import decode_rules
from scheduler.model.jobs import Level
from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules
from scheduler.simulate.trace import RESOURCES, TraceRow, texts


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
        point = evenly(self.seed, text_of(row, self.by)) * sum(each.share for each in self.shares)
        for each in self.shares:
            point -= each.share
            if point < 0:
                return each.level
        return self.shares[-1].level


@dataclass(frozen=True, slots=True)
class Everybody:
    level: Level = None

    def of(self, _row: TraceRow) -> Level:
        return self.level


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Levels that are known job by job; a job that is not named has none."""

    levels: Mapping[str, Level]

    def of(self, row: TraceRow) -> Level:
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
        word = text_of(row, self.by)
        return any(fnmatchcase(word, pattern) for pattern in self.patterns)

    def least(self, count: int) -> int:
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


# --- The policy file of a simulation, `giveway.simulation/1`: strict, every fault with its JSON path.


SCHEMA = "giveway.simulation/1"

_KEYS = (
    "schema", "name", "scheduler", "order", "backfill", "runtimes", "assumed_limit_s", "partition",
    "user_level", "task_level", "requeue", "max_stops_per_job", "cycle_s", "elastic",
)  # fmt: skip
_PREEMPT_ONLY = ("requeue", "max_stops_per_job", "cycle_s", "elastic")
NOT_SIMULATED = (
    "quotas", "quota_amounts", "quota_totals", "over_quota",
    "paused", "stopped", "stopped_by_user", "balance", "dispatch", "max_crashes_per_hour",
)  # fmt: skip


def read_policy(data: bytes) -> Policy:
    """A policy from the bytes of its file. Raises `InputError`."""
    return decode_policy(parse(data))


def decode_policy(value: object) -> Policy:
    """A policy from JSON values. Raises `InputError`."""
    fields = Fields(value, "$", _KEYS)
    if fields.need("schema", text) != SCHEMA:
        raise InputError(fields.at("schema"), f"must be {quoted(SCHEMA)}")
    scheduler = fields.need("scheduler", choice(Scheduler))
    preempts = scheduler is Scheduler.PREEMPT
    order = fields.get("order", choice(QueueOrder), QueueOrder.LEVEL if preempts else QueueOrder.SUBMIT)
    if preempts and order is QueueOrder.SUBMIT:
        raise InputError(fields.at("order"), 'must be "level" where jobs of higher levels get room made')
    for key in () if preempts else _PREEMPT_ONLY:
        if fields.has(key):
            raise InputError(fields.at(key), 'belongs to "scheduler": "preempt"; leave it out')
    default = Policy("", scheduler)
    return Policy(
        name=fields.need("name", name),
        scheduler=scheduler,
        partition=fields.need("partition", _rules),
        order=order,
        backfill=fields.get("backfill", choice(Backfill), default.backfill),
        runtimes=fields.get("runtimes", choice(Runtimes), default.runtimes),
        assumed_limit_s=fields.get("assumed_limit_s", maybe(positive), None),
        user_level=fields.get("user_level", _level_rule, default.user_level),
        task_level=fields.get("task_level", _level_rule, default.task_level),
        requeue=fields.get("requeue", _requeue, default.requeue),
        max_stops_per_job=fields.get("max_stops_per_job", whole, default.max_stops_per_job),
        cycle_s=fields.get("cycle_s", positive, default.cycle_s),
        elastic=fields.get("elastic", maybe(_elastic), None),
    )


def _rules(value: object, path: str) -> PartitionRules:
    """Contract A's partition, but for what a simulation does not follow."""
    for key in entries(value, path):
        if key in NOT_SIMULATED:
            raise InputError(join(path, key), "is not simulated; leave it out")
    return decode_rules(value, path)


def _level_rule(value: object, path: str) -> LevelRule:
    """One of the three ways to give levels, told apart by their keys."""
    readers: dict[str, Callable[[object, str], LevelRule]] = {
        "patterns": _by_pattern,
        "shares": _by_hash,
        "level": _everybody,
    }
    given = [key for key in readers if key in entries(value, path)]
    if len(given) != 1:
        raise InputError(path, "give just one of patterns, shares, level")
    return readers[given[0]](value, path)


def _by_pattern(value: object, path: str) -> LevelRule:
    fields = Fields(value, path, ("by", "patterns", "otherwise"))
    return ByPattern(
        fields.need("by", choice(MatchedText)),
        fields.need("patterns", listing(_pattern)),
        fields.get("otherwise", level, None),
    )


def _pattern(value: object, path: str) -> Pattern:
    fields = Fields(value, path, ("match", "level"))
    return Pattern(fields.need("match", text), fields.need("level", level))


def _by_hash(value: object, path: str) -> LevelRule:
    fields = Fields(value, path, ("by", "seed", "shares"))
    shares = fields.need("shares", listing(_share))
    if not any(each.share for each in shares):
        raise InputError(fields.at("shares"), "shares out nothing; give at least one share above 0")
    return ByHash(
        fields.get("by", choice(MatchedText), MatchedText.JOB), fields.get("seed", text, ""), shares
    )


def _share(value: object, path: str) -> Share:
    fields = Fields(value, path, ("level", "share"))
    return Share(fields.need("level", level), fields.need("share", number))


def _everybody(value: object, path: str) -> LevelRule:
    return Everybody(Fields(value, path, ("level",)).need("level", level))


def _requeue(value: object, path: str) -> Requeue:
    fields = Fields(value, path, ("checkpoint_s", "restart_s"))
    return Requeue(fields.need("checkpoint_s", maybe(whole)), fields.get("restart_s", whole, 0))


_texts: Reader[tuple[str, ...]] = different(text)


def _elastic(value: object, path: str) -> ElasticRule:
    fields = Fields(value, path, ("by", "patterns", "min_share", "unit"))
    share = fields.need("min_share", above_zero)
    if share > 1:
        raise InputError(fields.at("min_share"), "must be at most 1: all of a job's nodes")
    unit = fields.get("unit", maybe(name), None)
    if unit not in {None, *RESOURCES}:
        raise InputError(fields.at("unit"), f"{quoted(unit)} is not one of {', '.join(RESOURCES)}")
    patterns: tuple[str, ...] = fields.get("patterns", _texts, ())
    return ElasticRule(
        fields.get("by", choice(MatchedText), MatchedText.JOB), patterns or ("*",), share, unit
    )
