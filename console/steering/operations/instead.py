"""Approving one of a plan's alternatives instead: it becomes what the plan asks for, as one more version of it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from console.core import clock
from console.steering.models import Plan
from console.steering.operations.requests import ApprovalRequest, run_in


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
