"""A job that starts again on more nodes: when its steps are due, and when its plan is given up.

1. Before the stop: the plan is given up when the job has not said within the grace time that it has saved its state,
   when it does not run any more as it did, or when the partition carries nothing out. Then nothing was changed.
2. After the stop: the plan has done its work when the job runs again.
3. Given up after that, at the deadline: the job finds no room. It is held, gets the number of nodes back that it had,
   and is released to the front of the line.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from console.core import clock
from console.steering import checkpoints
from console.steering.facts import PartitionFacts, run_of
from console.steering.kinds.swap import is_exchange
from console.steering.lifecycle import add_action, expire
from console.steering.looking_again import checkpoint_of, may_go_on
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction
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


# Jobs that become smaller by a restart: their number of nodes between the stop and the release, and back when undone.
#
# 1. It is given as soon as the job was seen to wait held, whatever became of the plan; the release waits for it.
# 2. When a plan is undone, a number that was sent already is taken back the same way, before the release.
# 3. A number that Slurm refuses, or that was given in vain, is given up: then the job goes on with what it asked for.

STOPS = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.RECOVER})
OPEN_STATES = frozenset({ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED})


def is_put_back(resize: PlannedAction, others: Iterable[PlannedAction]) -> bool:
    """Whether the job was seen to wait after its stop, and no other number of nodes is on its way to it."""
    theirs = [other for other in others if other.job_id == resize.job_id]
    stops = [other for other in theirs if other.kind in STOPS]
    earlier = (other for other in theirs if other.kind == ActionKind.RESIZE and other.pk < resize.pk)
    return (
        any(stop.state == ActionState.VERIFIED for stop in stops)
        and not any(stop.state in OPEN_STATES for stop in stops)
        and not any(other.state in OPEN_STATES for other in earlier)
        and not any(other.kind == ActionKind.HOLD and other.state in OPEN_STATES for other in theirs)
    )


def settle_resizes(plan: Plan) -> None:
    """Drop numbers of nodes that have lost their reason, and have those taken back that were sent for a plan that is
    undone. Must run inside a transaction, after the stops of the plan were looked at."""
    actions = list(plan.actions.all())
    for action in actions:
        if action.kind == ActionKind.RESIZE and action.state != ActionState.EXPIRED:
            theirs = [a for a in actions if a.job_id == action.job_id]
            stops = [a for a in theirs if a.kind in STOPS]
            if any(a.kind == ActionKind.SIGNAL and a.state in OPEN_STATES for a in theirs):
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


# Whose turn it is among the actions of a plan.

SETTLE = timedelta(seconds=2)
"""Slurm loses a job that starts again in the clock second of its requeue (seen on 22.05.8: slurmd takes it for the run
that it is still ending, and the job fails)."""
UNFINISHED = frozenset({ActionState.PLANNED, ActionState.EXECUTING})


def is_due(action: PlannedAction, plan: Plan, now: datetime) -> bool:
    """Whether an action's turn has come."""
    if action.state != ActionState.PLANNED or (action.not_before and action.not_before > now):
        return False
    others: list[PlannedAction] = list(plan.actions.all())
    grows = plan.kind == PlanKind.GROW
    if action.kind == ActionKind.RELEASE:
        # Who starts again on more nodes waits for nobody but itself.
        over = grows or bool(plan.undo_reason) or plan.started_at is not None or is_exchange(plan)
        return over and not _stop_pending(action, others, now)
    if action.kind in {ActionKind.RESTORE_PRIORITY, ActionKind.RECOVER}:
        return True
    if action.kind == ActionKind.RESIZE:
        return is_put_back(action, others)
    if grows and action.kind == ActionKind.HOLD:
        return True
    if plan.undo_reason or plan.started_at:
        return False
    return all(other.state not in UNFINISHED for other in others if other.order < action.order)


def _stop_pending(release: PlannedAction, others: Iterable[PlannedAction], now: datetime) -> bool:
    """Whether the stop (or hold) that this release takes back was not seen to have worked, or only just now."""
    stops = {ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.HOLD, ActionKind.RESIZE}
    return any(
        other.job_id == release.job_id
        and other.kind in stops
        and (
            other.state in (ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED)
            or (other.issued_at is not None and abs(now - other.issued_at) < SETTLE)
        )
        for other in others
    )
