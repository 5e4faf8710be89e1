"""Room that is kept for a start for which nobody is stopped, and that others need more.

Slurm had left a job waiting beside free room, and Giveway has put it first in line (`plans.starting`). Until it runs
its room counts as taken. If somebody who ranks higher comes meanwhile and needs that room, nobody is stopped instead of
it: the start is given up, and its job waits in its own place.
"""

from scheduler.model.plan import DecisionKind, PlanningResult
from scheduler.model.snapshot import Snapshot
from scheduler.reconcile.decide import Outstanding, decide, overlay


def decide_with_starts(
    snapshot: Snapshot, outstanding: Outstanding
) -> tuple[Snapshot, PlanningResult, frozenset[str]]:
    """What is planned on, with all that is under way; the plan; and the jobs whose starts are given up.

    Of a start is given up what, without the room kept for it, would not be decided to start again, where fewer jobs are
    stopped then, or fewer wait for nothing.
    """
    under_way = overlay(snapshot, outstanding)
    plan = decide(under_way)
    starts = outstanding.starts & {job.id for job in snapshot.jobs}
    if not starts or not any(_costs(plan, starts)):
        return under_way, plan, frozenset()
    as_if = decide(overlay(snapshot, outstanding.without(starts)))
    start_again = {each.job for each in as_if.decisions if each.action is DecisionKind.START}
    given_up = starts - start_again
    if not given_up:
        return under_way, plan, given_up
    without = overlay(snapshot, outstanding.without(given_up))
    other = decide(without)
    if _costs(other, starts) < _costs(plan, starts):
        return without, other, given_up
    return under_way, plan, frozenset()


def _costs(plan: PlanningResult, starts: frozenset[str]) -> tuple[int, int]:
    """How many others than these stay in the queue, and how many jobs are stopped or lose something."""
    queued = sum(each.action is DecisionKind.QUEUE for each in plan.decisions if each.job not in starts)
    return queued, len({victim.job for each in plan.decisions for victim in each.victims})
