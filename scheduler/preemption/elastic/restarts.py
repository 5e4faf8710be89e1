"""Elastic jobs that are made smaller by a restart: what that costs, and how many may be restarted (spec 4.1).

1. A restart stops all of a job for a moment, not only the nodes that it gives up: as a worker each of its nodes is as
   large as the whole job. So of equally many workers those go that leave their job running.
2. It counts as a stop of its job, in all limits: where a plan would stop more than the hour has left, nobody is
   restarted in it, and such jobs are left as they are.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from scheduler.model.jobs import SnapshotJob
from scheduler.model.plan import STOPPED, PlanningResult, Shrinking
from scheduler.model.snapshot import Snapshot


def restarts(job: SnapshotJob) -> bool:
    """Whether a job has to start again when it gives up a node."""
    return job.elastic is not None and job.elastic.by is Shrinking.RESTART


def with_restarts_limited(
    snapshot: Snapshot, planning: Callable[[Snapshot], PlanningResult]
) -> PlanningResult:
    """The plan for a snapshot; without any restart where it would be one too many (point 2)."""
    made = planning(snapshot)
    if not _is_over(made, snapshot):
        return made
    jobs = tuple(replace(job, elastic=None) if restarts(job) else job for job in snapshot.jobs)
    return planning(replace(snapshot, jobs=jobs))


def _is_over(made: PlanningResult, snapshot: Snapshot) -> bool:
    rules = snapshot.partition
    if rules.max_stops_per_hour is None and rules.max_stops_per_user_hour is None:
        return False
    victims = [victim for decision in made.decisions for victim in decision.victims]
    restarted = {victim.job for victim in victims if victim.by is Shrinking.RESTART}
    if not restarted:
        return False
    stopped = restarted | {victim.job for victim in victims if victim.how in STOPPED and not victim.worker_of}
    by_user = Counter(job.user for job in snapshot.jobs if job.id in stopped) + Counter(rules.stopped_by_user)
    most, each = rules.max_stops_per_hour, rules.max_stops_per_user_hour
    if most is not None and rules.stopped + len(stopped) > most:
        return True
    return each is not None and max(by_user.values()) > each
