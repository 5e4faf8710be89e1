"""From verdicts to written intents: plans and their actions, in one transaction, before anything is done.

1. A pending job whose verdict is `preempt` gets a plan; proposals that stand (`proposals`) are kept as they are.
2. In `shadow` a proposed plan whose job no longer needs it expires; one that would no longer work is superseded.
   In `approve` it stands until its job does not wait any more, and is renewed in place (`standing`).
3. In `enforce` the plan is approved at once and gets its actions; in `shadow` and `approve` it stays proposed.
4. An approved plan that has not begun yet does not begin if its job left the queue, the partition was paused or its
   policy no longer stops anybody.
5. A job over quota, where the policy holds such jobs, gets a plan of one action: hold it.
6. Jobs whose user wants all of their group or none are held until there is room for all (`together`).
While a failure holds the partition (`streaks`) there is no new plan that would be carried out without being asked for.
"""

from collections.abc import Iterable, Sequence

from console.core import clock
from console.steering.decisions.deciding import Verdicts
from console.steering.decisions.looking_again import may_go_on
from console.steering.journal import tell_plan
from console.steering.ledger import request_undo
from console.steering.models import ActionState, Plan, PlanKind, PlanState
from console.steering.plans.alternatives import add_alternatives
from console.steering.plans.claims import PlanClaims
from console.steering.plans.growing import grows, settle_growth
from console.steering.plans.new_plans import NewPlans, victims_of
from console.steering.plans.proposals import Proposals
from console.steering.plans.standing import settle_request, why_departed, why_over
from console.steering.plans.together import settle_holds
from console.steering.served import jobs_served
from console.steering.states import move_action, move_plan
from scheduler.model.plan import Decision
from scheduler.model.policy import Enforcement
from scheduler.model.reasons import Reason
from scheduler.model.sentence import say

OVER_QUOTA = frozenset({Reason.OVER_QUOTA_HELD, Reason.OVER_QUOTA_REJECTED})


def intend(new: NewPlans, open_plans: Sequence[Plan]) -> int:
    """Write the intents of one partition; returns how many plans were made. Must run inside a transaction."""
    verdicts = new.verdicts
    claims = PlanClaims(verdicts, [plan for plan in open_plans if plan.kind != PlanKind.WHOLE])
    for other, joined in claims.joined:
        _close_proposal(other, PlanState.SUPERSEDED, say("plan.asked_together", job=joined))
    for start in open_plans:
        if verdicts.starts_given_up.intersection(jobs_served(start)):
            request_undo(start, say("start.given_up", job=start.job_id))
    made = 0
    asked: list[Plan] = []
    proposals = Proposals(verdicts)
    for decision in verdicts.decisions:
        if decision.lead:
            continue  # The first of its tasks speaks for it.
        plan = claims.of(decision)
        if grows(decision):
            made += settle_growth(new, decision, plan)
        elif (plan is not None and plan.kind == PlanKind.QUOTA) or _wants_hold(decision, verdicts):
            made += _settle_quota(new, decision, plan)
        else:
            now_open = _settle_preemption(new, decision, plan, proposals)
            made += now_open is not None and now_open is not plan
            if now_open is not None and now_open.enforcement == Enforcement.APPROVE:
                asked.append(now_open)
    new.keep()
    _settle_departed(claims.left, verdicts)
    add_alternatives(asked, verdicts)
    return made + settle_holds(new, open_plans)


def _settle_quota(new: NewPlans, decision: Decision, plan: Plan | None) -> bool:
    """Hold a job over quota, or no more; whether a plan was made for that."""
    wanted = _wants_hold(decision, new.verdicts)
    if plan is not None and plan.kind == PlanKind.QUOTA:
        if not wanted:
            request_undo(plan, say("plan.quota_kept", user=plan.user))
        return False
    if new.is_held or (plan is not None and not _close_proposal(plan, PlanState.EXPIRED, decision.explain)):
        return False
    new.hold(decision)
    return True


def _settle_preemption(
    new: NewPlans, decision: Decision, plan: Plan | None, proposals: Proposals
) -> Plan | None:
    """The job's proposal from now on, new or kept, if it is to have one."""
    if plan is not None and plan.state != PlanState.PROPOSED:
        _withdraw_what_may_not_begin(plan, new.verdicts)
        return None  # It is being carried out: `verifying` looks after it.
    if plan is not None and plan.awaits_decision:
        why = why_over(plan, new.verdicts)
        if not why:
            return settle_request(new, decision, plan, proposals)
        _close_proposal(plan, PlanState.EXPIRED, why)
        return None  # If its job still needs room, the next cycle says so.
    if not new.makes_room(decision):
        if plan is not None:
            _close_proposal(plan, PlanState.EXPIRED, decision.explain)
        return None
    if plan is not None:
        why = proposals.why_replaced(plan, decision, victims_of(decision, new.verdicts))
        if not why:
            return plan
        if not _close_proposal(plan, PlanState.SUPERSEDED, why):
            return None  # Somebody decided on it at this moment.
    if new.is_held and new.verdicts.facts.policy.enforcement == Enforcement.ENFORCE:
        return None
    return new.make_room(decision, victims_of(decision, new.verdicts)) if proposals.one_more() else None


def _withdraw_what_may_not_begin(plan: Plan, verdicts: Verdicts) -> None:
    if plan.state != PlanState.APPROVED:
        return
    if not may_go_on(plan, verdicts.facts):
        _withdraw(plan, say("plan.not_carried_out"))
    elif verdicts.facts.paused:
        _withdraw(plan, say("plan.none_to_stop", why=verdicts.facts.paused))


def _withdraw(plan: Plan, why: str) -> None:
    """An approved plan that has not begun: nothing of it is done."""
    if not move_plan(plan, PlanState.EXPIRED, ended_at=clock.now(), outcome=why):
        return
    for action in plan.actions.all():
        move_action(action, ActionState.EXPIRED, detail=why)
    tell_plan(plan, "plan.expired", before={"state": "approved"}, after={"state": "expired"}, reason=why)


def _settle_departed(plans: Iterable[Plan], verdicts: Verdicts) -> None:
    """Plans of jobs that no longer wait in the partition."""
    for plan in plans:
        why = say("again.waits_no_more", job=plan.job_id)
        if plan.kind == PlanKind.GROW:
            # What is carried out is looked after by `actions.growing`; its job runs, and nothing is decided of it.
            _close_proposal(plan, PlanState.EXPIRED, say("plan.victim_differs", job=plan.job_id))
        elif plan.kind != PlanKind.PREEMPT:
            request_undo(plan, why)
        elif plan.state == PlanState.APPROVED:
            _withdraw(plan, why)
        else:
            over = why_departed(plan, verdicts) if plan.awaits_decision else why
            _close_proposal(plan, PlanState.EXPIRED, over)


def _close_proposal(plan: Plan, state: PlanState, why: str) -> bool:
    """Whether the plan was a proposal until now and is none any more."""
    if plan.state != PlanState.PROPOSED or not move_plan(plan, state, ended_at=clock.now(), outcome=why):
        return False
    before, after = {"state": "proposed"}, {"state": state.value}
    tell_plan(plan, f"plan.{state.value}", before=before, after=after, reason=why)
    return True


def _wants_hold(decision: Decision, verdicts: Verdicts) -> bool:
    return decision.reason in OVER_QUOTA and verdicts.facts.policy.enforcement == Enforcement.ENFORCE
