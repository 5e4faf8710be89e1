"""Which open plan is about which decision, where plans and decisions may be about several tasks of an array.

An array changes while its request stands: a task starts in free room, others are added to those that get room. So a
plan follows its tasks:
1. it goes to the decision that makes room for its first task, as the first one;
2. else to the one that makes room for any of its tasks; if that has a plan already, the plan has joined that one;
3. else to the first decision about any of its tasks.
A plan that is being carried out comes before a proposal: nothing new is begun for its tasks until it is over.
"""

from collections.abc import Iterable, Sequence

from console.steering.decisions.deciding import Verdicts
from console.steering.models import Plan, PlanState
from console.steering.served import jobs_served
from scheduler.model.plan import Decision


class PlanClaims:
    """The open plans of one partition in one cycle, each with the decision that it is about.

    `left`: plans about whose jobs nothing was decided: they no longer wait. `joined`: proposals for tasks that are now
    planned together with others, with the id of the first of these.
    """

    def __init__(self, verdicts: Verdicts, open_plans: Sequence[Plan]) -> None:
        name = verdicts.facts.row.name
        plans = [plan for plan in open_plans if plan.partition == name]
        self._of: dict[str, Plan] = {}
        self.joined: list[tuple[Plan, str]] = []
        self._claimed: set[int] = set()
        own = {plan.job_id: plan for plan in plans}
        serving: dict[str, list[Plan]] = {}
        for plan in plans:
            for job_id in jobs_served(plan):
                serving.setdefault(job_id, []).append(plan)
        making_room = [decision for decision in verdicts.decisions if decision.victims]
        for decision in making_room:
            self._claim(decision, filter(None, [own.get(decision.job)]))
        for decision in making_room:
            jobs = [task.job for task in decision.tasks] or [decision.job]
            self._claim(decision, (plan for job_id in jobs for plan in serving.get(job_id, ())))
        for decision in verdicts.decisions:
            if not decision.victims and not decision.lead:
                self._claim(decision, serving.get(decision.job, ()))
        self.left = [plan for plan in plans if plan.pk not in self._claimed]

    def of(self, decision: Decision) -> Plan | None:
        """The open plan that a decision is about, if there is one."""
        return self._of.get(decision.job)

    def _claim(self, decision: Decision, plans: Iterable[Plan]) -> None:
        found = {plan.pk: plan for plan in plans if plan.pk not in self._claimed}
        self._claimed.update(found)
        for plan in sorted(found.values(), key=lambda plan: (plan.state == PlanState.PROPOSED, plan.pk)):
            if decision.job not in self._of:
                self._of[decision.job] = plan
            elif plan.state == PlanState.PROPOSED:
                self.joined.append((plan, decision.job))
