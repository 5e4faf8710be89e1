"""A job that starts again on more nodes: when its steps are due, and when its plan is given up.

1. Before the stop: the plan is given up when the job has not said within the grace time that it has saved its state,
   when it does not run any more as it did, or when the partition carries nothing out. Then nothing was changed.
2. After the stop: the plan has done its work when the job runs again.
3. Given up after that, at the deadline: the job finds no room. It is held, gets the number of nodes back that it had,
   and is released to the front of the line.
"""

from collections.abc import Mapping

from console.core import clock
from console.steering.actions import checkpoints
from console.steering.actions.undoing import add_action
from console.steering.decisions.facts import PartitionFacts, run_of
from console.steering.decisions.growing_again import checkpoint_of
from console.steering.decisions.looking_again import may_go_on
from console.steering.models import ActionState, Plan, PlannedAction
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

OPEN = frozenset({ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED})
NOT_DONE = frozenset({ActionState.EXPIRED, ActionState.FAILED})


def why_given_up(plan: Plan, jobs: Mapping[str, ObservedJob], facts: PartitionFacts | None) -> str:
    """Why a plan by which a job grows is to be undone, in words; empty when it goes on. Notes that the job runs again,
    and lets the stop be due once the job has saved its state. Must run inside a transaction."""
    if plan.started_at or plan.undo_reason:
        return ""
    stop, job = _of(plan, ActionKind.REQUEUE_HOLD)[0], jobs.get(plan.job_id)
    if stop.attempts:
        return _after_the_stop(plan, stop, job)
    if job is not None and job.state is JobState.COMPLETING:
        return ""
    return _why_not_stopped(plan, stop, job, facts) or _why_not_saved(plan, stop, jobs)


def _why_not_stopped(
    plan: Plan, stop: PlannedAction, job: ObservedJob | None, facts: PartitionFacts | None
) -> str:
    if job is None or job.state is not JobState.RUNNING or job.run != run_of(stop):
        return say("regrow.not_its_run", job=plan.job_id)
    if facts is None or not may_go_on(plan, facts):
        return say("plan.not_enforced")
    if facts.paused:
        return say("plan.none_to_stop", why=facts.paused)
    return ""


def _why_not_saved(plan: Plan, stop: PlannedAction, jobs: Mapping[str, ObservedJob]) -> str:
    signal = _of(plan, ActionKind.SIGNAL)[0]
    if signal.state in NOT_DONE:
        return say("regrow.not_asked", job=plan.job_id)
    if checkpoint_of(plan) is not None:
        checkpoints.end_grace(plan, jobs)
    elif stop.not_before is not None and stop.not_before <= clock.now():
        return say("regrow.no_checkpoint", job=plan.job_id)
    return ""


def _after_the_stop(plan: Plan, stop: PlannedAction, job: ObservedJob | None) -> str:
    if stop.state in NOT_DONE:
        return say("regrow.not_its_run", job=plan.job_id)
    if job is None:
        return "" if stop.state in OPEN else say("plan.not_seen_running", job=plan.job_id)
    if job.state is JobState.RUNNING and job.restarts > stop.run_restarts:
        plan.started_at = clock.now()
        Plan.objects.filter(pk=plan.pk).update(started_at=plan.started_at)
    elif job.state is JobState.PENDING and plan.deadline and clock.now() > plan.deadline:
        (victim,) = plan.victims
        return say("regrow.no_room", job=plan.job_id, n=victim["after"], before=victim["before"])
    return ""


def hold_for_its_number(plan: Plan, jobs: Mapping[str, ObservedJob]) -> None:
    """Of a plan that is undone: hold a job that waits with the larger number of nodes, so that it can have its own
    again, and let it go on then. Must run inside a transaction."""
    job = jobs.get(plan.job_id) if plan.undo_reason else None
    sizes, holds = _of(plan, ActionKind.RESIZE), _of(plan, ActionKind.HOLD)
    released = any(release.attempts for release in _of(plan, ActionKind.RELEASE))
    larger = any(size.attempts and size.state not in NOT_DONE for size in sizes)
    if job is None or job.state is not JobState.PENDING or job.held or holds or not (larger and released):
        return
    stop = _of(plan, ActionKind.REQUEUE_HOLD)[0]
    add_action(plan, stop, ActionKind.HOLD, order=4, value="")
    (first, *_) = _of(plan, ActionKind.RELEASE)
    add_action(plan, stop, ActionKind.RELEASE, order=4, value=first.value)


def runs_larger(plan: Plan) -> str:
    """The words for its end: the job runs."""
    (victim,) = plan.victims
    kept = any(size.state == ActionState.FAILED for size in _of(plan, ActionKind.RESIZE))
    return say("regrow.runs", job=plan.job_id, n=victim["before" if kept else "after"])


def _of(plan: Plan, kind: ActionKind) -> list[PlannedAction]:
    return [action for action in plan.actions.all() if action.kind == kind]
