"""A request for approval: the standing plan of one job, or those of the waiting tasks of one group together.

It is one entry, one page and one decision. Its lead is the plan with the lowest number. What a person has read is named
by a mark: the lead's number and the last version (`PlanVersion`) that there was when the page was made.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import transaction
from django.db.models import (
    Case,
    F,
    Min,
    Q,
    QuerySet,
    Value,
    When,
    prefetch_related_objects,
)
from django.db.models.functions import StrIndex, Substr

from console.accounts.rules import once
from console.audit.services import reason_of
from console.cluster.models import Cluster
from console.core import clock
from console.steering.failures import Streak, read, what_holds
from console.steering.incidents import close
from console.steering.models import Incident, Pause, Plan, PlanKind, PlanState, PlanVersion
from console.steering.pausing import LONGEST_REASON
from console.steering.served import array_of, jobs_served
from scheduler.model.policy import Enforcement
from scheduler.priority.groups import group_name

_MARK = re.compile(r"(\d{1,18})\.(\d{1,18})")
GROUP = Case(
    When(~Q(group=""), then=F("group")),
    When(job_id__contains="_", then=Substr("job_id", 1, StrIndex("job_id", Value("_")) - 1)),
    default=F("job_id"),
)
"""What a plan's job is a part of, else the job: what is asked about together.

Of a plan of an earlier release it is the array.
"""


def group_of(plan: Plan) -> str:
    """The same; empty for a job that stands alone."""
    return plan.group or array_of(plan.job_id)


def asked_plans() -> QuerySet[Plan]:
    """All plans that wait for somebody's decision."""
    return Plan.objects.filter(
        state=PlanState.PROPOSED, kind=PlanKind.PREEMPT, enforcement=Enforcement.APPROVE.value
    )


def run_in(victim: dict[str, Any]) -> tuple[str, int, int]:
    """The run of a job that a plan keeps as a victim."""
    return victim["job"], victim.get("start", 0), victim.get("restarts", 0)


@dataclass(frozen=True)
class ApprovalRequest:
    """The plans that are decided together, by number; one that waits for nobody stands alone."""

    plans: tuple[Plan, ...]

    @property
    def lead(self) -> Plan:
        """The plan whose page is the request's."""
        return self.plans[0]

    @property
    def group(self) -> str:
        """What people call the array or group whose tasks are asked about together; empty for one job."""
        return group_name(group_of(self.lead)) if len(self.plans) > 1 or self.lead.tasks else ""

    @property
    def jobs(self) -> list[str]:
        """The ids of all that are asked about."""
        return [job_id for plan in self.plans for job_id in jobs_served(plan)]

    @property
    def tasks(self) -> int:
        """How many jobs the shown plans make room for."""
        return sum(len(jobs_served(plan)) for plan in self.shown)

    @cached_property
    def possible(self) -> tuple[Plan, ...]:
        """The plans that can be carried out now: those that say so, and stop nobody whom one before them stops."""
        found, taken = [], set[tuple[str, int, int]]()
        for plan in self.plans:
            runs = {run_in(victim) for victim in plan.victims}
            if not plan.not_now and not runs & taken:
                found.append(plan)
                taken |= runs
        return tuple(found)

    @property
    def shown(self) -> tuple[Plan, ...]:
        """The plans whose victims are shown: the possible ones; if there is none, what was last asked for."""
        return self.possible or self.plans

    @property
    def victims(self) -> list[dict[str, Any]]:
        """All that are stopped."""
        return [victim for plan in self.shown for victim in plan.victims]

    @cached_property
    def versions(self) -> dict[int, list[PlanVersion]]:
        """What the plans have asked for, by plan and oldest first."""
        return {plan.pk: list(plan.versions.all()) for plan in self.plans}

    @property
    def mark(self) -> str:
        """What a person who looks now has read."""
        last = max((row.pk for rows in self.versions.values() for row in rows), default=0)
        return f"{self.lead.pk}.{last}"

    def read(self, mark: str) -> dict[int, Plan | PlanVersion] | None:
        """The version of each plan that a mark stands for, by plan; None when it is the mark of something else.

        Plans that were made after it was read are not in it.
        """
        found = _MARK.fullmatch(mark)
        if found is None or not self._is_about(int(found[1])):
            return None
        known: dict[int, Plan | PlanVersion] = {}
        for plan in self.plans:
            rows = [row for row in self.versions[plan.pk] if row.pk <= int(found[2])]
            if rows:
                known[plan.pk] = rows[-1]
            elif not self.versions[plan.pk]:
                known[plan.pk] = plan  # made by an earlier release, and never renewed
        return known

    def _is_about(self, number: int) -> bool:
        if number in {plan.pk for plan in self.plans}:
            return True
        other, lead = Plan.objects.filter(pk=number).first(), self.lead
        return (
            other is not None
            and group_of(lead) != ""
            and (other.cluster_id, other.partition, group_of(other))
            == (lead.cluster_id, lead.partition, group_of(lead))
        )


def asked_with(plan: Plan) -> QuerySet[Plan]:
    """The plans that are asked about for the same job, or for tasks of its group, by number."""
    there = asked_plans().filter(cluster=plan.cluster_id, partition=plan.partition)
    there = there.annotate(asked=GROUP).filter(asked=group_of(plan) or plan.job_id)
    return there.select_related("cluster", "cycle").order_by("pk")


def request_of(plan: Plan) -> ApprovalRequest:
    """The request that a plan belongs to."""
    if not group_of(plan) or not plan.awaits_decision:
        return ApprovalRequest((plan,))
    rows = asked_with(plan).prefetch_related("versions")
    return ApprovalRequest(tuple(plan if row.pk == plan.pk else row for row in rows) or (plan,))


def standing_on(plan: Plan) -> Plan:
    """The plan that goes on asking for a group when the job of this one has left the queue; else the plan itself."""
    if not group_of(plan) or plan.state != PlanState.EXPIRED:
        return plan
    return asked_with(plan).first() or plan


def mark_of(plan: Plan) -> str:
    """A mark of what a person who looks at the plan is asked to approve."""
    return request_of(plan).mark


def requests_among(plans: Iterable[Plan]) -> list[ApprovalRequest]:
    """The requests that the plans make up; all plans of each must be there, by number."""
    found: dict[tuple[int, str, str], list[Plan]] = {}
    for plan in plans:
        key = (plan.cluster_id, plan.partition, group_of(plan) or plan.job_id)
        found.setdefault(key, []).append(plan)
    return [ApprovalRequest(tuple(together)) for together in found.values()]


def oldest_requests(rows: QuerySet[Plan], most: int) -> tuple[list[ApprovalRequest], int]:
    """The oldest requests among the plans that wait, and how many there are in all."""
    keys = rows.order_by().values("partition", asked=GROUP).annotate(first=Min("pk"))
    wanted = {(each["partition"], each["asked"]) for each in keys.order_by("first")[:most]}
    members = rows.annotate(asked=GROUP).filter(asked__in={asked for _, asked in wanted})
    known = members.select_related("cluster", "cycle").order_by("pk")
    plans = [plan for plan in known if (plan.partition, plan.asked) in wanted]
    prefetch_related_objects([plan for plan in plans if plan.version > 1], "versions")
    return requests_among(plans), keys.count()


# Closing an incident: a person says that it was seen, and why it need not be shown any more.


def close_incident(*, actor: str, incident: Incident, reason: str, request_id: str = "") -> bool:
    """Close it; False when it was closed before. Raises `ValidationError` without a reason.

    It goes on counting towards the pause of its partition: that it was seen does not say that its cause is gone.
    """
    reason = reason_of(actor, reason)[:LONGEST_REASON]
    with transaction.atomic():
        return close(incident, actor=actor, reason=reason, request_id=request_id)


# Approving one of a plan's alternatives instead: it becomes what the plan asks for, as one more version of it.


def mark_of_alternative(alternative: Mapping[str, Any]) -> str:
    """A short mark of whom an alternative stops, and where the job starts then."""
    facts = [sorted(run_in(victim) for victim in alternative["victims"]), alternative.get("placement")]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def can_be_chosen(alternative: Mapping[str, Any], plan: Plan) -> bool:
    """Whether it would make room, by stopping others than the plan does."""
    others = {run_in(victim) for victim in alternative["victims"]}
    return bool(
        alternative["possible"]
        and others
        and alternative.get("placement")
        and others != {run_in(victim) for victim in plan.victims}
    )


def choosing(request: ApprovalRequest, mark: str) -> Plan | None:
    """The request's plan with the alternative that a mark stands for in place of its own victims; not saved.

    None when there is no such alternative, or not any more. Tasks of an array together have none.
    """
    if len(request.plans) > 1 or request.lead.not_now:
        return None
    plan = request.lead
    for each in plan.alternatives:
        if can_be_chosen(each, plan) and mark_of_alternative(each) == mark:
            chosen = Plan.objects.select_related("cluster", "cycle").get(pk=plan.pk)
            chosen.victims, chosen.placement = each["victims"], each["placement"]
            chosen.tasks = each.get("tasks", [])
            chosen.explain, chosen.chosen = each["explain"], each["kind"]
            chosen.version, chosen.renewed_at = plan.version + 1, clock.now()
            return chosen
    return None


# What every page says before anything else: cycles that failed, the pauses that hold, the incidents that are open, and
# until when a demonstration's past is made up.


@dataclass(frozen=True, slots=True)
class SteeringNotices:
    """Pauses, and failures on whose account nobody is stopped, the whole cluster's first; open incidents, the latest
    first. `made_up_until`: what is told of before is made up; None but in a demonstration."""

    pauses: tuple[Pause, ...] = ()
    streaks: tuple[Streak, ...] = ()
    incidents: tuple[Incident, ...] = ()
    made_up_until: datetime | None = None


def standing_for(user: Any, cluster_name: str) -> SteeringNotices:
    """The same, read once for each request of a person."""
    return once(user, "steering notices", lambda: standing(cluster_name))


def standing(cluster_name: str) -> SteeringNotices:
    """Read all of it, in three queries: it is little, and mostly there is none."""
    found = Cluster.objects.filter(name=cluster_name).values_list("made_up_until", "meter__failing").first()
    made_up_until, failing = found or (None, None)
    return SteeringNotices(
        tuple(Pause.objects.filter(cluster__name=cluster_name).order_by("partition")),
        tuple(what_holds(read(failing or {}).values())),
        tuple(Incident.objects.filter(cluster__name=cluster_name, closed_at=None)),
        made_up_until,
    )
