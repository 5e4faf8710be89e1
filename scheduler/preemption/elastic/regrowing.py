"""Growing again by a restart: what it gains and costs, and how many may be restarted (spec 4.1).

A job of several nodes cannot take up nodes while it runs. So it pays only where what it gains in the time that is left
exceeds what the restart costs, its speed taken as proportional to its nodes.
"""

from collections import Counter
from collections.abc import Collection

from scheduler.model.jobs import Elastic, SnapshotJob
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.restart_worth import RestartWorth, restart_worth


def grows_by_restart(elastic: Elastic | None) -> bool:
    """Whether a job has to start again to grow."""
    return elastic is not None and elastic.by is not None


def worth_of(job: SnapshotJob, gets: int, now: int) -> RestartWorth | None:
    """What so many nodes would be worth for a running job; None where nobody knows when it ends."""
    elastic = job.elastic
    if elastic is None or elastic.ends_at is None or elastic.restart_s is None:
        return None
    return restart_worth(len(job.alloc), gets, elastic.ends_at - now, elastic.restart_s)


def may_restart(snapshot: Snapshot, job: SnapshotJob, stopped: Collection[SnapshotJob]) -> bool:
    """Whether the pause and the limits of the hour let a job be restarted. `stopped`: who is stopped in this plan."""
    rules = snapshot.partition
    if rules.paused:
        return False
    most, each = rules.max_stops_per_hour, rules.max_stops_per_user_hour
    by_user = Counter(other.user for other in stopped) + Counter(rules.stopped_by_user)
    over = most is not None and rules.stopped + len(stopped) >= most
    over_user = each is not None and by_user[job.user] >= each
    of_job = rules.max_stops_per_job_hour
    return not (over or over_user or (of_job is not None and job.stopped >= of_job))
