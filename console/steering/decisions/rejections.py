"""Heeding a person's no: a plan that was rejected is not proposed again at once.

The planner knows nothing of it: it says every cycle what would make room. If that is exactly what somebody has rejected
a while ago, the job waits instead and the person's words say why. As soon as other jobs would have to go, or the while
is over, there is a new plan.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from console.cluster.models import Cluster
from console.core import clock, kept_queries
from console.core.kept_queries import AskedMoment
from console.steering.models import Plan, PlanState
from console.steering.served import jobs_served, runs_served
from scheduler.model.jobs import RunKey, SnapshotJob
from scheduler.model.plan import MAKES_ROOM, Decision, DecisionKind
from scheduler.model.reasons import Reason
from scheduler.model.sentence import Seconds, say

HEEDED = timedelta(minutes=15)
"""For how long a rejection holds."""

Rejections = Mapping[tuple[str, str], list[Plan]]
"""Plans that were rejected lately, by partition and beneficiary."""


def recent_rejections(cluster: Cluster) -> Rejections:
    """The rejections that still hold."""
    found: dict[tuple[str, str], list[Plan]] = {}
    for plan in kept_queries.rows(_lately_rejected, cluster.pk, since=clock.now() - HEEDED):
        for job_id in jobs_served(plan):
            found.setdefault((plan.partition, job_id), []).append(plan)
    return found


def _lately_rejected(cluster: int, since: AskedMoment) -> QuerySet[Plan]:
    rows = Plan.objects.filter(cluster=cluster, state=PlanState.REJECTED, decided_at__gte=since).only(
        "partition", "job_id", "job_restarts", "tasks", "victims", "decided_by", "decided_at", "decision_reason",
        "decided_version",
    )  # fmt: skip
    return rows.order_by("-id").prefetch_related("versions")


def declined_starts(partition: str, rejections: Rejections) -> frozenset[str]:
    """The jobs that somebody did not want put first in line a while ago."""
    return frozenset(
        job_id
        for (name, job_id), plans in rejections.items()
        if name == partition and any(not plan.victims for plan in plans)
    )


def heed(
    decisions: Iterable[Decision], partition: str, jobs: Mapping[str, SnapshotJob], rejections: Rejections
) -> tuple[Decision, ...]:
    """The decisions, but for those that were rejected a while ago: these wait."""
    found = [_heeded(decision, jobs, rejections.get((partition, decision.job), ())) for decision in decisions]
    waits = {decision.job: decision for decision in found if decision.reason is Reason.PLAN_REJECTED}
    # Tasks that would get room together wait together.
    return tuple(
        replace(waits[decision.lead], job=decision.job) if decision.lead in waits else decision
        for decision in found
    )


def _heeded(decision: Decision, jobs: Mapping[str, SnapshotJob], rejected: Iterable[Plan]) -> Decision:
    if decision.action not in MAKES_ROOM or decision.lead:
        return decision
    runs = {jobs[victim.job].run for victim in decision.victims}
    for plan in rejected:
        if (decision.job, jobs[decision.job].restarts) in runs_served(plan) and runs in _rejected(plan):
            return replace(
                decision,
                action=DecisionKind.QUEUE,
                reason=Reason.PLAN_REJECTED,
                explain=_words(plan, clock.now()),
                nodes=(),
                victims=(),
                placement={},
                tasks=(),
            )
    return decision


def _rejected(plan: Plan) -> list[set[RunKey]]:
    """Whom the person did not want stopped: what was read, and what it had become by then."""
    read = plan.decided_version or plan.version
    return [_runs(plan.victims), *(_runs(row.victims) for row in plan.versions.all() if row.number >= read)]


def _runs(victims: Iterable[Mapping[str, Any]]) -> set[RunKey]:
    return {RunKey(victim["job"], victim["start"], victim["restarts"]) for victim in victims}


def _words(plan: Plan, now: datetime) -> str:
    left = HEEDED - (now - (plan.decided_at or now))
    said, time = plan.decision_reason.rstrip("."), Seconds(left.total_seconds())
    return say("put_off.rejected", who=plan.decided_by, plan=plan.pk, said=said, time=time)
