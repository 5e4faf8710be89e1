"""How the settings of a policy are read from a document, by what they may be."""

from collections.abc import Mapping
from typing import Any

from scheduler.contracts.errors import InputError, quoted
from scheduler.contracts.fields import Reader, choice, different, flag, maybe, name, positive, text, whole
from scheduler.model.policy_setting import PolicySetting, SettingKind

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
