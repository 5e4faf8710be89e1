"""Readers of single values: a JSON value and its path in, the value typed or an `InputError` out."""

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar

from scheduler.contracts.errors import InputError, join, kind, quoted
from scheduler.contracts.jsontext import Doubled
from scheduler.model.jobs import Level
from scheduler.model.policy_setting import PolicySetting, SettingKind
from scheduler.model.sentence import say

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
Reader = Callable[[object, str], T]

MOST = 2**63 - 1
MOST_LEVELS = 10_000
MOST_NUMBER = 1e15
_LONGEST_KEY = 100
_MISSING = object()


class Fields:
    """An object of the input. Unknown keys and keys given twice are refused at once."""

    def __init__(self, value: object, path: str, known: Iterable[str]) -> None:
        self._values = entries(value, path)
        self.path = path
        keys = tuple(known)
        for key in self._values:
            if key not in keys:
                near = near_key(key, keys)
                hint = f"did you mean {near}?" if near else f"known are {', '.join(keys)}"
                raise InputError(join(path, key), f"unknown key; {hint}")

    def at(self, key: str) -> str:
        """The path of a key."""
        return join(self.path, key)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self._values

    def need(self, key: str, reader: Reader[T]) -> T:
        """The value of a key that must be there."""
        value = self._values.get(key, _MISSING)
        if value is _MISSING:
            raise InputError(self.at(key), "is missing")
        return reader(value, self.at(key))

    def get(self, key: str, reader: Reader[T], default: T) -> T:
        """The value of a key that may be left out."""
        value = self._values.get(key, _MISSING)
        return default if value is _MISSING else reader(value, self.at(key))


def near_key(key: str, keys: Iterable[str]) -> str:
    """The known key that a misspelt one was meant to be, or nothing. A key of a megabyte is not compared at all."""
    near = get_close_matches(key, list(keys), n=1) if len(key) <= _LONGEST_KEY else []
    return near[0] if near else ""


def entries(value: object, path: str) -> Mapping[str, object]:
    """An object whose keys are data (node names, user names)."""
    if not isinstance(value, dict):
        raise InputError(path, f"must be an object, not {kind(value)}")
    if isinstance(value, Doubled):
        raise InputError(join(path, value.key), "stands twice; keep one")
    return value


def text(value: object, path: str) -> str:
    """A text, possibly empty."""
    if not isinstance(value, str):
        raise InputError(path, f"must be a text, not {kind(value)}")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(path, "holds half a character (a lone surrogate); remove it")
    return value


def name(value: object, path: str) -> str:
    """A text that names something: not empty."""
    result = text(value, path)
    if not result.strip():
        raise InputError(path, "must not be empty")
    return result


def flag(value: object, path: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise InputError(path, f"must be true or false, not {kind(value)}")
    return value


def whole(value: object, path: str) -> int:
    """An integer >= 0 (true and false are none)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(path, f"must be a whole number, not {kind(value)}")
    if value < 0:
        raise InputError(path, f"must not be negative, not {quoted(value)}")
    if value > MOST:
        raise InputError(path, f"is too large; at most {MOST}")
    return value


def positive(value: object, path: str) -> int:
    """An integer >= 1."""
    result = whole(value, path)
    if result < 1:
        raise InputError(path, "must be at least 1")
    return result


def number(value: object, path: str) -> float:
    """A finite number >= 0, exactly as given (an integer stays one)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(path, f"must be a number, not {kind(value)}")
    # Integers are left out here: one of hundreds of digits is no float at all, and the limit below catches it.
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(path, "must be a finite number")
    if value < 0:
        raise InputError(path, f"must not be negative, not {quoted(value)}")
    if value > MOST_NUMBER:
        raise InputError(path, f"is too large; at most {MOST_NUMBER:.0f}")
    return value


def above_zero(value: object, path: str) -> float:
    """A finite number > 0."""
    result = number(value, path)
    if result <= 0:
        raise InputError(path, "must be above 0")
    return result


def level(value: object, path: str) -> Level:
    """A level: its index from 0 (the highest), or null for nothing configured."""
    result = None if value is None else whole(value, path)
    if result is not None and result >= MOST_LEVELS:
        raise InputError(
            path, f"is no level; the lowest possible is {MOST_LEVELS - 1}, and null is below that"
        )
    return result


def choice(options: type[E]) -> Reader[E]:
    """One word of a list."""

    def read(value: object, path: str) -> E:
        word = text(value, path)
        try:
            return options(word)
        except ValueError:
            known = ", ".join(option.value for option in options)
            raise InputError(path, f"{quoted(word)} is not one of {known}") from None

    return read


def maybe(reader: Reader[T]) -> Reader[T | None]:
    """null, or what the reader reads."""
    return lambda value, path: None if value is None else reader(value, path)


def listing(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list."""

    def read(value: object, path: str) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            raise InputError(path, f"must be a list, not {kind(value)}")
        return tuple(reader(item, f"{path}[{i}]") for i, item in enumerate(value))

    return read


def different(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list in which nothing stands twice."""

    def read(value: object, path: str) -> tuple[T, ...]:
        items = listing(reader)(value, path)
        seen: set[T] = set()
        for i, item in enumerate(items):
            if item in seen:
                raise InputError(f"{path}[{i}]", f"{quoted(item)} stands twice; keep one")
            seen.add(item)
        return items

    return read


def mapping(reader: Reader[T]) -> Reader[dict[str, T]]:
    """An object whose keys are names."""

    def read(value: object, path: str) -> dict[str, T]:
        result: dict[str, T] = {}
        for key, item in entries(value, path).items():
            where = join(path, key)
            result[name(key, where)] = reader(item, where)
        return result

    return read


def names(value: object, path: str) -> frozenset[str]:
    """A list of different names whose order means nothing."""
    return frozenset(different(name)(value, path))


amounts: Reader[dict[str, int]] = mapping(whole)
"""Resource name to amount."""


def unique(values: Iterable[str], paths: Iterable[str], what: str) -> None:
    """Refuse a name that stands twice among things that are told apart by it."""
    seen: set[str] = set()
    for value, path in zip(values, paths, strict=True):
        if value in seen:
            raise InputError(path, say(f"input.twice.{what}", name=quoted(value)))
        seen.add(value)


def plain(value: float) -> float:
    """A number as people write it: 40, not 40.0."""
    return int(value) if value == int(value) else value


# --- The settings of a policy, read by what they may be ---

SIGNALS = ("", "USR1", "USR2", "TERM", "INT", "HUP", "QUIT", "CONT", "URG", "WINCH", "XCPU")


def reader_of(setting: PolicySetting) -> Reader[Any]:
    """A choice is read by its own type."""
    return _READERS.get(setting.kind) or choice(type(setting.default))


def _signal(value: object, path: str) -> str:
    word = text(value, path)
    if word not in SIGNALS:
        known = ", ".join(SIGNALS[1:])
        raise InputError(path, f'{quoted(word)} is not one of {known} ("" sends none)')
    return word


_READERS: Mapping[SettingKind, Reader[Any]] = {
    SettingKind.SECONDS: whole,
    SettingKind.TIMES: whole,
    SettingKind.LIMIT: maybe(whole),
    SettingKind.LIMIT_FROM_1: maybe(positive),
    SettingKind.SWITCH: flag,
    SettingKind.PATTERNS: different(name),
    SettingKind.SIGNAL: _signal,
}
