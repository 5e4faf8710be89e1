"""Of a plan that takes workers from elastic jobs: the work of those that stay, which a stop would have lost."""

from collections.abc import Iterable
from typing import Any

from console.steering.work import Work, add_work, work_of
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.resources import total


def keep_of_shrunk(victims: Iterable[dict[str, Any]], jobs: Iterable[SnapshotJob], now: int) -> None:
    """Note it, as `kept`, with the first worker that each elastic job loses. `now`: the cluster's clock."""
    first: dict[str, dict[str, Any]] = {}
    gone = set()
    for victim in victims:
        if group := victim.get("worker_of"):
            first.setdefault(group, victim)
        gone.add(victim["job"])
    kept: dict[str, Work] = {group: {} for group in first}
    for job in jobs if first else ():
        if job.group in first and job.state is JobState.RUNNING and job.id not in gone:
            ran = now - (job.start or now)
            add_work(kept[job.group], work_of({"amounts": total(job.alloc.values()), "ran_s": ran}))
    for group, victim in first.items():
        victim["kept"] = kept[group]
