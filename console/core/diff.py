"""What differs between two JSON documents, key by key, in words.

Lists are compared by what they mean: objects that have a name (`name`, `code` or `pattern`) by that name,
other lists of plain values as sets, everything else as a whole.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scheduler.model.sentence import Sentence, say

NAMES = ("code", "name", "pattern")
_MISLEADING = re.compile(r"""[\["{'\d-]|(null|true|false)$""")


class KeyChange(StrEnum):
    """What happened to a key."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One key that differs. `path` is dotted (`projects.alpha.urgency`)."""

    path: str
    change: KeyChange
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        return str(self.said)

    @property
    def said(self) -> Sentence:
        """The same as data, for keeping; `difference_of` makes a difference of it again."""
        match self.change:
            case KeyChange.ADDED:
                return say("change.added", path=self.path, value=words(self.after))
            case KeyChange.REMOVED:
                return say("change.removed", path=self.path, value=words(self.before))
            case KeyChange.CHANGED:
                before, after = words(self.before), words(self.after)
                return say("change.changed", path=self.path, before=before, after=after)


def difference_of(sentence: Sentence) -> KeyDifference | None:
    """The difference that was kept so; None for a sentence about something else, or that somebody has changed."""
    said = {name: str(value) for name, value in sentence.params.items()}
    try:
        match sentence.code:
            case "change.added":
                return KeyDifference(said["path"], KeyChange.ADDED, after=value_of(said["value"]))
            case "change.removed":
                return KeyDifference(said["path"], KeyChange.REMOVED, before=value_of(said["value"]))
            case "change.changed":
                before, after = value_of(said["before"]), value_of(said["after"])
                return KeyDifference(said["path"], KeyChange.CHANGED, before, after)
    except ValueError:
        return None
    return None


def value_of(told: str) -> Any:
    """What `words` made this of. Raises `ValueError` for what it makes of nothing."""
    if _MISLEADING.match(told):
        return json.loads(told)
    if not is_plain(told):
        raise ValueError(told)
    return told


def words(value: Any) -> str:
    """A JSON value on one line; a plain text stands without quotes when nothing in it misleads."""
    if isinstance(value, str) and is_plain(value):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def is_plain(text: str) -> bool:
    """A text that cannot be taken for something else: not for a number, null, or nothing."""
    return bool(text) and text.isprintable() and text.strip() == text and not _MISLEADING.match(text)


def differences(before: Any, after: Any, path: str = "") -> list[KeyDifference]:
    """Everything that differs, in the order of the documents' keys."""
    return list(_compare(before, after, path))


def _compare(before: Any, after: Any, path: str) -> Iterator[KeyDifference]:
    if _same(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_keys(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    else:
        yield KeyDifference(path, KeyChange.CHANGED, before, after)


def _same(before: Any, after: Any) -> bool:
    """Equal as JSON: 40 is 40.0, but true is not 1."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_same(before[key], after[key]) for key in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_same, before, after))
    return bool(before == after) and isinstance(before, bool) == isinstance(after, bool)


def _compare_keys(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[KeyDifference]:
    for key in [*before, *(key for key in after if key not in before)]:
        where = f"{path}.{key}" if path else key
        if key not in after:
            yield KeyDifference(where, KeyChange.REMOVED, before=before[key])
        elif key not in before:
            yield KeyDifference(where, KeyChange.ADDED, after=after[key])
        else:
            yield from _compare(before[key], after[key], where)


def _compare_lists(before: list[Any], after: list[Any], path: str) -> Iterator[KeyDifference]:
    old, new = _by_name(before), _by_name(after)
    if old is not None and new is not None and (old or new):
        yield from _compare_keys(old, new, path)
        kept = [name for name in old if name in new]
        if kept != [name for name in new if name in old]:
            yield KeyDifference(f"{path} (order)", KeyChange.CHANGED, list(old), list(new))
    elif _is_set(before) and _is_set(after):
        old_items, new_items = set(before), set(after)
        yield from (
            KeyDifference(path, KeyChange.REMOVED, before=item) for item in before if item not in new_items
        )
        yield from (
            KeyDifference(path, KeyChange.ADDED, after=item) for item in after if item not in old_items
        )
    else:
        yield KeyDifference(path, KeyChange.CHANGED, before, after)


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """A list of named objects by their names; None when it is not one."""
    named: dict[str, Any] = {}
    for item in items:
        key = next((key for key in NAMES if key in item), None) if isinstance(item, Mapping) else None
        if key is None or not isinstance(item[key], str) or item[key] in named:
            return None
        named[item[key]] = item
    return named


def _is_set(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items) and len(set(items)) == len(items)
