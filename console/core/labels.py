"""The interface's words for values that documents keep in short form (`least_lost_work`), told by the apps they
belong to: differences are shown here, below those apps."""

from collections.abc import Iterable
from typing import Any

_LABELS: dict[str, dict[str, Any]] = {}


def add_labels(key: str, choices: Iterable[tuple[Any, Any]]) -> None:
    """Say the values of a document's key with these labels; a key that two kinds of documents have adds up."""
    _LABELS.setdefault(key, {}).update((str(value), label) for value, label in choices)


def label_of(key: str, value: str) -> str | None:
    """The words for a value; None where it stands for itself."""
    label = _LABELS.get(key, {}).get(value)
    return None if label is None else str(label)
