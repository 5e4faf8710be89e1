"""Arrays that let only some of their tasks run at a time (`--array=1-100%4`).

Slurm says "JobArrayTaskLimit" only when as many tasks run as may; until then it calls every task ready. So for the
tasks beyond the limit no room can be made: they would not start in it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

AT_THE_LIMIT: str = say("waits.jobarraytasklimit")


def throttled(jobs: Sequence[ObservedJob], limits: Mapping[str, int]) -> list[ObservedJob]:
    """The jobs, with the tasks beyond their array's limit marked as not to be planned for.

    `limits`: how many tasks may run at a time, by the array's id; arrays without a limit are left out.
    """
    if not limits:
        return list(jobs)
    left = Counter(limits)
    waiting: list[ObservedJob] = []
    for job in jobs:
        if job.array_job_id in limits:
            if job.state is JobState.PENDING:
                waiting.append(job)
            else:
                left[job.array_job_id] -= 1
    beyond = set()
    for job in sorted(waiting, key=_first_to_start):
        left[job.array_job_id] -= 1
        if left[job.array_job_id] < 0:
            beyond.add(job.id)
    return [
        replace(job, unplannable=job.unplannable or AT_THE_LIMIT) if job.id in beyond else job for job in jobs
    ]


def _first_to_start(task: ObservedJob) -> tuple[int, int]:
    """Slurm's own order: by priority, then by number."""
    return -task.priority, int(task.id.rpartition("_")[2])


def together(tasks: Sequence[QueueRow]) -> list[str]:
    """What to call these pending jobs in one command: `41_[1,3]` for the tasks that are one record of their array."""
    names: list[str] = []
    records: dict[str, list[str]] = {}
    for row in tasks:
        if row.array_id and row.raw_id == row.array_id:
            records.setdefault(row.array_id, []).append(row.id.rpartition("_")[2])
        else:
            names.append(row.id)
    return names + [f"{array}_[{','.join(numbers)}]" for array, numbers in records.items()]
