"""Looking again before anybody is signalled or stopped: is it still allowed?

The grace time may be long. The policy, the switch and the projects are read anew, at most once a round of acting.
"""

from collections.abc import Sequence
from functools import cached_property

from console.steering.decisions.facts import Facts, PartitionFacts, gather, partition_policies, run_of
from console.steering.models import ActionState, Plan
from scheduler.model.actions import ActionKind
from scheduler.model.observation import Observation
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import say
from scheduler.reconcile.eligible import why_spared

STOPS = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.CANCEL})
NOT_ENFORCED = say("plan.not_enforced")


class LookAgain:
    """One round's second look. `plans`: all that are being carried out."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans

    def why_not(self, plan: Plan, observation: Observation) -> str:
        """Why the plan's victims may not be stopped any more, in words; empty when they may."""
        partition = self._facts.partitions.get(plan.partition)
        if partition is None or not may_go_on(plan, partition):
            return NOT_ENFORCED
        if partition.paused:
            return say("plan.none_to_stop", why=partition.paused)
        # What was stopped a moment ago counts as a stop already, and must not be looked at as a victim again.
        still = (a for a in plan.actions.all() if a.kind in STOPS and a.state == ActionState.PLANNED)
        return why_spared(
            observation,
            partition.policy,
            self._facts.projects,
            beneficiary=plan.job_id,
            victims=frozenset(run_of(action) for action in still),
            preemptions=self._facts.preemptions,
            served=self._facts.stops.beneficiaries,
        )

    @cached_property
    def _facts(self) -> Facts:
        cluster = self._plans[0].cluster
        return gather(cluster, self._plans, partition_policies(cluster))


def may_go_on(plan: Plan, facts: PartitionFacts) -> bool:
    """Whether the policy in force still lets the plan be carried out: by itself, or because a person approved it."""
    if facts.policy.enforcement == Enforcement.APPROVE:
        return bool(plan.decided_by)
    return facts.policy.enforcement == Enforcement.ENFORCE
