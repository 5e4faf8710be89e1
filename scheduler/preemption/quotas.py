"""Quotas: what may run at a task level of the partition (¶200, ¶201; spec 1.3). Three limits, each as Slurm means it:

- `quotas`: how many jobs each user may have running at it (MaxJobsPU);
- `quota_amounts`: what those jobs of a user may hold together (MaxTRESPU);
- `quota_totals`: what all running jobs of the level may hold together, whoever they belong to (GrpTRES).

A job counts with what it holds, a pending one with what it asks for. A limit of a resource of which it holds nothing
never keeps it back.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.resources import Amounts, total
from scheduler.model.snapshot import PartitionRules
from scheduler.priority.order import natural

JOBS = ""
"""Stands for the number of jobs where resources are named."""

Slots = tuple[str, int]
"""A user's slots of a task level."""


class Meter(NamedTuple):
    """What one limit counts. `user`: whose jobs; None: everybody's."""

    level: int
    user: str | None
    resource: str


Share = tuple[tuple[Meter, int], ...]
"""What a job takes of each limit that it is under."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """The limit that a job is beyond: `used` of `limit` is taken, and it wants `asked` more."""

    meter: Meter
    limit: int
    used: int
    asked: int


class Quotas:
    """What is taken of the limits of one partition while a plan is made."""

    def __init__(self, rules: PartitionRules, jobs: Iterable[SnapshotJob]) -> None:
        self._quotas = rules.quotas
        self._amounts = rules.quota_amounts
        self._totals = rules.quota_totals
        self._levels = self._quotas.keys() | self._amounts.keys() | self._totals.keys()
        self._running: Counter[Slots] = Counter()
        self._used: Counter[Meter] = Counter()
        for job in jobs if self._levels else ():
            if job.state is JobState.RUNNING:
                self.started(job)

    @property
    def none(self) -> bool:
        """Whether no level has any limit."""
        return not self._levels

    def limit(self, job: SnapshotJob) -> int:
        """How many jobs of its level the job's user may have running; 0 where that has no limit."""
        return self._quotas.get(job.task_level if job.task_level is not None else -1, 0)

    def running(self, job: SnapshotJob) -> int:
        """How many jobs of its level the job's user has running, as far as the plan has got."""
        key = self.key(job)
        return self._running[key] if key else 0

    def over(self, job: SnapshotJob) -> bool:
        """Whether starting the job would pass one of the limits."""
        if self.none:
            return False
        return any(self._used[meter] + asked > self._limit(meter) for meter, asked in self.share(job))

    def nearest(self, job: SnapshotJob) -> Beyond:
        """The first limit that starting the job would pass: jobs, then the user's amounts, then totals. For jobs that
        `over` answers yes for; when so much was given up since that it would pass none, the first that it is under."""
        share = self.share(job)
        passed = (each for each in share if self._used[each[0]] + each[1] > self._limit(each[0]))
        meter, asked = next(passed, share[0])
        return Beyond(meter, self._limit(meter), self._used[meter], asked)

    def started(self, job: SnapshotJob) -> None:
        """A job starts, or room is made for it: it takes its share."""
        self._count(job, 1)

    def stopped(self, job: SnapshotJob) -> None:
        """A running job is stopped: its share is free."""
        self._count(job, -1)

    def may_grow(self, job: SnapshotJob, more: Amounts) -> bool:
        """Whether a running job may come to hold so much more."""
        return all(self._used[meter] + n <= self._limit(meter) for meter, n in self._more(job, more))

    def grown(self, job: SnapshotJob, more: Amounts) -> None:
        """A running job gets so much more."""
        for meter, taken in self._more(job, more):
            self._used[meter] += taken

    def stays_over(self, share: Share, leaving: Mapping[Meter, int]) -> bool:
        """Whether a job with this share is over quota when so much of what is taken now has been given up."""
        return any(self._used[meter] - leaving.get(meter, 0) + n > self._limit(meter) for meter, n in share)

    def key(self, job: SnapshotJob) -> Slots | None:
        """The slots of which the job takes one; None when its level has no limit at all."""
        if job.task_level is None or job.task_level not in self._levels:
            return None
        return job.user, job.task_level

    def share(self, job: SnapshotJob) -> Share:
        """What the job takes of each limit that it is under, in the order in which limits are told."""
        level = job.task_level
        if level is None or level not in self._levels:
            return ()
        own = [(Meter(level, job.user, JOBS), 1)] if level in self._quotas else []
        amounts, totals = self._amounts.get(level), self._totals.get(level)
        if not amounts and not totals:
            return tuple(own)
        takes = _takes(job)
        own += [(Meter(level, job.user, name), takes.get(name, 0)) for name in sorted(amounts or ())]
        own += [(Meter(level, None, name), takes.get(name, 0)) for name in sorted(totals or ())]
        return tuple((meter, taken) for meter, taken in own if taken)

    def _more(self, job: SnapshotJob, more: Amounts) -> Share:
        """What more amounts of a running job take of the limits; it remains one job."""
        share = self.share(replace(job, alloc={"": more})) if self._levels else ()
        return tuple((meter, taken) for meter, taken in share if meter.resource != JOBS)

    def _limit(self, meter: Meter) -> int:
        if meter.resource == JOBS:
            return self._quotas[meter.level]
        return (self._totals if meter.user is None else self._amounts)[meter.level][meter.resource]

    def _count(self, job: SnapshotJob, by: int) -> None:
        key = self.key(job)
        if key is None:
            return
        self._running[key] += by
        for meter, taken in self.share(job):
            self._used[meter] += by * taken


def beyond_quota(rules: PartitionRules, jobs: Iterable[SnapshotJob]) -> frozenset[str]:
    """Ids of the running jobs beyond their quotas.

    Those that others were stopped for keep their share (a job that started meanwhile in free room would else make
    them the first to yield), then those that started first. A job that is beyond still counts for those that started
    after it, as it did when they started: so no job comes to be beyond because another one ends.
    """
    taken = Quotas(rules, ())
    if taken.none:
        return frozenset()
    counted = [job for job in jobs if job.state is JobState.RUNNING and taken.key(job)]
    beyond = []
    for job in sorted(counted, key=lambda job: (not job.beneficiary, job.start or 0, natural(job.id))):
        if taken.over(job):
            beyond.append(job.id)
        taken.started(job)
    return frozenset(beyond)


def _takes(job: SnapshotJob) -> Amounts:
    """What a job holds; what it asks for while it waits (one that wants whole nodes may come to hold more)."""
    request = job.request
    if job.state is not JobState.PENDING:
        return total(job.alloc.values())
    if request is None:
        return {}
    if request.nodes:
        return {name: amount * request.nodes for name, amount in request.per_node.items()}
    if request.count:
        return {name: amount * request.count for name, amount in request.unit.items()}
    return request.spread
