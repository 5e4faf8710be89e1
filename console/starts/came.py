"""Who came in the last days, as requests: such jobs may come again while others wait."""

from collections.abc import Callable

from console.cluster.models import Cluster, Job
from console.starts.left import RunsLeft
from console.starts.requests import PlayedWant, WantedNodes
from console.starts.selectors import SeenJob, read_seen_jobs
from scheduler.forecast.coming import DAY_S
from scheduler.forecast.starts import WaitingRequest

REMEMBERED_S = 7 * 86_400
"""Of older days the mirror knows only the jobs that have not ended."""
MOST = 5000
"""The last so many are looked at; where more come within a day, nobody is played to come."""

Asking = Callable[[SeenJob, PlayedWant, RunsLeft], WaitingRequest]


def who_came(
    cluster: Cluster, nodes: WantedNodes, reading: RunsLeft, asking: Asking
) -> list[tuple[float, WaitingRequest]]:
    """How long ago each came that has started, the oldest first, and what it asked for. At most two queries."""
    rows = Job.objects.filter(cluster=cluster, start__gt=0, submit__gte=reading.now - REMEMBERED_S)
    last = rows.order_by("-submit").values_list("submit", flat=True)[MOST - 1 : MOST].first()
    if last is not None and reading.now - last < DAY_S:
        return []
    found = []
    for job in read_seen_jobs(rows.order_by("-submit", "job_id")[:MOST]):
        want = nodes.want_of_job(job.request, frozenset({job.partition}))
        ago = reading.now - job.submitted
        if want is not None and ago > 0:
            found.append((float(ago), asking(job, want, reading)))
    return sorted(found, key=lambda each: -each[0])
