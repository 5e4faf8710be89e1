"""A made-up past of finished jobs for partition x, which has one node of 8 CPUs."""

from typing import Any

from console.cluster.models import Cluster
from console.core import clock
from console.forecasts.models import FinishedSource, KeptRun

HOUR = 3600


def finished(
    cluster: Cluster, number: int, user: str, *, ago: int, waited: int, ran: int, **facts: Any
) -> KeptRun:
    """A job that was submitted so many seconds ago."""
    submit = int(clock.now().timestamp()) - ago
    values: dict[str, Any] = {
        "job_id": str(number),
        "user": user,
        "name": f"{user}_job",
        "partition": "x",
        "submit": submit,
        "start": submit + waited,
        "end": submit + waited + ran,
        "nodes": 1,
        "cpus": 8,
        "gpus": 0,
        "limit_s": 4 * HOUR,
        "state": "COMPLETED",
        "source": FinishedSource.ACCOUNTING,
    }
    return KeptRun.objects.create(cluster=cluster, **{**values, **facts})


def two_days(cluster: Cluster, days: int = 2) -> int:
    """Each day twelve jobs: beta's of two hours, and alpha's that came half an hour into each. How many there are."""
    number = 5000
    for day in range(days):
        for slot in range(6):
            begins = (2 + day) * 24 * HOUR - slot * 3 * HOUR
            finished(cluster, number, "beta", ago=begins, waited=0, ran=2 * HOUR)
            finished(
                cluster, number + 1, "alpha", ago=begins - HOUR // 2, waited=int(1.5 * HOUR), ran=HOUR // 6
            )
            number += 2
    return 12 * days
