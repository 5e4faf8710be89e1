"""The last net: a job that one of our stops or holds keeps although its plan is over is let go all the same.

Three ways lead there. A stop takes effect after it was given up (its sender stood still, slurmctld hung with the
request in its hands). Slurm showed half of its table without saying so: the job was taken for gone, and is there again.
Or an answer of Slurm was misread, and a job that is held was taken for let go. The plan is opened once more, with a
release; from there on it goes its ordinary way.
"""

from collections.abc import Mapping
from datetime import timedelta

from console.cluster.models import Cluster
from console.core import clock
from console.steering.actions.undoing import add_action
from console.steering.actions.victims import follow_again
from console.steering.decisions.held_together import held_together, is_held_by_user
from console.steering.journal import tell_action, tell_plan
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    ActionState,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
)
from console.steering.states import move_action, move_plan
from scheduler.model.actions import LEFT_HELD, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

HELD_BY_USER = say("whole.held_by_user")
"""Of a release that was not made, because the job's own user holds it."""
NOT_OURS = LEFT_HELD | {HELD_BY_USER}
"""Of a release that was not made, because somebody else holds the job."""
LEFT = say("action.left_the_queue")
"""Of a release: it was taken as done because the job was not seen. That may have been a mistake."""
NEVER_DONE = (OutcomeKind.REFUSED, OutcomeKind.GONE)
"""Outcomes of a stop that was not carried out; of a second try they say nothing of the first."""
HELD_SINCE_ITS_STOP = "job requeued in held state"
"""Slurm's reason from a requeue in held state until the first release (22.05, 24.11 and 26.05). Who holds the job later
is somebody else, and the reason another one."""
REMEMBER = timedelta(days=30)
"""How far back holds are looked through."""
GIVEN_UP = frozenset({ActionState.EXPIRED, ActionState.FAILED})
REOPENED = (PlanState.VERIFIED, PlanState.UNDONE, PlanState.FAILED)
AFTER_ALL = say("action.after_all")


def free_orphaned_holds(cluster: Cluster, jobs: Mapping[str, ObservedJob]) -> None:
    """Open the plans again whose victims are still held. Must run inside a transaction."""
    waiting = [job for job in jobs.values() if job.held and job.state == JobState.PENDING]
    ours = _held_before(cluster) if any(not job.restarts for job in waiting) else frozenset()
    held = {job.id: job for job in waiting if job.restarts or job.id in ours}
    if not held:
        return
    stops = (
        PlannedAction.objects.filter(
            cluster=cluster,
            kind__in=(*STOP_KINDS, ActionKind.HOLD),
            job_id__in=held,
            attempts__gt=0,
            plan__state__in=REOPENED,
        )
        .exclude(outcome__in=NEVER_DONE, attempts=1)
        .select_related("plan__cluster", "plan__cycle")
        .prefetch_related("plan__actions")
        .order_by("-id")
    )
    for stop in stops:
        job = held[stop.job_id]
        is_hold = stop.kind == ActionKind.HOLD
        if is_hold and (job.id not in ours or is_held_by_user(job)):
            continue
        if job.restarts == stop.run_restarts + (not is_hold) and not _is_let_go(stop, job):
            _open_again(stop)


def _held_before(cluster: Cluster) -> frozenset[str]:
    """The jobs that plans have held which are over, and that no open one holds again."""
    over = PlannedAction.objects.filter(
        cluster=cluster, kind=ActionKind.HOLD, attempts__gt=0, plan__state__in=REOPENED,
        plan__ended_at__gte=clock.now() - REMEMBER,
    )  # fmt: skip
    again = held_together(Plan.objects.filter(cluster=cluster, kind=PlanKind.WHOLE, state__in=OPEN_STATES))
    return frozenset(over.values_list("job_id", flat=True)) - again


def _is_let_go(stop: PlannedAction, job: ObservedJob) -> bool:
    """Whether a release of that run is under way, or was seen to work: whoever holds the job since is not us.

    Unless Slurm itself says that the job has been held ever since its requeue: then what was seen was misread.
    """
    every = PlannedAction.objects.filter(
        cluster=stop.cluster_id,
        kind=ActionKind.RELEASE,
        job_id=stop.job_id,
        run_restarts=stop.run_restarts,
    )
    releases = [each for each in every if each.state not in GIVEN_UP or each.detail in NOT_OURS]
    misread = job.slurm_reason == HELD_SINCE_ITS_STOP
    return any(
        release.state != ActionState.VERIFIED or (release.detail != LEFT and not misread)
        for release in releases
    )


def _open_again(stop: PlannedAction) -> None:
    plan = stop.plan
    before = plan.state
    others = Plan.objects.filter(
        cluster=plan.cluster, job_id=plan.job_id, partition=plan.partition, state__in=OPEN_STATES
    )
    if others.exists() or not _acknowledged(stop):
        return
    why = plan.undo_reason or ("" if plan.started_at else say("plan.stopped_all_the_same", job=stop.job_id))
    if not move_plan(plan, PlanState.EXECUTING, ended_at=None, undo_reason=why):
        return
    add_action(plan, stop, ActionKind.RELEASE, order=4, value="")
    follow_again(stop)
    tell_plan(
        plan,
        "plan.executing",
        before={"state": before},
        after={"state": "executing"},
        reason=say("plan.still_holds", job=stop.job_id),
    )


def _acknowledged(stop: PlannedAction) -> bool:
    """Note that a stop that was given up did happen; False when another plan has a stop of that run."""
    if stop.state not in GIVEN_UP:
        return True
    rivals = PlannedAction.objects.filter(
        cluster=stop.cluster_id,
        kind=stop.kind,
        job_id=stop.job_id,
        run_start=stop.run_start,
        run_restarts=stop.run_restarts,
    ).exclude(state=ActionState.EXPIRED)
    if rivals.exclude(pk=stop.pk).exists():
        return False
    if move_action(stop, ActionState.VERIFIED, verified_at=clock.now(), detail=AFTER_ALL):
        tell_action(stop, "action.verified", reason=AFTER_ALL)
    return True
