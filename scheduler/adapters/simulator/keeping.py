"""Nodes that are kept for a waiting job, as Slurm's adapter does it with reservations that end by themselves."""

from scheduler.adapters.simulator.jobs import Afterwards, SimJob
from scheduler.adapters.simulator.state import SimKept, SimState
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind, is_for_next, kept_of
from scheduler.model.jobs import JobState

DONE = ActionOutcome(OutcomeKind.DONE)


def keep_or_let_go(state: SimState, job: SimJob | None, action: Action) -> ActionOutcome:
    """Either of the two actions; nothing is kept any more also for a job that is not there."""
    if action.kind is ActionKind.KEEP:
        return _keep(state, job, action.value)
    if action.run.job_id not in state.kept:
        return ActionOutcome(OutcomeKind.ALREADY)
    del state.kept[action.run.job_id]
    state.changed = True
    return DONE


def end_overdue(state: SimState) -> None:
    """What is kept until now is not kept any more."""
    over = [job_id for job_id, kept in state.kept.items() if kept.until <= state.now]
    for job_id in over:
        del state.kept[job_id]
    state.changed = state.changed or bool(over)


def _keep(state: SimState, job: SimJob | None, value: str) -> ActionOutcome:
    try:
        until, nodes = kept_of(value)
    except ValueError as error:
        return ActionOutcome(OutcomeKind.REFUSED, str(error))
    if job is None:
        return ActionOutcome(OutcomeKind.GONE, "Invalid job id specified")
    ahead = is_for_next(value) and job.state is JobState.RUNNING
    if job.state is not JobState.PENDING and not ahead:
        return _not_waiting(job)
    if not state.nodes.keys() >= set(nodes):
        return ActionOutcome(OutcomeKind.REFUSED, "Invalid node name specified")
    if until <= state.now:
        return ActionOutcome(OutcomeKind.REFUSED, "Start time cannot be after end time")
    of_others = {name for other, kept in state.kept.items() if other != job.id for name in kept.nodes}
    if of_others & set(nodes):
        words = "Requested reservation overlaps with another reservation"
        return ActionOutcome(OutcomeKind.UNKNOWN, words)
    state.kept[job.id] = SimKept(nodes, until, inside=not ahead)
    state.changed = True
    return DONE


def _not_waiting(job: SimJob) -> ActionOutcome:
    if job.state is JobState.RUNNING:
        return ActionOutcome(OutcomeKind.ALREADY, "it runs already")
    if job.afterwards is Afterwards.GONE:
        return ActionOutcome(OutcomeKind.GONE, "Job/step already completing or completed")
    return ActionOutcome(OutcomeKind.UNKNOWN, "the job is still completing; try again when it is pending")
