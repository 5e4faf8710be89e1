"""Quotas: how many jobs of a task level each user may have running (¶200, ¶201; spec 1.3)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from scheduler.model.jobs import Job, JobState
from scheduler.priority.order import natural

Slots = tuple[str, int]
"""A user's slots of a task level."""


class Quotas:
    """The slots of one partition while a plan is made."""

    def __init__(self, quotas: Mapping[int, int], jobs: Iterable[Job]) -> None:
        self._quotas = quotas
        self._running: Counter[Slots] = Counter(
            key for job in jobs if job.state is JobState.RUNNING and (key := self.key(job))
        )

    def limit(self, job: Job) -> int:
        """How many jobs of its level the job's user may have running. Only for jobs that `over` answers
        yes for."""
        return self._quotas.get(job.task_level if job.task_level is not None else -1, 0)

    def running(self, job: Job) -> int:
        """How many jobs of its level the job's user has running, as far as the plan has got."""
        key = self.key(job)
        return self._running[key] if key else 0

    def over(self, job: Job) -> bool:
        """Whether starting the job would put its user over quota."""
        return self.key(job) is not None and self.running(job) >= self.limit(job)

    def started(self, job: Job) -> None:
        """A job starts, or room is made for it: it takes a slot."""
        if key := self.key(job):
            self._running[key] += 1

    def stopped(self, job: Job) -> None:
        """A running job is stopped: its slot is free."""
        if key := self.key(job):
            self._running[key] -= 1

    def is_full(self, slots: Slots, leaving: int) -> bool:
        """Whether all the slots are still taken when so many of the running jobs in them are stopped."""
        return self._running[slots] - leaving >= self._quotas[slots[1]]

    def key(self, job: Job) -> Slots | None:
        """The slots of which the job takes one; None when its level has no quota."""
        if job.task_level is None or job.task_level not in self._quotas:
            return None
        return job.user, job.task_level


def beyond_quota(quotas: Mapping[int, int], jobs: Iterable[Job]) -> frozenset[str]:
    """Ids of the running jobs beyond their users' quotas.

    Those that others were stopped for keep their slots (a job that started meanwhile in free room would else make
    them the first to yield), then those that started first.
    """
    slots: Counter[Slots] = Counter()
    beyond = []
    counted = [job for job in jobs if job.state is JobState.RUNNING and job.task_level in quotas]
    for job in sorted(counted, key=lambda job: (not job.beneficiary, job.start or 0, natural(job.id))):
        if job.task_level is None:
            continue
        slots[job.user, job.task_level] += 1
        if slots[job.user, job.task_level] > quotas[job.task_level]:
            beyond.append(job.id)
    return frozenset(beyond)
