"""A snapshot as text: JSON without spaces, its keys in order, so that equal snapshots are equal texts.

Most jobs and nodes of a partition are the same objects a second later; what they are in text is kept for the next time.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from scheduler.contracts.rules import encode_rules
from scheduler.contracts.snapshot import SCHEMA, encode_job, encode_node
from scheduler.model.jobs import SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.snapshot import Snapshot

_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
T = TypeVar("T", SnapshotJob, SnapshotNode)


class SnapshotText:
    """Writes the snapshots of one partition, one after the other."""

    def __init__(self) -> None:
        self._jobs: _Texts[SnapshotJob] = _Texts(encode_job)
        self._nodes: _Texts[SnapshotNode] = _Texts(encode_node)

    def of(self, snapshot: Snapshot) -> str:
        """The same text as of `encode_snapshot`."""
        parts = {
            "jobs": self._jobs.listed((job.id, job) for job in snapshot.jobs),
            "nodes": self._nodes.listed((node.name, node) for node in snapshot.nodes),
            "now": text_of(snapshot.now),
            "partition": text_of(encode_rules(snapshot.partition)),
            "schema": text_of(SCHEMA),
        }
        return "{" + ",".join(f"{text_of(key)}:{parts[key]}" for key in sorted(parts)) + "}"


def text_of(value: Any) -> str:
    """A JSON value as text."""
    return _ENCODER.encode(value)


class _Texts(Generic[T]):
    """The texts of the objects of the last list. An object never changes, so it is enough that it is the same one."""

    def __init__(self, encode: Callable[[T], dict[str, Any]]) -> None:
        self._encode: Callable[[T], dict[str, Any]] = encode
        self._known: dict[str, tuple[T, str]] = {}

    def listed(self, items: Iterable[tuple[str, T]]) -> str:
        before, now = self._known, {}
        texts = []
        for key, item in items:
            known = before.get(key)
            if known is None or known[0] is not item:
                known = item, text_of(self._encode(item))
            now[key] = known
            texts.append(known[1])
        self._known = now
        return f"[{','.join(texts)}]"
