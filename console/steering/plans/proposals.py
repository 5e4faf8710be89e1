"""Whether a proposal may stand although the planner would choose a little differently now.

In a busy partition the best choice changes every second. Who is asked to approve a plan must not see it change while
reading it, and the log must not fill with plans that nobody carried out. So a proposal stands while it would still do
what it says and needs all of its victims, and only after a while a better choice takes its place: a longer one where
somebody is asked and it would stop as many jobs of the same levels. In shadow that is a newer plan; where somebody is
asked, the same one, renewed (`standing`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from console.core import clock
from console.steering.decisions.deciding import Verdicts
from console.steering.models import Plan
from scheduler.model.jobs import JobState
from scheduler.model.plan import Decision
from scheduler.model.policy import Enforcement
from scheduler.model.resources import Amounts, add, covers, subtract
from scheduler.model.sentence import say

STANDS_FOR = timedelta(seconds=60)
"""How long a proposal that would still work is kept although another choice would be made now."""
STANDS_FOR_READERS = timedelta(minutes=10)
"""The same where somebody is asked and it is only a matter of which jobs of a level."""
PER_CYCLE = 50
"""How many proposals are made in one cycle; the others, lower in line, follow in the next ones."""


class Proposals:
    """The proposals of one partition in one cycle, in the light of its verdicts."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._policy = verdicts.facts.policy
        self._made = 0

    def one_more(self) -> bool:
        """Whether one more may be made in this cycle. What is carried out at once is never put off."""
        self._made += 1
        return self._made <= PER_CYCLE or self._policy.enforcement == Enforcement.ENFORCE

    def why_replaced(self, plan: Plan, decision: Decision, victims: Sequence[Mapping[str, Any]]) -> str:
        """Why a proposal gives way to a newer choice, in words; empty when it stands. `victims`: of the newer one."""
        if plan.enforcement != self._policy.enforcement:
            return say("plan.other_enforcement")
        if plan.awaits_decision and plan.policy_revision != self._verdicts.facts.revision:
            return say("plan.other_policy")
        same = _runs(plan.victims) == _runs(victims) and plan.placement == _plain(decision.placement)
        if same and _tasks(plan) == {task.job for task in decision.tasks}:
            return ""
        why = self._why_no_longer_for(plan, decision) or self._why_it_would_fail(plan)
        if why:
            return say("plan.anew" if plan.awaits_decision else "plan.newer", why=why)
        if clock.now() - plan.worked_out_at < self._patience(plan, victims):
            return ""
        if plan.awaits_decision:
            return say("plan.other_facts")
        return say("plan.other_facts.newer")

    def _patience(self, plan: Plan, victims: Sequence[Mapping[str, Any]]) -> timedelta:
        return (
            STANDS_FOR_READERS
            if plan.awaits_decision and _levels(plan.victims) == _levels(victims)
            else STANDS_FOR
        )

    def _why_no_longer_for(self, plan: Plan, decision: Decision) -> str:
        """Which of the tasks that get room together no longer does so, in words; empty when all do."""
        for task in plan.tasks:
            job = self._verdicts.jobs.get(task["job"])
            if job is None or job.state is not JobState.PENDING or job.restarts != task["restarts"]:
                return say("again.waits_no_more", job=task["job"])
            if self._leads.get(task["job"], decision.job) != decision.job:
                return say("plan.room_with_others", job=task["job"])
        return ""

    @cached_property
    def _leads(self) -> dict[str, str]:
        """For whom room is made, with the job whose decision that is."""
        making_room = [each for each in self._verdicts.decisions if each.victims]
        return {each.job: each.job for each in making_room} | {
            task.job: each.job for each in making_room for task in each.tasks
        }

    def _why_it_would_fail(self, plan: Plan) -> str:
        """Why the plan would no longer make its room; empty when it would."""
        free = {node: dict(self._free[node]) for node in plan.placement if node in self._free}
        given: dict[str, Mapping[str, Amounts]] = {}
        for victim in plan.victims:
            job = self._verdicts.jobs.get(victim["job"])
            run = job and (job.id, job.run.start, job.run.restarts)
            if job is None or job.state is not JobState.RUNNING or run != _run(victim):
                return say("plan.victim_gone", job=victim["job"])
            levels = [self._policy.level_name(level) for level in (job.user_level, job.task_level)]
            if not job.preemptable or levels != [victim["user_level"], victim["task_level"]]:
                return say("plan.victim_differs", job=victim["job"])
            given[job.id] = job.alloc
            for node, held in job.alloc.items():
                if node in free:
                    add(free[node], held)
        for node, wanted in plan.placement.items():
            if node not in free or not covers(free[node], wanted):
                return say("plan.room_differs", node=node)
        for job_id, alloc in given.items():
            if _is_enough_without(alloc, free, plan.placement):
                return say("plan.victim_not_needed", job=job_id)
        return ""

    @cached_property
    def _free(self) -> dict[str, dict[str, int]]:
        """What is free, or coming free, on each node that is up."""
        free: dict[str, dict[str, int]] = {}
        for node in self._verdicts.snapshot.nodes:
            if node.up:
                free[node.name] = dict(node.total)
                subtract(free[node.name], node.held_elsewhere)
        ends = JobState.COMPLETING
        for job in self._verdicts.snapshot.jobs:
            # What other plans stop is coming free, and promised to the jobs that they stop it for.
            if job.state is not ends:
                for name, held in (job.alloc or job.promised).items():
                    left = free.get(name)
                    if left is not None:
                        for resource, amount in held.items():
                            left[resource] = left.get(resource, 0) - amount
        return free


def _is_enough_without(
    alloc: Mapping[str, Amounts], free: Mapping[str, Amounts], placement: Mapping[str, Amounts]
) -> bool:
    """Whether the room is there although one victim keeps what it holds."""
    for node, wanted in placement.items():
        left = dict(free[node])
        subtract(left, alloc.get(node, {}))
        if not covers(left, wanted):
            return False
    return True


def _tasks(plan: Plan) -> set[str]:
    return {task["job"] for task in plan.tasks}


def _levels(victims: Sequence[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((victim["user_level"], victim["task_level"], victim["how"]) for victim in victims)


def _runs(victims: Sequence[Mapping[str, Any]]) -> set[tuple[Any, ...]]:
    return {_run(victim) for victim in victims}


def _run(victim: Mapping[str, Any]) -> tuple[Any, ...]:
    return victim["job"], victim["start"], victim["restarts"]


def _plain(placement: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {node: dict(taken) for node, taken in placement.items()}
