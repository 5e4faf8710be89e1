"""A plan as contract A writes it."""

from typing import Any

from scheduler.model.plan import DecidedVictim, Decision, DecisionKind, How, PlanningResult

SCHEMA = "giveway.plan/1"

_WITH_VICTIMS = frozenset({DecisionKind.PREEMPT, DecisionKind.SHRINK, DecisionKind.SWAP})


def encode_plan(plan: PlanningResult) -> dict[str, Any]:
    """The plan as a JSON value, decisions in the order in which they were made."""
    return {"schema": SCHEMA, "decisions": [_decision(decision) for decision in plan.decisions]}


def _decision(decision: Decision) -> dict[str, Any]:
    result: dict[str, Any] = {"job": decision.job, "action": decision.action.value}
    if decision.nodes:
        result["nodes"] = list(decision.nodes)
    if decision.units is not None:
        result["units"] = decision.units
    if decision.action in _WITH_VICTIMS:
        result["victims"] = [_victim(victim) for victim in decision.victims]
    if decision.at is not None:
        result["at"] = decision.at
    if decision.tasks:
        result["tasks"] = [{"job": task.job, "node": task.node} for task in decision.tasks]
    if decision.lead:
        result["lead"] = decision.lead
    return result | {"reason": decision.reason.value, "explain": decision.explain}


def _victim(victim: DecidedVictim) -> dict[str, Any]:
    result: dict[str, Any] = {"job": victim.job, "how": victim.how.value}
    if victim.how is How.UNITS:
        result |= {"units": victim.units, "on": dict(victim.on)}
    if victim.worker_of:
        result |= {"worker_of": victim.worker_of}
    if victim.by:
        result |= {"by": victim.by.value}
    if victim.nodes:
        result["nodes"] = list(victim.nodes)
    return result | ({"gets": list(victim.gets)} if victim.gets else {})
