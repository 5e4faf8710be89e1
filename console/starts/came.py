"""Who came in the last days, as requests: such jobs may come again while others wait."""

import json
from collections.abc import Callable, Sequence

from console.cluster.models import Cluster, Job
from console.starts.left import RunsLeft
from console.starts.requests import PlayedNode, PlayedWant, want_of
from scheduler.contracts.errors import InputError
from scheduler.contracts.requests import decode_request
from scheduler.forecast.starts import WaitingRequest

REMEMBERED_S = 7 * 86_400
"""Of older days the mirror knows only the jobs that have not ended."""
MOST = 5000
"""The last so many are looked at; where more come within a day, nobody is played to come."""
FIELDS = (
    "job_id",
    "phase",
    "request",
    "partition",
    "time_limit_s",
    "start",
    "submit",
    "first_submit",
    "ended_at",
)

Asking = Callable[[Job, PlayedWant, RunsLeft], WaitingRequest]


def who_came(
    cluster: Cluster, nodes: Sequence[PlayedNode], reading: RunsLeft, asking: Asking
) -> list[tuple[float, WaitingRequest]]:
    """How long ago each came that has started, the oldest first, and what it asked for. One query."""
    rows = Job.objects.filter(cluster=cluster, start__gt=0, submit__gte=reading.now - REMEMBERED_S)
    wants: dict[tuple[str, str], PlayedWant | None] = {}
    found = []
    for job in rows.only(*FIELDS).order_by("-submit", "job_id")[:MOST]:
        key = job.partition, json.dumps(job.request, sort_keys=True)
        if key not in wants:
            wants[key] = _want(job, nodes)
        want, ago = wants[key], reading.now - (job.first_submit or job.submit)
        if want is not None and ago > 0:
            found.append((float(ago), asking(job, want, reading)))
    return sorted(found, key=lambda each: -each[0])


def ran_s(job: Job) -> int:
    """How long a job that has ended ran; 0 where that is not known."""
    if job.ended_at is None or not job.start:
        return 0
    return max(1, int(job.ended_at.timestamp()) - job.start)


def _want(job: Job, nodes: Sequence[PlayedNode]) -> PlayedWant | None:
    try:
        return want_of(decode_request(job.request, "request"), nodes, frozenset({job.partition}))
    except InputError:
        return None
