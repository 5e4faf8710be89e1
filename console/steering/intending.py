"""From verdicts to written intents: plans and their actions, in one transaction, before anything is done.

1. A pending job whose verdict is `preempt` gets a plan; a proposed plan that says the same is kept as it is.
2. A proposed plan whose job no longer needs it expires; one that would now stop others is superseded.
3. In `enforce` the plan is approved at once and gets its actions; in `shadow` and `approve` it stays proposed.
4. A job over quota, where the policy holds such jobs, gets a plan of one action: hold it.
"""

from collections.abc import Iterable, Mapping, Sequence

from console.core import clock
from console.steering.acting import request_undo
from console.steering.deciding import Verdicts
from console.steering.journal import tell_plan
from console.steering.models import Plan, PlanKind, PlanState
from console.steering.new_plans import NewPlans, victims_of
from console.steering.states import move_plan
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import Enforcement
from scheduler.model.reasons import Reason

OVER_QUOTA = frozenset({Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED})


def intend(new: NewPlans, open_plans: Sequence[Plan]) -> int:
    """Write the intents of one partition; returns how many plans were made. Must run inside a transaction."""
    verdicts = new.verdicts
    by_job = {plan.job_id: plan for plan in open_plans if plan.partition == verdicts.facts.row.name}
    made = 0
    for decision in verdicts.decisions:
        plan = by_job.pop(decision.job, None)
        if plan is not None and plan.kind == PlanKind.QUOTA:
            if not _wants_hold(decision, verdicts):
                request_undo(plan, f"{plan.user} is no longer over quota.")
        elif _wants_hold(decision, verdicts):
            if plan is not None:
                _close_proposal(plan, PlanState.EXPIRED, decision.explain)
            new.hold(decision)
            made += 1
        else:
            made += _settle_preemption(new, decision, plan)
    _settle_departed(by_job.values())
    return made


def _settle_preemption(new: NewPlans, decision: Decision, plan: Plan | None) -> int:
    if plan is not None and plan.state != PlanState.PROPOSED:
        return 0  # It is being carried out: `verifying` looks after it.
    if decision.action != DecisionKind.PREEMPT:
        if plan is not None:
            _close_proposal(plan, PlanState.EXPIRED, decision.explain)
        return 0
    victims = victims_of(decision, new.verdicts)
    if plan is not None:
        enforcement = new.verdicts.facts.policy.enforcement.value
        if _runs(plan.victims) == _runs(victims) and plan.enforcement == enforcement:
            return 0
        _close_proposal(plan, PlanState.SUPERSEDED, "The facts have changed; a newer plan takes its place.")
    new.make_room(decision, victims)
    return 1


def _settle_departed(plans: Iterable[Plan]) -> None:
    """Plans of jobs that no longer wait in the partition."""
    for plan in plans:
        if plan.kind == PlanKind.PREEMPT:
            _close_proposal(plan, PlanState.EXPIRED, f"{plan.job_id} no longer waits.")
        else:
            request_undo(plan, f"{plan.job_id} no longer waits.")


def _close_proposal(plan: Plan, state: PlanState, why: str) -> None:
    if plan.state == PlanState.PROPOSED and move_plan(plan, state, ended_at=clock.now(), outcome=why):
        before, after = {"state": "proposed"}, {"state": state.value}
        tell_plan(plan, f"plan.{state.value}", before=before, after=after, reason=why)


def _runs(victims: Sequence[Mapping[str, object]]) -> set[tuple[object, object, object]]:
    return {(victim["job"], victim["start"], victim["restarts"]) for victim in victims}


def _wants_hold(decision: Decision, verdicts: Verdicts) -> bool:
    return decision.reason in OVER_QUOTA and verdicts.facts.policy.enforcement == Enforcement.ENFORCE
