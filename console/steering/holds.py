"""The last net: a job that one of our stops or holds keeps although its plan is over is let go all the same.

Three ways lead there. A stop takes effect after it was given up (its sender stood still, slurmctld hung with the
request in its hands). Slurm showed half of its table without saying so: the job was taken for gone, and is there again.
Or an answer of Slurm was misread, and a job that is held was taken for let go. The plan is opened once more, with a
release; from there on it goes its ordinary way.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from console.cluster.models import Cluster
from console.core import clock
from console.steering.facts import HELD_BY_USER as BY_USER
from console.steering.facts import PartitionFacts, held_together, is_held_by_user, run_of
from console.steering.journal import tell_action, tell_plan
from console.steering.lifecycle import add_action, expire, move_action, move_plan
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    ActionState,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
)
from console.steering.served import jobs_served
from console.steering.victims import follow_again
from scheduler.model.actions import HELD_BY_ADMIN, HELD_BY_USER, LEFT_HELD, STOPPING, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import say

ALL_HELD_BY_USER = say("whole.held_by_user")
"""Of a release that was not made, because the job's own user holds it."""
NOT_OURS = LEFT_HELD | {ALL_HELD_BY_USER}
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


# Holds that somebody else has put on a job which a plan holds: they are not ours to take back.
#
# A job that its user or an administrator holds when its turn comes stays held; its release is dropped. What can be told
# apart is in `scheduler/adapters/slurm/holds.py`.

BY_ADMIN = "jobheldadmin"
"""Slurm's reason, in small letters, of a job that an administrator holds."""


def leave_others_holds(plan: Plan, jobs: Mapping[str, ObservedJob]) -> None:
    """Drop the releases of jobs that somebody else holds. Must run inside a transaction."""
    actions = list(plan.actions.all())
    for action in actions:
        if action.kind == ActionKind.RELEASE and action.state == ActionState.PLANNED:
            why = held_by_another(action, actions, jobs.get(action.job_id))
            if why:
                expire(action, why)


def held_by_another(release: PlannedAction, actions: Sequence[PlannedAction], job: ObservedJob | None) -> str:
    """Who else holds the job of a release, in words; empty when the hold is ours, or there is none."""
    if job is None or not job.held or job.state != JobState.PENDING:
        return ""
    reason = job.slurm_reason.lower()
    if reason == BY_USER:
        return HELD_BY_USER
    of_stop = is_of_stop(release, actions)
    if reason == BY_ADMIN and of_stop:
        return HELD_BY_ADMIN
    if of_stop and job.slurm_reason == HELD_SINCE_ITS_STOP and _was_put_back_by_another(release, actions):
        return HELD_BY_USER
    return ""


def is_of_stop(release: PlannedAction, actions: Iterable[PlannedAction]) -> bool:
    """Whether a release takes back a stop, and no hold."""
    return not any(
        each.kind == ActionKind.HOLD and each.job_id == release.job_id and each.attempts for each in actions
    )


def _was_put_back_by_another(release: PlannedAction, actions: Sequence[PlannedAction]) -> bool:
    """Whether our only stop of that run found it put back already: somebody had said `scontrol requeuehold`."""
    theirs = [each for each in actions if run_of(each) == run_of(release) and each.attempts]
    if not any(_came_too_late(each) for each in theirs) or any(
        each.kind == ActionKind.RECOVER for each in theirs
    ):
        return False
    others = PlannedAction.objects.filter(
        cluster=release.cluster_id, kind__in=STOP_KINDS, job_id=release.job_id,
        run_start=release.run_start, run_restarts=release.run_restarts, attempts__gt=0,
    )  # fmt: skip
    return others.count() == 1


def _came_too_late(action: PlannedAction) -> bool:
    """Of a second try this says nothing: the first may have worked."""
    first = action.kind == ActionKind.REQUEUE_HOLD and action.attempts == 1
    return first and action.outcome == OutcomeKind.ALREADY


# When jobs that are held until all of their group fit are let go: together, when their plan stops others for them.
#
# Giveway lets them go whatever else happens to it: a cycle of any later worker does so as soon as the partition no
# longer carries out plans, has no policy any more, or a day has passed. A job that its own user holds meanwhile stays
# held.

Jobs = Mapping[str, ObservedJob]


def watch_hold(plan: Plan, jobs: Jobs, facts: PartitionFacts | None) -> str:
    """Why a hold is to be given up, in words; empty when it is not. Must run inside a transaction."""
    for action in plan.actions.all():
        if action.kind == ActionKind.RELEASE and is_held_by_user(jobs.get(action.job_id)):
            expire(action, ALL_HELD_BY_USER)
    if plan.undo_reason:
        return ""
    if facts is None or facts.policy.enforcement == Enforcement.SHADOW or not facts.policy.units:
        return say("plan.not_carried_out")
    if plan.deadline and clock.now() > plan.deadline:
        Plan.objects.filter(pk=plan.pk).update(not_started=True)
        plan.not_started = True
        return say("whole.too_long")
    return ""


def due_to_be_let_go(plans: Collection[Plan]) -> Iterable[tuple[Plan, Plan]]:
    """The holds whose jobs have their turn, each with the plan for which that is so."""
    holds = [plan for plan in plans if plan.kind == PlanKind.WHOLE and not plan.undo_reason]
    for plan in plans if holds else ():
        if plan.kind == PlanKind.PREEMPT and not plan.undo_reason and _stops_now(plan, clock.now()):
            served = set(jobs_served(plan))
            yield from ((hold, plan) for hold in holds if not served.isdisjoint(jobs_served(hold)))


def still_held(plans: Iterable[Plan], jobs: Iterable[ObservedJob]) -> frozenset[str]:
    """The jobs that cannot be put first in line yet, because we hold them."""
    ours = {job_id for plan in plans if plan.kind == PlanKind.WHOLE for job_id in jobs_served(plan)}
    return frozenset(job.id for job in jobs if job.id in ours and job.held) if ours else frozenset()


def _stops_now(plan: Plan, now: datetime) -> bool:
    """Whether the grace time of its victims is over, if there are any."""
    for action in plan.actions.all():
        if action.kind == ActionKind.SIGNAL and action.state in (ActionState.PLANNED, ActionState.EXECUTING):
            return False
        waits = action.kind in STOPPING and action.state == ActionState.PLANNED
        if waits and action.not_before is not None and action.not_before > now:
            return False
    return True
