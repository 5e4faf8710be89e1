"""For whose end other jobs wait: how it ends decides what becomes of those (`afterok` and the like).

Slurm looks at once: of a job that has failed those with `afterok` wait for ever, or are cancelled
(`--kill-on-invalid-dep`), and those with `afternotok` or `afterany` start, although the job goes on later. Of one that
is requeued they wait on.
"""

import re
from collections.abc import Iterable

from scheduler.model.jobs import ObservedJob

_END = re.compile(r"\b(?!after:)[a-z]+:(\d{1,10}(?:_(?:\d{1,10}|\*))?)", re.ASCII)
"""Whatever there is or will be but `after:41`, which waits for the beginning."""
_SINGLETON = re.compile(r"\bsingleton\b", re.ASCII)


def ends_waited_for(jobs: Iterable[ObservedJob]) -> frozenset[str]:
    """The jobs, tasks and arrays (`41_*`) for whose end others wait, as Slurm names them; of those that wait until no
    earlier one of their name and user is left (`singleton`) user and name."""
    waiting = [job for job in jobs if job.dependency]
    names = {name for job in waiting for name in _END.findall(job.dependency)}
    return frozenset(names | {_owner(job) for job in waiting if _SINGLETON.search(job.dependency)})


def is_waited_for(job: ObservedJob, ends: frozenset[str]) -> bool:
    """Whether the job is among them, itself or with its array."""
    array = job.array_job_id
    ids = {job.id, array, f"{array}_*"} if array else {job.id}
    return not ends.isdisjoint(ids | {_owner(job)})


def _owner(job: ObservedJob) -> str:
    return f"{job.user}/{job.name}"
