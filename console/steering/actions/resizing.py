"""Jobs that become smaller by a restart: their number of nodes between the stop and the release, and back when undone.

1. It is given as soon as the job was seen to wait held, whatever became of the plan; the release waits for it.
2. When a plan is undone, a number that was sent already is taken back the same way, before the release.
3. A number that Slurm refuses, or that was given in vain, is given up: then the job goes on with what it asked for.
"""

from collections.abc import Iterable

from console.steering.actions.undoing import add_action, expire
from console.steering.models import ActionState, Plan, PlannedAction
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

STOPS = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.RECOVER})
OPEN = frozenset({ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED})


def is_put_back(resize: PlannedAction, others: Iterable[PlannedAction]) -> bool:
    """Whether the job was seen to wait after its stop, and no other number of nodes is on its way to it."""
    theirs = [other for other in others if other.job_id == resize.job_id]
    stops = [other for other in theirs if other.kind in STOPS]
    earlier = (other for other in theirs if other.kind == ActionKind.RESIZE and other.pk < resize.pk)
    return (
        any(stop.state == ActionState.VERIFIED for stop in stops)
        and not any(stop.state in OPEN for stop in stops)
        and not any(other.state in OPEN for other in earlier)
        and not any(other.kind == ActionKind.HOLD and other.state in OPEN for other in theirs)
    )


def settle_resizes(plan: Plan) -> None:
    """Drop numbers of nodes that have lost their reason, and have those taken back that were sent for a plan that is
    undone. Must run inside a transaction, after the stops of the plan were looked at."""
    actions = list(plan.actions.all())
    for action in actions:
        if action.kind == ActionKind.RESIZE and action.state != ActionState.EXPIRED:
            theirs = [a for a in actions if a.job_id == action.job_id]
            stops = [a for a in theirs if a.kind in STOPS]
            if any(a.kind == ActionKind.SIGNAL and a.state in OPEN for a in theirs):
                continue  # It may turn out to have ended the job, which is put back then.
            if all(a.state in (ActionState.EXPIRED, ActionState.FAILED) for a in stops):
                expire(action, say("action.never_stopped"))
            elif plan.undo_reason:
                _take_back(plan, action, actions)


def resize_again(plan: Plan, stop: PlannedAction) -> None:
    """Of a job that is put back after all, because its checkpoint signal has ended it: the number of nodes that was
    dropped with its stop."""
    theirs = [action for action in plan.actions.all() if _is_resize_of(action, stop.job_id)]
    if theirs and not plan.undo_reason and all(action.state == ActionState.EXPIRED for action in theirs):
        first = theirs[0]
        add_action(plan, first, ActionKind.RESIZE, order=first.order, value=first.value)


def _take_back(plan: Plan, action: PlannedAction, actions: Iterable[PlannedAction]) -> None:
    before = _nodes_before(plan, action)
    if not before or action.value == before:
        return
    if action.state == ActionState.PLANNED and not action.attempts:
        expire(action, plan.undo_reason)
    elif not any(_is_resize_of(other, action.job_id) and other.pk > action.pk for other in actions):
        add_action(plan, action, ActionKind.RESIZE, order=action.order, value=before)


def _is_resize_of(action: PlannedAction, job_id: str) -> bool:
    return action.kind == ActionKind.RESIZE and action.job_id == job_id


def _nodes_before(plan: Plan, action: PlannedAction) -> str:
    """How many nodes a job had before it gave some up; empty for one that the plan does not tell of."""
    for victim in plan.victims:
        if victim["job"] == action.job_id and victim.get("keeps"):
            return str(len(victim["keeps"]) + len(victim["nodes"]))
    return ""


def has_resized(action: PlannedAction, job: ObservedJob) -> bool:
    """Whether a job is seen to have the nodes that it was left, or to ask for the number that it was given. One that
    has gone on meanwhile needs neither."""
    if action.kind == ActionKind.RESIZE:
        waits = job.state is JobState.PENDING and job.held
        return not waits or (job.request is not None and str(job.request.nodes) == action.value)
    same = (job.start or 0, job.restarts) == (action.run_start, action.run_restarts)
    if job.state is not JobState.RUNNING or not same:
        return True
    return job.alloc.keys() == set(action.value.split(","))
