"""The marks of the mirror's rows: what a row would show, as two short texts, kept for the next look."""

import hashlib
from base64 import urlsafe_b64encode
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from console.cluster.services import MARK
from scheduler.model.jobs import ObservedJob, SnapshotJob


class Marked(NamedTuple):
    """What a row was marked from, and its mark: the job, as planned, what is derived of it, what is decided."""

    job: ObservedJob
    planned: SnapshotJob | None
    derived: tuple[Any, ...]
    decided: tuple[Any, ...]
    mark: str


@dataclass(slots=True)
class Marks:
    """The marks of the rows of the last look, so that only what has changed is put into words again."""

    before: dict[tuple[str, str], Marked] = field(default_factory=dict)
    now: dict[tuple[str, str], Marked] = field(default_factory=dict)

    def begin(self) -> None:
        """A new look: rows that are not asked for in it are forgotten with the next."""
        self.before, self.now = self.now, {}


_MARKS: dict[int, Marks] = defaultdict(Marks)
"""By cluster. A mark depends on nothing but the row, so it is right whoever asks."""


def marks_of(cluster_key: int) -> Marks:
    """Those of one cluster, to be read and added to."""
    return _MARKS[cluster_key]


def marked(
    known: Marked | None,
    job: ObservedJob,
    planned: SnapshotJob | None,
    derived: tuple[Any, ...],
    decided: tuple[Any, ...],
) -> Marked:
    """A row's mark; what is the same as in the one that is known is not digested again."""
    if known is not None and known.derived == derived and (known.job is job or known.job == job):
        seen = known.mark[:MARK]
    else:
        seen = _digest((job, *derived))
    verdict = known.mark[MARK:] if known is not None and known.decided == decided else _digest(decided)
    return Marked(job, planned, derived, decided, seen + verdict)


def _digest(facts: tuple[Any, ...]) -> str:
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=MARK * 3 // 4, usedforsecurity=False)
    return urlsafe_b64encode(digest.digest()).decode("ascii")
