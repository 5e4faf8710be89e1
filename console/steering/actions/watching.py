"""Watching those for whom room is made: they run, or they cannot get there any more and the plan is taken back."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from console.core import clock
from console.steering.decisions.facts import PartitionFacts
from console.steering.decisions.looking_again import STOPS, may_go_on
from console.steering.ledger import request_undo
from console.steering.models import ActionState, Plan, PlanKind, PlanState
from console.steering.served import GONE, Tasks, as_seen, jobs_served, label_of, waiting
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.plan import Shrinking
from scheduler.model.sentence import Listed, say
from scheduler.reconcile.still import at_a_limit, cannot_start

AT_ONCE = timedelta(minutes=10)
"""How far apart two plans are made whose beneficiaries may take each other's room."""
TO_BE_TOLD = timedelta(seconds=10)
"""Slurm looks at who waits when a job has ended; its reason may have been that of a moment before."""

Jobs = Mapping[str, ObservedJob]


def watch(plan: Plan, jobs: Jobs, facts: PartitionFacts | None) -> None:
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


def _watch_tasks(plan: Plan, jobs: Jobs, facts: PartitionFacts | None) -> None:
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
