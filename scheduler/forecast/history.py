"""Ended jobs by likeness, and running ones: what may be known at one moment, and nothing later.

A pool keeps the last ended jobs that agree in its key, such as those of one user with one limit and one size.
"""

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.forecast.facts import MOST_S, EndedJob, JobFacts

POOLS = (
    ("owner", 30),
    ("owner, limit, size", 24),
    ("owner, limit", 12),
    ("owner, size", 12),
    ("owner, name", 20),
    ("owner, stem", 20),
    ("group, limit, size", 8),
    ("group, size", 6),
    ("limit, size", 10),
    ("limit", 6),
    ("size", 6),
)
"""What jobs agree in, and how many of them are kept; the pools that come first fill a look first."""
TWINS = 1
MOST_ALIKE = 64
ABSENT = 99
CONTEXT = 6
RUNTIME, LIMIT, CPUS, SUBMIT, END = range(5)

Floats = NDArray[np.float64]


def keys_of(facts: JobFacts) -> tuple[Hashable | None, ...]:
    """The key of a job in each pool; None where what the pool needs is not told."""
    owner, size, limit, group = facts.owner, facts.size, facts.limit_s, facts.group
    return (
        owner,
        (owner, limit, size),
        (owner, limit) if limit else None,
        (owner, size),
        (owner, facts.name) if facts.name else None,
        (owner, facts.stem) if facts.name else None,
        (group, limit, size) if group else None,
        (group, size) if group else None,
        (limit, size),
        limit or None,
        size,
    )


@dataclass(frozen=True, slots=True)
class PastView:
    """What the history holds for one job.

    `alike` are rows of the history; `ranks` their places in each pool (0 newest). `context`: running jobs of the owner,
    its running twins, longest and shortest time that these have run, ended jobs of the owner and ended twins, as far as
    their pools go.
    """

    alike: NDArray[np.int32]
    ranks: NDArray[np.uint8]
    context: Floats
    limit: float
    cpus: float
    submit: int


class RunHistory:
    """Jobs that have ended, newest last in each pool, and those that run."""

    def __init__(self) -> None:
        self._rows: Floats = np.zeros((1024, 5))
        self._jobs: list[EndedJob] = []
        self._pools: list[dict[Hashable, deque[int]]] = [{} for _ in POOLS]
        self._running: dict[Hashable, dict[str, tuple[int, Hashable]]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._jobs)

    def start(self, job_id: str, facts: JobFacts, at: int) -> None:
        """A job is seen running since `at`."""
        self._running[facts.owner][job_id] = at, keys_of(facts)[TWINS]

    def leave(self, job_id: str, facts: JobFacts) -> None:
        """A job runs no more."""
        running = self._running.get(facts.owner, {})
        running.pop(job_id, None)
        if not running:
            self._running.pop(facts.owner, None)

    def end(self, job: EndedJob) -> None:
        """A job has ended; ends are told in their order."""
        self.leave(job.id, job.facts)
        row = len(self._jobs)
        if row == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[row] = (
            log_s(job.runtime_s),
            log_limit(job.facts),
            log_s(job.facts.cpus or 1),
            job.facts.submit,
            job.end,
        )
        self._jobs.append(job)
        for number, ((_, depth), key) in enumerate(zip(POOLS, keys_of(job.facts), strict=True)):
            if key is not None:
                self._pools[number].setdefault(key, deque(maxlen=depth)).append(row)

    def forget_running(self) -> None:
        """Nothing is known to run any more."""
        self._running.clear()

    def look(self, facts: JobFacts) -> PastView:
        """What there is for a job, as things are now."""
        keys = keys_of(facts)
        places: dict[int, int] = {}
        ranks = np.full((MOST_ALIKE, len(POOLS)), ABSENT, np.uint8)
        for number, key in enumerate(keys):
            for rank, row in enumerate(reversed(self._pools[number].get(key, ())) if key is not None else ()):
                place = places.get(row)
                if place is None and len(places) < MOST_ALIKE:
                    place = places[row] = len(places)
                if place is not None:
                    ranks[place, number] = rank
        alike = np.full(MOST_ALIKE, -1, np.int32)
        alike[: len(places)] = list(places)
        return PastView(
            alike, ranks, self._context(facts, keys), log_limit(facts), log_s(facts.cpus or 1), facts.submit
        )

    def _context(self, facts: JobFacts, keys: tuple[Hashable | None, ...]) -> Floats:
        running = self._running.get(facts.owner, {})
        twins = [facts.submit - at for at, key in running.values() if key == keys[TWINS]]
        ended = [len(self._pools[number].get(keys[number], ())) for number in (0, TWINS)]
        return np.array(
            [len(running), len(twins), max(twins, default=0), min(twins, default=0), *ended], float
        )

    def rows(self, alike: NDArray[np.int32]) -> Floats:
        """Log run time, log limit, log CPUs, submission and end of ended jobs."""
        return self._rows[np.maximum(alike, 0)]

    def kept(self) -> list[EndedJob]:
        """The ended jobs that some pool still holds, in their order: a history told these again looks the same."""
        rows = {row for pool in self._pools for row_ids in pool.values() for row in row_ids}
        return [self._jobs[row] for row in sorted(rows)]


def log_s(seconds: float) -> float:
    """Log of seconds (or of an amount), at least 1."""
    return float(np.log(min(max(seconds, 1), MOST_S)))


def log_limit(facts: JobFacts) -> float:
    """Log of the limit; of the largest time where there is none."""
    return log_s(facts.limit_s or MOST_S)
