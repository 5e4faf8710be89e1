"""Ended jobs by likeness, and running ones: what may be known at one moment, and nothing later.

A pool keeps the last ended jobs that agree in its key, such as those of one user with one limit and one size.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
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
COMMAND_DEPTH = 20
"""The pool of the user and command, which is kept apart: where no command is told, nothing is computed of it."""
LOOKED_BEFORE = 2
"""It fills a look after so many of `POOLS`."""
TWINS = 1
MOST_ALIKE = 64
ABSENT = 99
CONTEXT = 6
RUNTIME, LIMIT, CPUS, SUBMIT, END = range(5)
REACHED = 200
"""Of so many jobs that their limits ended, the last ones, it is learned how much longer these are recorded."""
FEWEST_REACHED = 5
OVERRUN, MARGIN = 0.75, 1.25
"""What so many of them stayed below, and a quarter more: some overrun by hours, for reasons of their own."""
UNSEEN_S = 2 * 259_200
"""The longest run that is forecast without a limit where nothing has ended yet."""

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


def command_key(facts: JobFacts) -> Hashable | None:
    """The key of a job in the pool of commands: nobody has a history by somebody else's."""
    return (facts.owner, facts.command) if facts.command else None


@dataclass(frozen=True, slots=True)
class PastView:
    """What the history holds for one job.

    `alike` are rows of the history; `ranks` their places in each pool (0 newest), `by_command` those in the pool of
    commands; None where there is none. `context`: running jobs of the owner,
    its running twins, longest and shortest time that these have run, ended jobs of the owner and ended twins, as far as
    their pools go.
    """

    alike: NDArray[np.int32]
    ranks: NDArray[np.uint8]
    by_command: NDArray[np.uint8] | None
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
        self._commands: dict[Hashable, deque[int]] = {}
        self._running: dict[Hashable, dict[str, tuple[int, Hashable]]] = defaultdict(dict)
        self._twins: dict[Hashable, list[int]] = defaultdict(list)
        """By key of twins, since when they run, in order."""
        self.overruns_s: deque[int] = deque(maxlen=REACHED)
        """Of the last jobs that ran to their limits or beyond: by how much."""
        self.longest_s = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def start(self, job_id: str, facts: JobFacts, at: int) -> None:
        self.leave(job_id, facts)
        twin = keys_of(facts)[TWINS]
        self._running[facts.owner][job_id] = at, twin
        insort(self._twins[twin], at)

    def leave(self, job_id: str, facts: JobFacts) -> None:
        running = self._running.get(facts.owner, {})
        known = running.pop(job_id, None)
        if not running:
            self._running.pop(facts.owner, None)
        if known is not None:
            at, twin = known
            starts = self._twins[twin]
            del starts[bisect_left(starts, at)]
            if not starts:
                del self._twins[twin]

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
        self.longest_s = max(self.longest_s, job.runtime_s)
        limit_s = job.facts.limit_s
        if limit_s and job.runtime_s >= limit_s:
            self.overruns_s.append(job.runtime_s - limit_s)
        for number, ((_, depth), key) in enumerate(zip(POOLS, keys_of(job.facts), strict=True)):
            if key is not None:
                self._pools[number].setdefault(key, deque(maxlen=depth)).append(row)
        command = command_key(job.facts)
        if command is not None:
            self._commands.setdefault(command, deque(maxlen=COMMAND_DEPTH)).append(row)

    def most_s(self, limit_s: int | None) -> int:
        """How long a job can be recorded as running: a little longer than its limit, as Slurm waits before it kills
        and longer where `OverTimeLimit` allows it; without a limit twice as long as any that has ended."""
        if not limit_s:
            return min(MOST_S, 2 * self.longest_s or UNSEEN_S)
        return min(MOST_S, limit_s + self._overrun_s())

    def _overrun_s(self) -> int:
        if len(self.overruns_s) < FEWEST_REACHED:
            return 0
        return int(MARGIN * sorted(self.overruns_s)[int(OVERRUN * len(self.overruns_s))])

    def forget_running(self) -> None:
        self._running.clear()
        self._twins.clear()

    def look(self, facts: JobFacts) -> PastView:
        """What there is for a job, as things are now."""
        keys = keys_of(facts)
        places: dict[int, int] = {}
        ranks = np.full((MOST_ALIKE, len(POOLS)), ABSENT, np.uint8)
        rows = [
            self._pools[number].get(key, ()) if key is not None else () for number, key in enumerate(keys)
        ]
        commanded = self._commands.get(command_key(facts), ())
        by_command = np.full(MOST_ALIKE, ABSENT, np.uint8) if commanded else None
        for number, pool in enumerate(rows):
            if by_command is not None and number == LOOKED_BEFORE:
                _note(commanded, places, by_command)
            _note(pool, places, ranks[:, number])
        alike = np.full(MOST_ALIKE, -1, np.int32)
        alike[: len(places)] = list(places)
        limit, cpus = log_limit(facts), log_s(facts.cpus or 1)
        return PastView(alike, ranks, by_command, self._context(facts, keys), limit, cpus, facts.submit)

    def _context(self, facts: JobFacts, keys: tuple[Hashable | None, ...]) -> Floats:
        running, starts = self._running.get(facts.owner, ()), self._twins.get(keys[TWINS], ())
        ran = (facts.submit - starts[0], facts.submit - starts[-1]) if starts else (0, 0)
        ended = [len(self._pools[number].get(keys[number], ())) for number in (0, TWINS)]
        return np.array([len(running), len(starts), *ran, *ended], float)

    def rows(self, alike: NDArray[np.int32]) -> Floats:
        """Log run time, log limit, log CPUs, submission and end of ended jobs."""
        return self._rows[np.maximum(alike, 0)]

    def kept(self) -> list[EndedJob]:
        """The ended jobs that some pool still holds, in their order: a history told these again looks the same."""
        pools = [*self._pools, self._commands]
        rows = {row for pool in pools for row_ids in pool.values() for row in row_ids}
        return [self._jobs[row] for row in sorted(rows)]


def _note(pool: Sequence[int], places: dict[int, int], ranks: NDArray[np.uint8]) -> None:
    """Give the rows of a pool a place, as long as there are some, and write down how far back each is."""
    for rank, row in enumerate(reversed(pool)):
        place = places.get(row)
        if place is None and len(places) < MOST_ALIKE:
            place = places[row] = len(places)
        if place is not None:
            ranks[place] = rank


def log_s(seconds: float) -> float:
    """Log of seconds (or of an amount), at least 1."""
    return float(np.log(min(max(seconds, 1), MOST_S)))


def log_limit(facts: JobFacts) -> float:
    """Log of the limit; of the largest time where there is none."""
    return log_s(facts.limit_s or MOST_S)
