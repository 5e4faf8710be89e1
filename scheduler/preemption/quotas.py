"""Quotas: how many jobs of a task level each user may have running (¶200, ¶201; spec 1.3)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from scheduler.model.jobs import Job, JobState
from scheduler.priority.order import natural

_Key = tuple[str, int]


class Quotas:
    """The slots of one partition while a plan is made."""

    def __init__(self, quotas: Mapping[int, int], jobs: Iterable[Job]) -> None:
        self._quotas = quotas
        self._running: Counter[_Key] = Counter(
            key for job in jobs if job.state is JobState.RUNNING and (key := self._key(job))
        )

    def limit(self, job: Job) -> int:
        """How many jobs of its level the job's user may have running. Only for jobs that `over` answers
        yes for."""
        return self._quotas.get(job.task_level if job.task_level is not None else -1, 0)

    def running(self, job: Job) -> int:
        """How many jobs of its level the job's user has running, as far as the plan has got."""
        key = self._key(job)
        return self._running[key] if key else 0

    def over(self, job: Job) -> bool:
        """Whether starting the job would put its user over quota."""
        return self._key(job) is not None and self.running(job) >= self.limit(job)

    def started(self, job: Job) -> None:
        """A job starts, or room is made for it: it takes a slot."""
        if key := self._key(job):
            self._running[key] += 1

    def stopped(self, job: Job) -> None:
        """A running job is stopped: its slot is free."""
        if key := self._key(job):
            self._running[key] -= 1

    def _key(self, job: Job) -> _Key | None:
        if job.task_level is None or job.task_level not in self._quotas:
            return None
        return job.user, job.task_level


def beyond_quota(quotas: Mapping[int, int], jobs: Iterable[Job]) -> frozenset[str]:
    """Ids of the running jobs beyond their users' quotas; those that started first keep their slots."""
    slots: Counter[_Key] = Counter()
    beyond = []
    counted = [job for job in jobs if job.state is JobState.RUNNING and job.task_level in quotas]
    for job in sorted(counted, key=lambda job: (job.start or 0, natural(job.id))):
        if job.task_level is None:
            continue
        slots[job.user, job.task_level] += 1
        if slots[job.user, job.task_level] > quotas[job.task_level]:
            beyond.append(job.id)
    return frozenset(beyond)
