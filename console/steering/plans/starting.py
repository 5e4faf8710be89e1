"""A start is carried out: a job with free room that Slurm does not start is put first in its line.

Slurm keeps room for the first of its line, and lets others pass only if they end in time: a job may have free room and
wait all the same. It gets a plan without victims when there was room for it in two cycles before this one, Slurm has
looked at it and left it (its reason says so), and nobody who stands before it, and could start, waits for more room:
what it takes must not be what such a job needs.
"""

from collections.abc import Iterable, Iterator, Mapping

from django.db.models import QuerySet

from console.cluster.models import Cluster, Job, JobPhase
from console.core import kept_queries
from console.steering.decisions.deciding import Verdicts
from scheduler.model.jobs import ObservedJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Enforcement
from scheduler.model.reasons import Reason
from scheduler.model.sentence import line_of

STARTABLE = 2
"""So many cycles Slurm has to start a job by itself."""
NOT_STARTED = line_of("start.late").removeprefix("%(why)s ")
"""What such a plan says after the words of the decision."""
LEFT = frozenset({"priority", "resources"})
"""Slurm's reasons for a job that could start as far as it is concerned; all others are a limit or a wish."""
WAITS_ANYWAY = frozenset(
    {Reason.BLOCKED, Reason.DOES_NOT_FIT_EVER, Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED}
)
"""Of who stands before it: these would not start whatever room there is."""


def startable(cluster: Cluster) -> dict[tuple[str, str], int]:
    """In how many cycles in a row there was room for jobs, by job and partition."""
    return {(job, name): count for job, name, count in kept_queries.rows(_counts, cluster.pk)}


def _counts(cluster: int) -> QuerySet[Job, tuple[str, str, int]]:
    rows = Job.objects.filter(cluster=cluster, phase=JobPhase.PENDING, startable__gt=0)
    return rows.values_list("job_id", "partition", "startable")


def left_waiting(
    verdicts: Verdicts, jobs: Mapping[str, ObservedJob], before: Mapping[tuple[str, str], int]
) -> frozenset[str]:
    """The jobs of a partition that are to be put first in line. `before`: as `startable` tells it."""
    facts = verdicts.facts
    if facts.policy.enforcement is Enforcement.SHADOW or facts.paused:
        return frozenset()
    return frozenset(
        decision.job
        for decision in _with_nobody_before(verdicts.decisions)
        if before.get((decision.job, facts.row.name), 0) >= STARTABLE and _is_left(jobs.get(decision.job))
    )


def _with_nobody_before(decisions: Iterable[Decision]) -> Iterator[Decision]:
    for decision in decisions:
        if decision.action is DecisionKind.START:
            yield decision
        elif decision.reason not in WAITS_ANYWAY:
            return


def _is_left(job: ObservedJob | None) -> bool:
    return job is not None and not job.held and not job.dependency and job.slurm_reason.lower() in LEFT
