"""The `partition` of a snapshot: the rules that the planner needs (contract A)."""

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
    level,
    listing,
    mapping,
    maybe,
    name,
    number,
    reader_of,
    text,
    whole,
)
from scheduler.model.jobs import Level
from scheduler.model.policy import SETTINGS, AppliesTo, Balance, Mode, Otherwise, OverQuota, VictimOrder
from scheduler.model.sentence import say
from scheduler.model.snapshot import PartitionRules

T = TypeVar("T")
Bands = tuple[tuple[Level, ...], ...]

_SETTINGS = {key: each for key, each in SETTINGS.items() if each.is_in_snapshot}
_QUOTAS = ("quotas", "quota_amounts", "quota_totals")
_BALANCE = ("resource", "max_distance", "else", "swap_below_s", "applies_to", "most_wait_s")
_KEYS = (
    "name", "mode", "victim_order", "bands", "exempt_s", *_QUOTAS, "over_quota", "level_names",
    "stopped", "paused", "stopped_by_user", *_SETTINGS, "balance",
)  # fmt: skip


def decode_rules(value: object, path: str) -> PartitionRules:
    """The rules of a snapshot's partition. What belongs to later versions may only have its default."""
    fields = Fields(value, path, _KEYS)
    settings = {key: fields.get(key, reader_of(each), each.left_out) for key, each in _SETTINGS.items()}
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
        stopped=fields.get("stopped", whole, 0),
        stopped_by_user=fields.get("stopped_by_user", mapping(whole), {}),
        balance=fields.get("balance", maybe(decode_balance), None),
        **settings,
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
    if rules.balance is not None:
        result["balance"] = encode_balance(rules.balance)
    if rules.stopped:
        result["stopped"] = rules.stopped
    told = {key: (each, getattr(rules, key)) for key, each in _SETTINGS.items()}
    return result | {key: each.encoded(said) for key, (each, said) in told.items() if said != each.left_out}


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
