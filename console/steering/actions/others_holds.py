"""Holds that somebody else has put on a job which a plan holds: they are not ours to take back.

A job that its user or an administrator holds when its turn comes stays held; its release is dropped. What can be told
apart is in `scheduler/adapters/slurm/holds.py`.
"""

from collections.abc import Iterable, Mapping, Sequence

from console.steering.actions.orphaned_holds import HELD_SINCE_ITS_STOP
from console.steering.actions.undoing import expire
from console.steering.decisions.facts import run_of
from console.steering.decisions.held_together import HELD_BY_USER as BY_USER
from console.steering.models import STOP_KINDS, ActionState, Plan, PlannedAction
from scheduler.model.actions import HELD_BY_ADMIN, HELD_BY_USER, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob

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
