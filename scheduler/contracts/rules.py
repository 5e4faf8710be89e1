"""The `partition` of a snapshot: the rules that the planner needs (contract A)."""

from enum import StrEnum
from typing import Any, TypeVar

from scheduler.contracts.errors import InputError, join, quoted
from scheduler.contracts.fields import (
    MOST_LEVELS,
    Fields,
    Reader,
    amounts,
    choice,
    different,
    entries,
    flag,
    level,
    listing,
    mapping,
    maybe,
    name,
    number,
    positive,
    text,
    whole,
)
from scheduler.model.jobs import Level
from scheduler.model.policy import (
    AppliesTo,
    Balance,
    Dispatch,
    GiveBack,
    Mode,
    Otherwise,
    OverQuota,
    Partial,
    VictimOrder,
)
from scheduler.model.sentence import say
from scheduler.model.snapshot import PartitionRules

T = TypeVar("T")
Bands = tuple[tuple[Level, ...], ...]

_LIMITS: dict[str, int | None] = {
    "min_wait_s": 0,
    "cool_down_s": 0,
    "stopped": 0,
    "max_stops_per_hour": None,
    "max_stops_per_user_hour": None,
    "patience_s": 0,
    "rest_s": 0,
    "max_stops_per_job_hour": None,
    "max_crashes_per_hour": None,
}
"""Optional numbers, each with what it is when left out."""
_WORDS: dict[str, StrEnum] = {
    "partial": Partial.SPARE,
    "give_back": GiveBack.UNITS,
    "dispatch": Dispatch.SLURM,
}
_QUOTAS = ("quotas", "quota_amounts", "quota_totals")
_BALANCE = ("resource", "max_distance", "else", "swap_below_s", "applies_to", "most_wait_s")
_KEYS = (
    "name", "mode", "victim_order", "bands", "exempt_s", *_QUOTAS, "over_quota", "level_names",
    *_LIMITS, "paused", "stopped_by_user", "units", "elastic", *_WORDS, "balance",
)  # fmt: skip


def decode_rules(value: object, path: str) -> PartitionRules:
    """The rules of a snapshot's partition. What belongs to later versions may only have its default."""
    fields = Fields(value, path, _KEYS)
    return PartitionRules(
        name=fields.need("name", name),
        mode=fields.need("mode", choice(Mode)),
        victim_order=fields.get("victim_order", choice(VictimOrder), VictimOrder.SHORTEST_RUNTIME),
        bands=fields.get("bands", maybe(bands), None),
        exempt_s=fields.get("exempt_s", whole, 0),
        quotas=fields.get("quotas", _by_level(whole), {}),
        quota_amounts=fields.get("quota_amounts", _by_level(amounts), {}),
        quota_totals=fields.get("quota_totals", _by_level(amounts), {}),
        over_quota=fields.get("over_quota", choice(OverQuota), OverQuota.LOWEST),
        level_names=fields.get("level_names", different(name), ()),
        paused=fields.get("paused", text, ""),
        stopped_by_user=fields.get("stopped_by_user", mapping(whole), {}),
        min_wait_s=fields.get("min_wait_s", whole, 0),
        cool_down_s=fields.get("cool_down_s", whole, 0),
        stopped=fields.get("stopped", whole, 0),
        max_stops_per_hour=fields.get("max_stops_per_hour", maybe(whole), None),
        max_stops_per_user_hour=fields.get("max_stops_per_user_hour", maybe(whole), None),
        units=fields.get("units", flag, True),
        elastic=fields.get("elastic", flag, True),
        partial=fields.get("partial", choice(Partial), Partial.SPARE),
        give_back=fields.get("give_back", choice(GiveBack), GiveBack.UNITS),
        dispatch=fields.get("dispatch", choice(Dispatch), Dispatch.SLURM),
        patience_s=fields.get("patience_s", whole, 0),
        balance=fields.get("balance", maybe(decode_balance), None),
        rest_s=fields.get("rest_s", whole, 0),
        max_stops_per_job_hour=fields.get("max_stops_per_job_hour", maybe(whole), None),
        max_crashes_per_hour=fields.get("max_crashes_per_hour", maybe(positive), None),
    )


def encode_rules(rules: PartitionRules) -> dict[str, Any]:
    """The rules as contract A has them; optional keys of ours only when they say something."""
    result: dict[str, Any] = {
        "name": rules.name,
        "mode": rules.mode.value,
        "victim_order": rules.victim_order.value,
        "bands": None if rules.bands is None else [list(band) for band in rules.bands],
        "exempt_s": rules.exempt_s,
    }
    for key in _QUOTAS:
        if limits := getattr(rules, key):
            result[key] = {str(rank): limit for rank, limit in sorted(limits.items())}
    if rules.over_quota is not OverQuota.LOWEST:
        result["over_quota"] = rules.over_quota.value
    if rules.level_names:
        result["level_names"] = list(rules.level_names)
    if rules.paused:
        result["paused"] = rules.paused
    if rules.stopped_by_user:
        result["stopped_by_user"] = dict(sorted(rules.stopped_by_user.items()))
    result |= _encode_methods(rules)
    numbers = {key: getattr(rules, key) for key in _LIMITS}
    return result | {key: value for key, value in numbers.items() if value != _LIMITS[key]}


def _encode_methods(rules: PartitionRules) -> dict[str, Any]:
    """What is switched on beside stopping whole jobs."""
    result: dict[str, Any] = {key: False for key in ("units", "elastic") if not getattr(rules, key)}
    if rules.partial is not Partial.SPARE:
        result["partial"] = rules.partial.value
    if rules.give_back is not GiveBack.UNITS:
        result["give_back"] = rules.give_back.value
    if rules.dispatch is not Dispatch.SLURM:
        result["dispatch"] = rules.dispatch.value
    if rules.balance is not None:
        result["balance"] = encode_balance(rules.balance)
    return result


def decode_balance(value: object, path: str) -> Balance:
    """The rule for sets of equal compute power (spec 5)."""
    fields = Fields(value, path, _BALANCE)
    return Balance(
        resource=fields.need("resource", name),
        max_distance=fields.need("max_distance", number),
        otherwise=fields.get("else", choice(Otherwise), Otherwise.WAIT),
        swap_below_s=fields.get("swap_below_s", whole, 0),
        applies_to=fields.get("applies_to", choice(AppliesTo), AppliesTo.ALL),
        most_wait_s=fields.get("most_wait_s", whole, 0),
    )


def encode_balance(balance: Balance) -> dict[str, Any]:
    """The rule as a JSON value."""
    result: dict[str, Any] = {
        "resource": balance.resource,
        "max_distance": balance.max_distance,
        "else": balance.otherwise.value,
    }
    if balance.swap_below_s:
        result["swap_below_s"] = balance.swap_below_s
    if balance.applies_to is not AppliesTo.ALL:
        result["applies_to"] = balance.applies_to.value
    if balance.most_wait_s:
        result["most_wait_s"] = balance.most_wait_s
    return result


def bands(value: object, path: str) -> Bands:
    """Lists of levels, the highest band first: no level twice, every band wholly below the one before."""
    result = listing(listing(level))(value, path)
    previous = -1
    for i, band in enumerate(result):
        if not band:
            raise InputError(f"{path}[{i}]", "is empty; name the levels of the band")
        for rank in sorted(band, key=_from_the_top):
            order = _from_the_top(rank)
            if order <= previous:
                raise InputError(f"{path}[{i}]", say("input.band", rank=quoted(rank)))
            previous = order
    return result


def _from_the_top(rank: Level) -> int:
    return MOST_LEVELS if rank is None else rank


def _by_level(reader: Reader[T]) -> Reader[dict[int, T]]:
    """An object whose keys are indexes of levels."""

    def read(value: object, path: str) -> dict[int, T]:
        result: dict[int, T] = {}
        for key, item in entries(value, path).items():
            where = join(path, key)
            if not (key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < MOST_LEVELS):
                raise InputError(
                    where, f'{quoted(key)} is no level; write its index as a text, for example "0"'
                )
            result[int(key)] = reader(item, where)
        return result

    return read
