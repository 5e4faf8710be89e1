"""Actions on a simulated cluster: each answers as Slurm would, and as the port's contract wants it."""

from scheduler.adapters.simulator import lifecycle
from scheduler.adapters.simulator.faults import Effect
from scheduler.adapters.simulator.jobs import Afterwards, Held, SimJob
from scheduler.adapters.simulator.state import ClusterState, What
from scheduler.model.actions import FIRST_ALLOW, STOPPING, Action, ActionKind, Outcome, OutcomeKind
from scheduler.model.jobs import JobState

HIGHEST_PRIORITY = 2**32 - 3
"""Slurm keeps the two numbers above for itself."""
DONE = Outcome(OutcomeKind.DONE)
ALREADY = Outcome(OutcomeKind.ALREADY)


def act(state: ClusterState, action: Action) -> Outcome:
    """Carry out one action, or let it be struck by a scripted fault."""
    if state.faults.unavailable:
        return Outcome(OutcomeKind.UNKNOWN, state.faults.unavailable)
    fault = state.faults.strike(action)
    if fault is None:
        return _carry_out(state, action)
    if fault.effect is Effect.REFUSE:
        return _refused(fault.words or "Access/permission denied")
    if fault.effect is Effect.LOSE_ANSWER:
        _carry_out(state, action)
    return Outcome(OutcomeKind.UNKNOWN, fault.words or "Socket timed out on send/recv operation")


def _carry_out(state: ClusterState, action: Action) -> Outcome:
    # Slurm's adapter looks before it acts: what half a table lacks it cannot see then either.
    hidden = action.run.job_id in state.faults.hidden_jobs
    job = None if hidden else state.jobs.get(action.run.job_id)
    if action.kind is ActionKind.RECOVER:
        return _recover(state, job, action)
    if job is None:
        return _gone("Invalid job id specified")
    if action.kind is ActionKind.ALLOW_REQUEUE:
        outcome = _allow_requeue(state, job, action)
    else:
        outcome = _stopping(state, job, action) if action.kind in STOPPING else _waiting(state, job, action)
    if outcome is DONE and action.comment:
        job.admin_comment = action.comment
    return outcome


def _recover(state: ClusterState, job: SimJob | None, action: Action) -> Outcome:
    killed = state.killed.get(action.run.job_id)
    if job is None and killed is not None and killed.run == action.run:
        lifecycle.recover(state, killed)
        return DONE
    if job is None:
        return _gone("the job ended, but not by the signal")
    if job.state is JobState.COMPLETING:
        return Outcome(OutcomeKind.UNKNOWN, "the job is still completing")
    if _was_requeued_from(job, action):
        return ALREADY
    return _gone(f"that run is over; the job is now run {job.run}")


def _stopping(state: ClusterState, job: SimJob, action: Action) -> Outcome:
    if job.run != action.run:
        if action.kind is ActionKind.REQUEUE_HOLD and _was_requeued_from(job, action):
            return ALREADY
        return _gone(f"that run is over; the job is now run {job.run}")
    if job.state is JobState.COMPLETING:
        return (
            ALREADY if action.kind is ActionKind.CANCEL else _gone("Job/step already completing or completed")
        )
    if action.kind is ActionKind.CANCEL:
        lifecycle.cancel(state, job)
        return DONE
    if job.state is JobState.PENDING:
        return _gone("Job is pending execution")
    if action.kind is ActionKind.SIGNAL:
        return _signal(state, job, action.value)
    if action.value == FIRST_ALLOW and not job.spec.requeue:
        lifecycle.set_requeue(state, job, requeue=True)
    return _requeue_hold(state, job)


def _was_requeued_from(job: SimJob, action: Action) -> bool:
    """Whether the job is on its way back to the queue, or there, held, since just the run that is meant."""
    held = job.held is Held.REQUEUED or job.afterwards is Afterwards.REQUEUED_HELD
    return held and job.restarts == action.run.restarts + 1


def _signal(state: ClusterState, job: SimJob, name: str) -> Outcome:
    if not name:
        return _refused("Invalid signal specified")
    if not job.spec.batch:
        return _refused("the job has no batch script that could be signalled")
    return DONE if lifecycle.signal(state, job) else ALREADY


def _requeue_hold(state: ClusterState, job: SimJob) -> Outcome:
    if not job.spec.batch:
        return _refused("Only batch jobs are accepted or processed")
    if not job.spec.requeue:
        return _refused("Requested operation is presently disabled")
    lifecycle.end(state, job, What.STOPPED, ok=False)
    return DONE


def _allow_requeue(state: ClusterState, job: SimJob, action: Action) -> Outcome:
    if job.run != action.run:
        return _gone(f"that run is over; the job is now run {job.run}")
    if job.state is JobState.COMPLETING:
        return _gone("Job/step already completing or completed")
    if job.spec.requeue:
        return ALREADY
    lifecycle.set_requeue(state, job, requeue=True)
    return DONE


def _waiting(state: ClusterState, job: SimJob, action: Action) -> Outcome:
    """Actions on pending jobs. One that runs has been released and got its turn; a hold comes too late."""
    if job.state is JobState.COMPLETING:
        return _completing(job, action.kind)
    if job.state is JobState.RUNNING:
        return _gone("Job is no longer pending execution") if action.kind is ActionKind.HOLD else ALREADY
    match action.kind:
        case ActionKind.HOLD:
            return _hold(state, job)
        case ActionKind.RELEASE:
            return _release(state, job, action.value)
        case ActionKind.PRIORITISE:
            return _prioritise(state, job, action.value)
        case _:
            return _restore_priority(state, job)


def _completing(job: SimJob, kind: ActionKind) -> Outcome:
    if job.afterwards is Afterwards.GONE:
        return _gone("Job/step already completing or completed")
    if kind is ActionKind.HOLD and job.afterwards is Afterwards.REQUEUED_HELD:
        return ALREADY
    # Slurm silently loses such updates while a requeued job is completing, so nothing can be promised.
    return Outcome(OutcomeKind.UNKNOWN, "the job is still completing; try again when it is pending")


def _hold(state: ClusterState, job: SimJob) -> Outcome:
    if job.held is not Held.NO:
        return ALREADY
    lifecycle.hold(state, job, Held.ADMIN)
    return DONE


def _release(state: ClusterState, job: SimJob, priority: str) -> Outcome:
    if priority and not _is_priority(priority):
        return _refused(f"Invalid priority {priority!r}; a number from 1 to {HIGHEST_PRIORITY} is wanted")
    delayed = job.restarts > 0 and job.begin > state.now
    if job.held is Held.NO and not delayed:
        return ALREADY
    # A time that the user has chosen stays; only Slurm's own delay after a requeue is taken off.
    lifecycle.release(state, job, clear_begin=delayed)
    job.priority = int(priority) if priority else job.priority
    return DONE


def _prioritise(state: ClusterState, job: SimJob, value: str) -> Outcome:
    if not _is_priority(value):
        return _refused(f"Invalid priority {value!r}; a number from 1 to {HIGHEST_PRIORITY} is wanted")
    return _set_priority(state, job, int(value))


def _is_priority(value: str) -> bool:
    return value.isascii() and value.isdecimal() and 0 < int(value) <= HIGHEST_PRIORITY


def _restore_priority(state: ClusterState, job: SimJob) -> Outcome:
    # A held job gets its natural priority when it is released.
    return ALREADY if job.held is not Held.NO else _set_priority(state, job, state.behaviour.base_priority)


def _set_priority(state: ClusterState, job: SimJob, priority: int) -> Outcome:
    if job.held is not Held.NO:
        return _refused("Job is in held state; release it first")
    if job.priority == priority:
        return ALREADY
    job.priority = priority
    state.changed = True
    return DONE


def _gone(words: str) -> Outcome:
    return Outcome(OutcomeKind.GONE, words)


def _refused(words: str) -> Outcome:
    return Outcome(OutcomeKind.REFUSED, words)
