"""Believing only what is seen: actions and plans move on by the next observation, never by an exit code.

1. An issued action whose effect is seen is verified; an overdue one is planned again, a few times, then failed.
2. A claimed action whose process died (still `executing` when a new cycle holds the lease) is judged the same way; of
   one that only stood still the command may be under way: its effect is waited for as long as a command may take.
3. A plan whose beneficiary runs gets its releases; one that cannot reach that any more is undone: no further stop,
   releases at once, the beneficiary's priority given back.
4. When nothing is left to do, and every victim is accounted for, the plan is over: verified or undone.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from console.core import clock
from console.steering import checkpoints
from console.steering.facts import PartitionFacts, jobs_let_go, run_of
from console.steering.holds import LEFT, held_by_another, leave_others_holds, watch_hold
from console.steering.journal import tell_action, tell_plan
from console.steering.kinds.grow import (
    has_resized,
    hold_for_its_number,
    resize_again,
    runs_larger,
    settle_resizes,
    why_given_up,
)
from console.steering.kinds.swap import is_awaited, is_exchange, where_they_run
from console.steering.lease import Lease
from console.steering.ledger import GOING_ON, TAKING_BACK, request_undo
from console.steering.lifecycle import (
    SENT,
    add_action,
    expire,
    move_action,
    move_plan,
    put_first,
    restore_priority,
)
from console.steering.looking_again import STOPS, may_go_on
from console.steering.models import ActionState, Plan, PlanKind, PlannedAction, PlanState
from console.steering.served import GONE, Tasks, as_seen, jobs_served, label_of, waiting
from console.steering.victims import Following, fates_of, told
from scheduler.model.actions import BY_NICE, REQUEUED, RESIZING, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.plan import Shrinking
from scheduler.model.sentence import Listed, join, say
from scheduler.reconcile.still import at_a_limit, cannot_start

OVERDUE = timedelta(seconds=10)
"""How long an effect may take to be seen before the action is issued again."""
MOST_DOUBLINGS = 5
RECOVERY = timedelta(seconds=5)
"""How soon putting a job back is tried again, each time: Slurm soon forgets a job that has ended (MinJobAge)."""
ATTEMPTS = 3
SURVIVED = timedelta(seconds=2)
"""A job that still runs so long after the checkpoint signal was not ended by it."""
PATIENT = TAKING_BACK
"""Never given up: a victim must not stay held for ever."""
WHOLE_STOPS = frozenset({ActionKind.REQUEUE_HOLD, ActionKind.CANCEL})
FINAL = frozenset({ActionState.VERIFIED, ActionState.EXPIRED, ActionState.FAILED})
NEVER_STOPPED = say("action.never_stopped")
NOT_PUT_BACK = say("action.not_put_back")

Jobs = Mapping[str, ObservedJob]


def verify(
    plans: Sequence[Plan], following: Following, policies: Mapping[str, PartitionFacts], lease: Lease
) -> None:
    """Move every open plan and its actions on, by what is seen. Must run inside a transaction."""
    jobs = following.jobs
    for plan in plans:
        if plan.state != PlanState.EXECUTING:
            continue
        for action in plan.actions.all():
            if action.state in (ActionState.ISSUED, ActionState.EXECUTING):
                _judge(action, jobs.get(action.job_id), lease)
        _watch(plan, following, policies.get(plan.partition))
        _recover_killed(plan, jobs)
        _recover_forgotten(plan, following)
        if plan.kind == PlanKind.GROW or (
            plan.kind == PlanKind.PREEMPT and (plan.undo_reason or plan.started_at)
        ):
            put_first(plan, jobs)
        elif plan.kind == PlanKind.PREEMPT:
            checkpoints.end_grace(plan, jobs)
        if plan.kind == PlanKind.GROW:
            hold_for_its_number(plan, jobs)
        leave_others_holds(plan, jobs)
        _drop_what_is_not_needed(plan)
        if following.settle(plan) and not is_awaited(plan, jobs):
            _finish(plan, jobs)


def _watch(plan: Plan, following: Following, facts: PartitionFacts | None) -> None:
    """Note that whom a plan is for has started, or ask for the plan to be undone."""
    jobs, why = following.jobs, ""
    match plan.kind:
        case PlanKind.PREEMPT:
            watch(plan, jobs_let_go(jobs, following.held), facts)
        case PlanKind.WHOLE:
            why = watch_hold(plan, jobs, facts)
        case PlanKind.GROW:
            why = why_given_up(plan, jobs, facts)
    if why:
        request_undo(plan, why)


def is_seen(action: PlannedAction, job: ObservedJob | None) -> bool:
    """Whether the cluster is in the state that the action wanted. A job that is gone needs nothing more."""
    kind = ActionKind(action.kind)
    if job is None or job.not_understood:
        # How a job looks that is not understood says nothing: wait, or try again.
        return job is None and kind != ActionKind.RECOVER
    if kind == ActionKind.RECOVER:
        return job.state != JobState.COMPLETING
    if kind == ActionKind.SIGNAL:
        return _has_survived(action, job)
    if kind in RESIZING:
        return has_resized(action, job)
    if kind in WHOLE_STOPS:
        same_run = (job.start or 0, job.restarts) == (action.run_start, action.run_restarts)
        return not same_run and job.state != JobState.COMPLETING
    if job.state != JobState.PENDING:
        return kind != ActionKind.RELEASE or job.state == JobState.RUNNING
    return _is_seen_waiting(action, kind, job)


def _is_seen_waiting(action: PlannedAction, kind: ActionKind, job: ObservedJob) -> bool:
    if kind == ActionKind.PRIORITISE:
        # Who holds the job takes its place in line away: that is not to be waited for, nor done again.
        return job.held or job.priority >= int(action.value)
    if kind == ActionKind.RESTORE_PRIORITY:
        return job.priority < int(action.value)
    return job.held if kind == ActionKind.HOLD else _is_let_go_on(action, job)


def _is_let_go_on(release: PlannedAction, job: ObservedJob) -> bool:
    """A job that goes on first is seen in its place in line; one that somebody else has let go on has its own.

    Who holds a job that was let go is somebody else: that is not to be taken back.
    """
    if job.held:
        return bool(held_by_another(release, list(release.plan.actions.all()), job))
    fixed = release.value and not release.value.startswith(BY_NICE)
    first = fixed and release.outcome != OutcomeKind.ALREADY
    return not first or job.priority >= int(release.value)


def _has_survived(signal: PlannedAction, job: ObservedJob) -> bool:
    """A script that does not catch the signal is ended by it within a moment: only then is its effect known.

    Of one whose sender died nobody knows whether it was sent: it is sent again, rather twice than never.
    """
    if signal.state == ActionState.EXECUTING or job.state == JobState.COMPLETING:
        return False
    return signal.issued_at is None or abs(clock.now() - signal.issued_at) >= SURVIVED


def _judge(action: PlannedAction, job: ObservedJob | None, lease: Lease) -> None:
    now = clock.now()
    if is_seen(action, job):
        if move_action(action, ActionState.VERIFIED, verified_at=now, detail="" if job else LEFT):
            tell_action(action, "action.verified")
        return
    if job is not None and job.state == JobState.COMPLETING:
        return  # It is on its way; ending may take as long as the site's epilog does.
    orphan = action.state == ActionState.EXECUTING
    if lease.may_still_come(action.issued_at) if orphan else not _is_overdue(action, now):
        return
    if action.attempts >= ATTEMPTS and action.kind not in PATIENT:
        if move_action(action, ActionState.FAILED, detail=say("action.in_vain", n=action.attempts)):
            tell_action(action, "action.failed", reason=action.detail)
            if action.kind == ActionKind.RESIZE:
                return
            request_undo(action.plan, say(f"{action.kind}.in_vain", job=action.job_id, why=action.detail))
    else:
        move_action(action, ActionState.PLANNED)


def _is_overdue(action: PlannedAction, now: datetime) -> bool:
    """Each attempt gets twice the time of the one before, up to a limit; but putting a job back is urgent."""
    patience = OVERDUE * 2 ** min(max(action.attempts - 1, 0), MOST_DOUBLINGS)
    if action.kind == ActionKind.RECOVER:
        patience = RECOVERY
    # A moment in the future was written by a clock that has been put back since, or by another machine's.
    return action.issued_at is None or abs(now - action.issued_at) > patience


def _recover_killed(plan: Plan, jobs: Jobs) -> None:
    """A victim that ended between its checkpoint signal and its stop may have been ended by the signal: its script does
    not catch it. Then it must go back into the queue like any other victim; the adapter finds out which it was."""
    actions = list(plan.actions.all())
    signalled = {run_of(a) for a in actions if a.kind == ActionKind.SIGNAL and a.state in SENT}
    known = {run_of(a) for a in actions if a.kind == ActionKind.RECOVER}
    for stop in actions:
        if _was_not_put_back(stop) and stop.job_id not in jobs and run_of(stop) in signalled - known:
            expire(stop, say("action.ended_in_grace"))
            signal = next(a for a in actions if a.kind == ActionKind.SIGNAL and run_of(a) == run_of(stop))
            _put_back(plan, stop, actions, signal.value)


def _recover_forgotten(plan: Plan, following: Following) -> None:
    """A victim whose stop was carried out, and that has ended in just the run that was stopped: the cluster has
    forgotten that it was to be put back (slurmctld answers before it writes down). It must go back like the others."""
    actions = list(plan.actions.all())
    known = {run_of(a) for a in actions if a.kind == ActionKind.RECOVER}
    for stop in actions:
        asked_for = stop.kind == ActionKind.REQUEUE_HOLD and stop.outcome == OutcomeKind.DONE
        if asked_for and run_of(stop) not in known and following.ended_in(run_of(stop)):
            _put_back(plan, stop, actions, REQUEUED)


def _put_back(plan: Plan, stop: PlannedAction, actions: Sequence[PlannedAction], value: str) -> None:
    """Have the job of a stop put back into the queue after its end, and let go on from there."""
    add_action(plan, stop, ActionKind.RECOVER, order=3, value=value)
    resize_again(plan, stop)
    releases = [a for a in actions if a.kind == ActionKind.RELEASE and run_of(a) == run_of(stop)]
    if all(a.state in FINAL for a in releases):
        add_action(plan, stop, ActionKind.RELEASE, order=4, value=releases[0].value if releases else "")


def _was_not_put_back(stop: PlannedAction) -> bool:
    """Whether nothing came of a stop, as far as is known: one that found the job ending already has done nothing."""
    undone = stop.state in (ActionState.PLANNED, ActionState.EXPIRED) or stop.outcome == OutcomeKind.ALREADY
    return stop.kind == ActionKind.REQUEUE_HOLD and undone


def _drop_what_is_not_needed(plan: Plan) -> None:
    """Expire the actions that have lost their reason, and add what undoing needs."""
    if not plan.started_at and not plan.undo_reason:
        return
    why = plan.undo_reason or say("plan.runs_already", job=label_of(plan))
    actions = list(plan.actions.all())
    for action in actions:
        if action.kind not in GOING_ON and (action.kind != ActionKind.HOLD or plan.kind != PlanKind.GROW):
            expire(action, why)
    settle_resizes(plan)
    actions = list(plan.actions.all())
    for action in actions:
        if action.state == ActionState.PLANNED and action.kind == ActionKind.RELEASE:
            _expire_idle_release(action, actions)
    if plan.undo_reason and plan.kind == PlanKind.PREEMPT:
        restore_priority(plan)


def _expire_idle_release(release: PlannedAction, actions: Sequence[PlannedAction]) -> None:
    """A release has nothing to do when the job was never stopped (or held) by this plan.

    A signal whose effect is not known yet counts: it may turn out to have ended the job, which is then recovered.
    """
    holds = {ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.RECOVER, ActionKind.HOLD}
    theirs = [a for a in actions if a.job_id == release.job_id and a.kind in holds]
    if all(a.state in FINAL for a in theirs):
        theirs = [a for a in theirs if a.kind != ActionKind.SIGNAL]
    if all(a.state in (ActionState.EXPIRED, ActionState.FAILED) for a in theirs):
        recovered = any(a.kind == ActionKind.RECOVER for a in theirs)
        move_action(release, ActionState.EXPIRED, detail=NOT_PUT_BACK if recovered else NEVER_STOPPED)


def _finish(plan: Plan, jobs: Jobs) -> None:
    """Close the plan when nothing is left to do."""
    if not (plan.started_at or plan.undo_reason):
        return
    if any(action.state not in FINAL for action in plan.actions.all()):
        return
    done = plan.kind in (PlanKind.QUOTA, PlanKind.WHOLE) or not plan.undo_reason
    state = PlanState.VERIFIED if done else PlanState.UNDONE
    victims = told(plan)
    runs = runs_larger(plan) if plan.kind == PlanKind.GROW else say("plan.runs", job=label_of(plan))
    landed = where_they_run(plan, jobs) if is_exchange(plan) and not plan.undo_reason else ""
    outcome = join(plan.undo_reason or runs, victims, landed)
    if move_plan(plan, state, ended_at=clock.now(), outcome=outcome):
        tell_plan(
            plan,
            f"plan.{state.value}",
            before={"state": "executing"},
            after={"state": state.value, "victims": fates_of(plan)},
            reason=outcome,
        )


# Watching those for whom room is made: they run, or they cannot get there any more and the plan is taken back.

AT_ONCE = timedelta(minutes=10)
"""How far apart two plans are made whose beneficiaries may take each other's room."""
TO_BE_TOLD = timedelta(seconds=10)
"""Slurm looks at who waits when a job has ended; its reason may have been that of a moment before."""

JobsById = Mapping[str, ObservedJob]


def watch(plan: Plan, jobs: JobsById, facts: PartitionFacts | None) -> None:
    """Note that the beneficiary has started, or ask for the plan to be undone."""
    if plan.started_at or plan.undo_reason:
        return
    if plan.tasks:
        _watch_tasks(plan, jobs, facts)
    else:
        _watch_job(plan, jobs.get(plan.job_id), facts)


def _watch_job(plan: Plan, job: ObservedJob | None, facts: PartitionFacts | None) -> None:
    if job is not None and job.state != JobState.PENDING:
        _note_started(plan)
        if elsewhere := _started_elsewhere(plan, job.alloc.keys()):
            request_undo(plan, elsewhere)
    elif job is None:
        request_undo(plan, say("plan.not_seen_running", job=plan.job_id))
    else:
        _watch_waiting(plan, [job], facts)


def _watch_tasks(plan: Plan, jobs: JobsById, facts: PartitionFacts | None) -> None:
    """The same for several tasks of an array: the plan has done its work when none of them waits any more.

    Who has left the queue needs no room: nobody is stopped for it (`LookAgain.needless`), and the others go on.
    """
    _note_tasks(plan, as_seen(plan, jobs))
    gone = [task["job"] for task in plan.tasks if task["seen"] == GONE]
    left = [jobs[job_id] for job_id in waiting(plan)]
    if len(gone) == len(plan.tasks):
        request_undo(plan, say("plan.not_seen_running", job=label_of(plan)))
    elif not left:
        _note_started(plan)
        nodes = {node for job_id in jobs_served(plan) if job_id in jobs for node in jobs[job_id].alloc}
        if elsewhere := _started_elsewhere(plan, nodes):
            request_undo(plan, elsewhere)
    else:
        _watch_waiting(plan, left, facts)


def _note_tasks(plan: Plan, tasks: Tasks) -> None:
    """Keep what is seen of the tasks: one that has started may be over before the others start."""
    if tasks != plan.tasks:
        Plan.objects.filter(pk=plan.pk).update(tasks=tasks)
        plan.tasks = tasks


def _note_started(plan: Plan) -> None:
    """The beneficiary runs: the moment is kept."""
    plan.started_at = clock.now()
    Plan.objects.filter(pk=plan.pk).update(started_at=plan.started_at)


def _watch_waiting(plan: Plan, left: Sequence[ObservedJob], facts: PartitionFacts | None) -> None:
    """Whether those who still wait can get there."""
    if facts is None or not may_go_on(plan, facts):
        request_undo(plan, say("plan.not_enforced"))
    elif why_not := next(filter(None, map(cannot_start, left)), ""):
        request_undo(plan, why_not)
    elif facts.paused and _stops_are_due(plan):
        request_undo(plan, say("plan.none_to_stop", why=facts.paused))
    elif late := _too_late(plan, left):
        request_undo(plan, late)
        Plan.objects.filter(pk=plan.pk).update(not_started=_was_tried(plan))


def _too_late(plan: Plan, left: Sequence[ObservedJob]) -> str:
    """Why those who wait will not start in the room that was made, in words: the deadline is over, or Slurm says that a
    limit is reached although there is room; then nobody is kept from it any longer."""
    if plan.deadline and clock.now() > plan.deadline:
        return say("plan.too_late", job=left[0].id)
    limits = [*filter(None, map(at_a_limit, left))]
    return limits[0] if len(limits) == len(left) and _has_been_made(plan) else ""


def _has_been_made(plan: Plan) -> bool:
    """Whether all victims have left for long enough that what Slurm says of those who wait is of later."""
    stops = [a for a in plan.actions.all() if a.kind in STOPS and a.state != ActionState.EXPIRED]
    seen = [a.verified_at for a in stops if a.state == ActionState.VERIFIED and a.verified_at]
    return bool(seen) and len(seen) == len(stops) and clock.now() - max(seen) > TO_BE_TOLD


def _was_tried(plan: Plan) -> bool:
    """Whether anybody was disturbed for it, or had to be: a plan that came to nothing says nothing about its job."""
    return not plan.victims or any(
        action.issued_at is not None and (action.kind in STOPS or action.kind == ActionKind.SIGNAL)
        for action in plan.actions.all()
    )


def _started_elsewhere(plan: Plan, nodes: Collection[str]) -> str:
    """The words for a beneficiary that runs (on `nodes`) on none of those on which room was made; empty for the others.

    Of the room that its plan made Slurm gives it whichever part it likes, and of beneficiaries that fit into each
    other's room each whichever it likes.
    """
    if not nodes or not plan.placement or not _left_by_victims(plan).isdisjoint(nodes):
        return ""
    others = Plan.objects.filter(
        cluster=plan.cluster_id, kind=PlanKind.PREEMPT, created_at__gte=plan.created_at - AT_ONCE
    ).exclude(state__in=(PlanState.PROPOSED, PlanState.REJECTED))
    if any(
        not placement.keys().isdisjoint(nodes) for placement in others.values_list("placement", flat=True)
    ):
        return ""
    return say("plan.elsewhere", job=label_of(plan), nodes=Listed(sorted(nodes)))


def _left_by_victims(plan: Plan) -> set[str]:
    """The nodes on which room was made: those meant for the beneficiary, and of a victim that starts again on fewer
    nodes also those that it is to keep."""
    ways = STOPS | {ActionKind.RECOVER}
    stopped = {action.job_id for action in plan.actions.all() if action.kind in ways and action.attempts}
    left = set(plan.placement)
    for victim in plan.victims:
        if victim.get("by") == Shrinking.RESTART and victim["job"] in stopped:
            left.update(victim["nodes"], victim["keeps"])
    return left


def _stops_are_due(plan: Plan) -> bool:
    """Whether some victim has not been stopped yet. When all have, the room may as well be used."""
    return any(action.kind in STOPS and action.state == ActionState.PLANNED for action in plan.actions.all())
