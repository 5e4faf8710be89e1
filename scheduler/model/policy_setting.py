"""How a setting of a policy is declared: once, at its field in `PartitionPolicy`.

Its reader and writer in the priority file, its part of a snapshot, its field in the form with unit and words, its place
among the sections, its name in lists of changes and its line in the OpenAPI document are all made from that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, StrEnum
from functools import cache
from typing import Any

KEY = "setting"


class SettingKind(StrEnum):
    """What a setting may be."""

    SECONDS = "seconds"
    TIMES = "times"
    """A whole number from 0 on."""
    LIMIT = "limit"
    """The same, or None: any number."""
    LIMIT_FROM_1 = "limit from 1"
    CHOICE = "choice"
    SWITCH = "switch"
    PATTERNS = "patterns"
    """Shell-style patterns, each once."""
    SIGNAL = "signal"
    """One that batch scripts are sent, or nothing."""


NOT_IN_SNAPSHOT: Any = object()


@dataclass(frozen=True, slots=True)
class PolicySetting:
    """`section` and `place`: where it stands on the policy's page. `title` and `help` are said at its field, `about` in
    lists of changes, `told` in the OpenAPI document. `words`: of a choice, each value's; of a switch, those of on and
    off. `left_out`: what it is in a snapshot that does not say it.
    """

    kind: SettingKind
    section: str
    place: int
    title: str
    about: str = ""
    help: str = ""
    unit: str = ""
    told: str = ""
    words: Mapping[Any, str] = field(default_factory=dict)
    left_out: Any = NOT_IN_SNAPSHOT
    key: str = ""
    default: Any = None

    @property
    def is_in_snapshot(self) -> bool:
        """Whether the planner goes by it."""
        return self.left_out is not NOT_IN_SNAPSHOT

    def encoded(self, value: Any) -> Any:
        """A value as a JSON document has it."""
        if isinstance(value, Enum):
            return value.value
        return list(value) if isinstance(value, tuple) else value


def setting(default: Any, kind: SettingKind, section: str, place: int, title: str, **more: Any) -> Any:
    """The field of a dataclass that is a setting."""
    seconds = ", seconds" if kind is SettingKind.SECONDS else ""
    about = more.pop("about", f"{title[:1].lower()}{title[1:]}{seconds}")
    made = PolicySetting(kind, section, place, title, about, default=default, **more)
    return field(default=default, metadata={KEY: made})


@cache
def settings_of(policy: type) -> Mapping[str, PolicySetting]:
    """All of them by key, in the order of the fields. What else a policy has is read and shown by code of its own."""
    return {
        each.name: replace(each.metadata[KEY], key=each.name)
        for each in fields(policy)
        if KEY in each.metadata
    }
