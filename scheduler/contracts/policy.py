"""A partition's policy as the priority file writes it (contract B, without `admins`), in and out."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from scheduler.contracts.errors import InputError, quoted
from scheduler.contracts.fields import (
    Fields,
    Reader,
    amounts,
    choice,
    different,
    flag,
    listing,
    mapping,
    maybe,
    name,
    number,
    plain,
    positive,
    text,
    unique,
    whole,
)
from scheduler.contracts.policy_checks import check_bands, check_ends, check_levels, check_references
from scheduler.contracts.rules import bands, decode_balance, encode_balance
from scheduler.contracts.task_types import decode_task_type, encode_task_type
from scheduler.model.policy import (
    Dispatch,
    Enforcement,
    GiveBack,
    KeywordDenied,
    LevelRule,
    LineOrder,
    Mode,
    NotRequeueable,
    OverQuota,
    Partial,
    PartitionPolicy,
    VictimOrder,
)
from scheduler.model.task_types import TaskType

POLICY_KEYS = (
    "name", "mode", "enforcement", "levels", "quotas", "quota_amounts", "quota_totals", "over_quota", "user_overrides",
    "task_overrides",
    "bands", "victim_order", "exempt_s", "grace_s", "checkpoint_signal", "start_deadline_s",
    "max_preemptions_per_job", "not_requeueable", "cancel_notice_s", "cancel_if_not_requeueable", "no_requeue_users",
    "min_wait_s", "cool_down_s", "max_stops_per_hour",
    "max_stops_per_user_hour", "protected_jobs", "protected_users", "protected_accounts", "protected_qos",
    "keyword_denied", "order", "user_overrides_until", "task_overrides_until", "rest_s", "max_stops_per_job_hour",
    "max_crashes_per_hour", "units", "elastic", "partial", "give_back", "regrow_s",
    "patience_s", "dispatch", "balance", "task_types",
)  # fmt: skip
QUOTAS = ("quotas", "quota_amounts", "quota_totals")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9998, 12, 31, tzinfo=UTC).timestamp())
_SIGNALS = ("", "USR1", "USR2", "TERM", "INT", "HUP", "QUIT", "CONT", "URG", "WINCH", "XCPU")


def decode_policy(obj: object, path: str = "$") -> PartitionPolicy:
    """The policy in a JSON value. Raises `InputError` with the path of the first fault."""
    return read_policy(Fields(obj, path, POLICY_KEYS))


def read_policy(fields: Fields) -> PartitionPolicy:
    """The policy among the fields of an object that may have others too."""
    default = PartitionPolicy(name="")
    policy = PartitionPolicy(
        name=fields.need("name", name),
        mode=fields.get("mode", choice(Mode), default.mode),
        enforcement=fields.get("enforcement", choice(Enforcement), default.enforcement),
        levels=fields.get("levels", listing(_level), ()),
        quotas=fields.get("quotas", mapping(whole), {}),
        quota_amounts=fields.get("quota_amounts", mapping(amounts), {}),
        quota_totals=fields.get("quota_totals", mapping(amounts), {}),
        over_quota=fields.get("over_quota", choice(OverQuota), default.over_quota),
        user_overrides=fields.get("user_overrides", _level_names, {}),
        task_overrides=fields.get("task_overrides", _level_names, {}),
        user_overrides_until=fields.get("user_overrides_until", _moments, {}),
        task_overrides_until=fields.get("task_overrides_until", _moments, {}),
        bands=fields.get("bands", maybe(bands), None),
        victim_order=fields.get("victim_order", choice(VictimOrder), default.victim_order),
        exempt_s=fields.get("exempt_s", whole, default.exempt_s),
        grace_s=fields.get("grace_s", whole, default.grace_s),
        checkpoint_signal=fields.get("checkpoint_signal", _signal, default.checkpoint_signal),
        start_deadline_s=fields.get("start_deadline_s", whole, default.start_deadline_s),
        max_preemptions_per_job=fields.get("max_preemptions_per_job", whole, default.max_preemptions_per_job),
        not_requeueable=_not_requeueable(fields),
        cancel_notice_s=fields.get("cancel_notice_s", whole, _notice_unless_said(fields)),
        no_requeue_users=fields.get("no_requeue_users", different(name), ()),
        min_wait_s=fields.get("min_wait_s", whole, default.min_wait_s),
        cool_down_s=fields.get("cool_down_s", whole, default.cool_down_s),
        max_stops_per_hour=fields.get("max_stops_per_hour", maybe(whole), None),
        max_stops_per_user_hour=fields.get("max_stops_per_user_hour", maybe(whole), None),
        keyword_denied=fields.get("keyword_denied", choice(KeywordDenied), default.keyword_denied),
        order=fields.get("order", choice(LineOrder), default.order),
        rest_s=fields.get("rest_s", whole, default.rest_s),
        max_stops_per_job_hour=fields.get("max_stops_per_job_hour", maybe(whole), None),
        max_crashes_per_hour=fields.get("max_crashes_per_hour", maybe(positive), None),
    )
    policy = _with_units(_with_protected(policy, fields), fields)
    _check(policy, fields)
    return policy


def _check(policy: PartitionPolicy, fields: Fields) -> None:
    """What one setting says of another."""
    check_levels(policy, fields.at("levels"))
    for key in (*QUOTAS, "user_overrides", "task_overrides"):
        check_references(policy, getattr(policy, key), fields.at(key))
    for key in ("user_overrides", "task_overrides"):
        check_ends(getattr(policy, key), getattr(policy, f"{key}_until"), fields.at(f"{key}_until"))
    check_bands(policy, fields.at("bands"))


def _with_protected(policy: PartitionPolicy, fields: Fields) -> PartitionPolicy:
    return replace(
        policy,
        protected_jobs=fields.get("protected_jobs", different(name), ()),
        protected_users=fields.get("protected_users", different(name), ()),
        protected_accounts=fields.get("protected_accounts", different(name), ()),
        protected_qos=fields.get("protected_qos", different(name), ()),
    )


def _with_units(policy: PartitionPolicy, fields: Fields) -> PartitionPolicy:
    """The policy with what the fields say about units, elastic jobs, patience, kept nodes and task types."""
    return replace(
        policy,
        units=fields.get("units", flag, policy.units),
        elastic=fields.get("elastic", flag, policy.elastic),
        partial=fields.get("partial", choice(Partial), policy.partial),
        give_back=fields.get("give_back", choice(GiveBack), policy.give_back),
        regrow_s=fields.get("regrow_s", whole, policy.regrow_s),
        patience_s=fields.get("patience_s", whole, policy.patience_s),
        dispatch=fields.get("dispatch", choice(Dispatch), policy.dispatch),
        balance=fields.get("balance", maybe(decode_balance), None),
        task_types=_task_types(fields),
    )


def _task_types(fields: Fields) -> tuple[TaskType, ...]:
    """The rows in their order, each pattern once."""
    none: tuple[TaskType, ...] = ()
    rows = fields.get("task_types", listing(decode_task_type), none)
    paths = [f"{fields.at('task_types')}[{i}].pattern" for i in range(len(rows))]
    unique([row.pattern for row in rows], paths, "pattern")
    return rows


def encode_policy(policy: PartitionPolicy) -> dict[str, Any]:
    """The policy as the priority file has it, every key written out."""
    return {**_encode_ranks(policy), **_encode_stops(policy), **_encode_methods(policy)}


def _encode_ranks(policy: PartitionPolicy) -> dict[str, Any]:
    """Who stands above whom, and how much each may hold."""
    return {
        "name": policy.name,
        "mode": policy.mode.value,
        "enforcement": policy.enforcement.value,
        "levels": [_encode_level(rule) for rule in policy.levels],
        "quotas": dict(policy.quotas),
        "quota_amounts": {level: dict(limits) for level, limits in policy.quota_amounts.items()},
        "quota_totals": {level: dict(limits) for level, limits in policy.quota_totals.items()},
        "over_quota": policy.over_quota.value,
        "user_overrides": dict(policy.user_overrides),
        "task_overrides": dict(policy.task_overrides),
        "user_overrides_until": _encode_moments(policy.user_overrides_until),
        "task_overrides_until": _encode_moments(policy.task_overrides_until),
        "bands": None if policy.bands is None else [list(band) for band in policy.bands],
    }


def _encode_stops(policy: PartitionPolicy) -> dict[str, Any]:
    """Whom a job may stop, how, and how often."""
    return {
        "victim_order": policy.victim_order.value,
        "exempt_s": policy.exempt_s,
        "rest_s": policy.rest_s,
        "grace_s": policy.grace_s,
        "checkpoint_signal": policy.checkpoint_signal,
        "start_deadline_s": policy.start_deadline_s,
        "max_preemptions_per_job": policy.max_preemptions_per_job,
        "not_requeueable": policy.not_requeueable.value,
        "cancel_notice_s": policy.cancel_notice_s,
        "no_requeue_users": list(policy.no_requeue_users),
        "min_wait_s": policy.min_wait_s,
        "cool_down_s": policy.cool_down_s,
        "max_stops_per_hour": policy.max_stops_per_hour,
        "max_stops_per_user_hour": policy.max_stops_per_user_hour,
        "max_stops_per_job_hour": policy.max_stops_per_job_hour,
        "max_crashes_per_hour": policy.max_crashes_per_hour,
        "protected_jobs": list(policy.protected_jobs),
        "protected_users": list(policy.protected_users),
        "protected_accounts": list(policy.protected_accounts),
        "protected_qos": list(policy.protected_qos),
    }


def _encode_methods(policy: PartitionPolicy) -> dict[str, Any]:
    """The order of the line, and the methods of planning."""
    return {
        "keyword_denied": policy.keyword_denied.value,
        "order": policy.order.value,
        "units": policy.units,
        "elastic": policy.elastic,
        "partial": policy.partial.value,
        "give_back": policy.give_back.value,
        "regrow_s": policy.regrow_s,
        "patience_s": policy.patience_s,
        "dispatch": policy.dispatch.value,
        "balance": policy.balance and encode_balance(policy.balance),
        "task_types": [encode_task_type(row) for row in policy.task_types],
    }


def _as_before(fields: Fields) -> bool:
    """Whether the older key says that a job that is not requeued is cancelled; of a notice it knows nothing."""
    return fields.get("cancel_if_not_requeueable", flag, False)


def _notice_unless_said(fields: Fields) -> int:
    return 0 if _as_before(fields) else PartitionPolicy(name="").cancel_notice_s


def _not_requeueable(fields: Fields) -> NotRequeueable:
    """What the key says; without it, what the older key says."""
    said = fields.get("not_requeueable", maybe(choice(NotRequeueable)), None)
    if not _as_before(fields):
        return said or NotRequeueable.REQUEUE
    if said not in (None, NotRequeueable.CANCEL):
        older = "cancel_if_not_requeueable"
        raise InputError(
            fields.at("not_requeueable"), f"{quoted(said.value)}, but {older} is true; leave that key out"
        )
    return NotRequeueable.CANCEL


def _level(value: object, path: str) -> LevelRule:
    fields = Fields(value, path, ("name", "min_score", "keyword", "keyword_users"))
    return LevelRule(
        name=fields.need("name", name),
        min_score=fields.get("min_score", maybe(number), None),
        keyword=fields.get("keyword", maybe(name), None),
        keyword_users=fields.get("keyword_users", _users, None),
    )


def _users(value: object, path: str) -> tuple[str, ...] | None:
    """Who may use a keyword: nobody where the list is empty; left out, everybody may."""
    return different(name)(value, path)


def _encode_level(rule: LevelRule) -> dict[str, Any]:
    result: dict[str, Any] = {"name": rule.name}
    if rule.min_score is not None:
        result["min_score"] = plain(rule.min_score)
    if rule.keyword is not None:
        result["keyword"] = rule.keyword
    if rule.keyword_users is not None:
        result["keyword_users"] = list(rule.keyword_users)
    return result


def _signal(value: object, path: str) -> str:
    word = text(value, path)
    if word not in _SIGNALS:
        known = ", ".join(_SIGNALS[1:])
        raise InputError(path, f'{quoted(word)} is not one of {known} ("" sends none)')
    return word


_level_names: Reader[dict[str, str]] = mapping(name)


def _moment(value: object, path: str) -> int:
    """`2026-12-01T18:00:00Z` as epoch seconds; a part of a second is dropped."""
    word = text(value, path)
    try:
        read = datetime.fromisoformat(word)
    except ValueError:
        raise InputError(path, f"{quoted(word)} is no moment; write 2026-12-01T18:00:00Z") from None
    if read.tzinfo is None:
        raise InputError(path, f"{quoted(word)} has no time zone; write 2026-12-01T18:00:00Z")
    seconds = (read - _EPOCH) // timedelta(seconds=1)
    if not 0 <= seconds <= _LAST:
        raise InputError(path, f"{quoted(word)} is not between 1970 and 9998")
    return seconds


_moments: Reader[dict[str, int]] = mapping(_moment)


def _encode_moments(moments: Mapping[str, int]) -> dict[str, str]:
    return {key: f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" for key, at in moments.items()}
