"""A plan as contract A writes it."""

from typing import Any

from scheduler.model.plan import Decision, DecisionKind, Plan

SCHEMA = "giveway.plan/1"


def encode_plan(plan: Plan) -> dict[str, Any]:
    """The plan as a JSON value, decisions in the order in which they were made."""
    return {"schema": SCHEMA, "decisions": [_decision(decision) for decision in plan.decisions]}


def _decision(decision: Decision) -> dict[str, Any]:
    result: dict[str, Any] = {"job": decision.job, "action": decision.action.value}
    if decision.nodes:
        result["nodes"] = list(decision.nodes)
    if decision.action is DecisionKind.PREEMPT:
        result["victims"] = [{"job": victim.job, "how": victim.how.value} for victim in decision.victims]
    if decision.at is not None:
        result["at"] = decision.at
    return result | {"reason": decision.reason.value, "explain": decision.explain}
