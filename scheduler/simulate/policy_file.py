"""The policy file of a simulation, `giveway.simulation/1`: strict, every fault with its JSON path."""

from collections.abc import Callable

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
from scheduler.model.snapshot import PartitionRules
from scheduler.simulate.policy import (
    Backfill,
    ByHash,
    ByPattern,
    ElasticRule,
    Everybody,
    LevelRule,
    MatchedText,
    Pattern,
    Policy,
    QueueOrder,
    Requeue,
    Runtimes,
    Scheduler,
    Share,
)
from scheduler.simulate.workload import RESOURCES

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
