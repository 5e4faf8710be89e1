"""A partition's policy as the priority file writes it (contract B, without `admins`), in and out."""

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime, timedelta
from typing import Any

from scheduler.contracts.errors import InputError, join, quoted
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
    reader_of,
    text,
    unique,
    whole,
)
from scheduler.contracts.rules import bands, decode_balance, encode_balance
from scheduler.contracts.task_types import decode_task_type, encode_task_type
from scheduler.model.policy import SETTINGS, LevelRule, NotRequeueable, PartitionPolicy
from scheduler.model.sentence import say
from scheduler.model.task_types import TaskType

# --- What the parts of a policy must be to each other. Each check raises `InputError` with the path of the first fault.


def check_ends(overrides: Mapping[str, str], until: Mapping[str, int], path: str) -> None:
    """An end belongs to an override."""
    for key in until:
        if key not in overrides:
            raise InputError(join(path, key), f"there is no override of {quoted(key)} that could end")


def check_levels(policy: PartitionPolicy, path: str) -> None:
    """No name and no keyword twice; thresholds fall from the highest level down."""
    rules = policy.levels
    unique((rule.name for rule in rules), (f"{path}[{i}].name" for i in range(len(rules))), "level")
    keywords = [(f"{path}[{i}].keyword", rule.keyword) for i, rule in enumerate(rules) if rule.keyword]
    unique((word for _, word in keywords), (where for where, _ in keywords), "keyword")
    above: LevelRule | None = None
    for i, rule in enumerate(rules):
        if rule.min_score is None:
            continue
        if above is not None and above.min_score is not None and rule.min_score >= above.min_score:
            message = (
                f"must be below {plain(above.min_score)}, the threshold of {quoted(above.name)} above it"
            )
            raise InputError(f"{path}[{i}].min_score", message)
        above = rule


def check_references(policy: PartitionPolicy, mapped: Mapping[str, object], path: str) -> None:
    """Quotas name levels by their keys, overrides by their values."""
    for key, value in mapped.items():
        title = value if isinstance(value, str) else key
        if policy.level_index(title) is None:
            known = ", ".join(quoted(rule.name) for rule in policy.levels) or "none yet"
            raise InputError(
                join(path, key), f"{quoted(title)} is no level of the partition; known are {known}"
            )


def check_bands(policy: PartitionPolicy, path: str) -> None:
    """Bands name levels that there are."""
    for i, band in enumerate(policy.bands or ()):
        for j, rank in enumerate(band):
            if rank is not None and rank >= len(policy.levels):
                message = say("input.rank", n=rank, m=len(policy.levels))
                raise InputError(f"{path}[{i}][{j}]", message)


OLDER = "cancel_if_not_requeueable"
"""true stands for `not_requeueable: cancel` without a notice; never written."""
POLICY_KEYS = (*(each.name for each in dataclass_fields(PartitionPolicy)), OLDER)
QUOTAS = ("quotas", "quota_amounts", "quota_totals")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9998, 12, 31, tzinfo=UTC).timestamp())


def decode_policy(obj: object, path: str = "$") -> PartitionPolicy:
    """The policy in a JSON value. Raises `InputError` with the path of the first fault."""
    return read_policy(Fields(obj, path, POLICY_KEYS))


def read_policy(fields: Fields) -> PartitionPolicy:
    """The policy among the fields of an object that may have others too."""
    said = {
        key: fields.get(key, reader_of(each), each.default)
        for key, each in SETTINGS.items()
        if key not in ("not_requeueable", "cancel_notice_s")
    }
    policy = PartitionPolicy(
        name=fields.need("name", name),
        levels=fields.get("levels", listing(_level), ()),
        quotas=fields.get("quotas", mapping(whole), {}),
        quota_amounts=fields.get("quota_amounts", mapping(amounts), {}),
        quota_totals=fields.get("quota_totals", mapping(amounts), {}),
        user_overrides=fields.get("user_overrides", _level_names, {}),
        task_overrides=fields.get("task_overrides", _level_names, {}),
        user_overrides_until=fields.get("user_overrides_until", _moments, {}),
        task_overrides_until=fields.get("task_overrides_until", _moments, {}),
        bands=fields.get("bands", maybe(bands), None),
        not_requeueable=_not_requeueable(fields),
        cancel_notice_s=fields.get("cancel_notice_s", whole, _notice_unless_said(fields)),
        balance=fields.get("balance", maybe(decode_balance), None),
        task_types=_task_types(fields),
        **said,
    )
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


def _task_types(fields: Fields) -> tuple[TaskType, ...]:
    """The rows in their order, each pattern once."""
    none: tuple[TaskType, ...] = ()
    rows = fields.get("task_types", listing(decode_task_type), none)
    paths = [f"{fields.at('task_types')}[{i}].pattern" for i in range(len(rows))]
    unique([row.pattern for row in rows], paths, "pattern")
    return rows


def encode_policy(policy: PartitionPolicy) -> dict[str, Any]:
    """The policy as the priority file has it, every key written out."""
    of_its_own = {
        "levels": [_encode_level(rule) for rule in policy.levels],
        "quotas": dict(policy.quotas),
        "quota_amounts": {level: dict(limits) for level, limits in policy.quota_amounts.items()},
        "quota_totals": {level: dict(limits) for level, limits in policy.quota_totals.items()},
        "user_overrides": dict(policy.user_overrides),
        "task_overrides": dict(policy.task_overrides),
        "user_overrides_until": _encode_moments(policy.user_overrides_until),
        "task_overrides_until": _encode_moments(policy.task_overrides_until),
        "bands": None if policy.bands is None else [list(band) for band in policy.bands],
        "balance": policy.balance and encode_balance(policy.balance),
        "task_types": [encode_task_type(row) for row in policy.task_types],
    }
    told = {key: each.encoded(getattr(policy, key)) for key, each in SETTINGS.items()}
    every = {"name": policy.name, **told, **of_its_own}
    return {each.name: every[each.name] for each in dataclass_fields(PartitionPolicy)}


def _as_before(fields: Fields) -> bool:
    """Whether the older key says that a job that is not requeued is cancelled; of a notice it knows nothing."""
    return fields.get(OLDER, flag, False)


def _notice_unless_said(fields: Fields) -> int:
    return 0 if _as_before(fields) else PartitionPolicy(name="").cancel_notice_s


def _not_requeueable(fields: Fields) -> NotRequeueable:
    """What the key says; without it, what the older key says."""
    said = fields.get("not_requeueable", maybe(choice(NotRequeueable)), None)
    if not _as_before(fields):
        return said or NotRequeueable.REQUEUE
    if said not in (None, NotRequeueable.CANCEL):
        raise InputError(
            fields.at("not_requeueable"), f"{quoted(said.value)}, but {OLDER} is true; leave that key out"
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
