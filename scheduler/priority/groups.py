"""Which jobs belong together and are one request in units: the tasks of an array, or jobs that say so (spec 2.5).

A group is a text that is the same for all of its jobs in one partition, and for no others: an array's id (`41`), or of
jobs with `group=train7` in their comments the name with their user and account (`train7@ann/alpha`). Where a pattern of
their project makes them one request, the pattern is that name (`eval_*@ann/alpha`). What a comment says comes first,
then the pattern, then the array: several arrays may be one group.
"""

from scheduler.model.jobs import ObservedJob
from scheduler.model.policy import TaskRule
from scheduler.priority.comment import read_comment

_AT = "@"


def group_of(job: ObservedJob, pattern: TaskRule | None = None) -> str:
    """The group of a job; empty for one that stands alone. `pattern`: the one of its project that fits its name."""
    name = read_comment(job.comment).group if "group=" in job.comment else ""
    if not name and pattern is not None and pattern.one_request:
        name = pattern.pattern
    return f"{name}{_AT}{job.user}/{job.account}" if name else job.array_job_id


def is_whole(job: ObservedJob) -> bool:
    """Whether the job's user wants all of its group at once, or none."""
    return "partial=" in job.comment and not read_comment(job.comment).partial


def group_name(group: str) -> str:
    """What people call a group: the array's id, or the name that its user gave it."""
    return group.partition(_AT)[0]
