"""Giveway's API for Python: nothing but the standard library, Python 3.9 or newer.

    from giveway_client import Giveway, NotFoundError

    console = Giveway("https://giveway.example.org", token)
    for job in console.jobs(partition="x", phase="pending"):
        print(job.job_id, job.place, job.reason)
    console.change_project("alpha", urgency=5, reason="Delivery on Friday")

Whatever is refused is an exception (`giveway_client.errors`). A request whose answer did not arrive is sent
again; a change then carries the same idempotency key, so that it is done once. docs/giveway-command.md says more.
"""

from giveway_client.client import Giveway
from giveway_client.errors import (
    ChangedError,
    ForbiddenError,
    GivewayError,
    InvalidError,
    NotFoundError,
    NotSignedInError,
    RefusedError,
    ThrottledError,
    UnreachableError,
)
from giveway_client.records import Job, Level, Partition, Pause, Plan, Project, Question, Study, Victim

__all__ = [
    "ChangedError",
    "ForbiddenError",
    "Giveway",
    "GivewayError",
    "InvalidError",
    "Job",
    "Level",
    "NotFoundError",
    "NotSignedInError",
    "Partition",
    "Pause",
    "Plan",
    "Project",
    "Question",
    "RefusedError",
    "Study",
    "ThrottledError",
    "UnreachableError",
    "Victim",
]
