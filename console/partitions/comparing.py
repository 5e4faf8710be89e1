"""Two states of a policy beside each other: any revision, any draft, or what is in force."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.core.diff import KeyDifference, differences
from console.partitions.models import Partition, PolicyDraft, PolicyRevision
from console.partitions.selectors import policy_in_force, written_out

IN_FORCE = "force"
_DRAFT = re.compile(r"draft-(\d{1,9})\Z")
_REVISION = re.compile(r"\d{1,9}\Z")


@dataclass(frozen=True, slots=True)
class ComparedVersion:
    """One of the two. `key` is how an address names it; exactly one of `draft` and `revision` is there."""

    key: str
    document: dict[str, Any]
    draft: PolicyDraft | None = None
    revision: PolicyRevision | None = None

    @property
    def at(self) -> datetime:
        """When it was put in force, or last saved."""
        return self.draft.changed_at if self.draft else self._revision.created_at

    @property
    def by(self) -> str:
        """Who wrote it."""
        return ", ".join(self.draft.authors) if self.draft else self._revision.author

    @property
    def reason(self) -> str:
        """Why, as they said."""
        return self.draft.reason if self.draft else self._revision.reason

    @property
    def _revision(self) -> PolicyRevision:
        assert self.revision is not None  # noqa: S101 - for the type checker
        return self.revision


@dataclass(frozen=True, slots=True)
class ComparedKey:
    """A key with its value on both sides; None: not there."""

    path: str
    before: Any
    after: Any
    changed: bool


def side(partition: Partition, key: str) -> ComparedVersion | None:
    """What `force`, `12` or `draft-3` stands for; None when there is no such thing."""
    if key == IN_FORCE:
        return _of_revision(policy_in_force(partition), IN_FORCE)
    if match := _DRAFT.match(key):
        draft = partition.drafts.filter(pk=int(match[1])).first()
        return ComparedVersion(key, written_out(draft.document), draft=draft) if draft else None
    if _REVISION.match(key):
        revision = partition.revisions.filter(number=int(key)).first()
        return _of_revision(revision, key) if revision else None
    return None


def _of_revision(revision: PolicyRevision, key: str) -> ComparedVersion:
    return ComparedVersion(key, written_out(revision.document), revision=revision)


def in_words(left: ComparedVersion, right: ComparedVersion) -> list[KeyDifference]:
    """What differs, key by key."""
    return differences(left.document, right.document)


def side_by_side(left: ComparedVersion, right: ComparedVersion) -> list[ComparedKey]:
    """Every key of both documents with both values."""
    before, after = dict(_leaves(left.document)), dict(_leaves(right.document))
    paths = [*before, *(path for path in after if path not in before)]
    changed = {difference.path for difference in in_words(left, right)}
    return [
        ComparedKey(path, before.get(path), after.get(path), _touched(path, changed))
        for path in _grouped(paths)
    ]


def _touched(path: str, changed: set[str]) -> bool:
    """Whether a difference is at this key, or at what holds it (a level that is new)."""
    return any(path == other or path.startswith(f"{other}.") for other in changed)


def _grouped(paths: list[str]) -> list[str]:
    """In the order given, but what belongs under one key together."""
    heads = list(dict.fromkeys(path.split(".")[0] for path in paths))
    return sorted(paths, key=lambda path: heads.index(path.split(".")[0]))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values, named as `console.core.diff` names them; an object or list without names is one value."""
    named = value if isinstance(value, Mapping) else _by_name(value)
    if not named:
        yield path, value
        return
    for key, each in named.items():
        yield from _leaves(each, f"{path}.{key}" if path else str(key))


def _by_name(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) and "name" in item for item in value):
        return None
    return {str(item["name"]): {key: item[key] for key in item if key != "name"} for item in value}
