"""Actions on a simulated cluster: each answers as Slurm would, and as the port's contract wants it."""

from dataclasses import replace

from scheduler.adapters.simulator import lifecycle
from scheduler.adapters.simulator.faults import FaultEffect
from scheduler.adapters.simulator.jobs import Afterwards, HeldBy, SimJob
from scheduler.adapters.simulator.keeping import keep_or_let_go
from scheduler.adapters.simulator.placing import begin
from scheduler.adapters.simulator.state import SimState, What
from scheduler.model.actions import (
    BY_NICE,
    FIRST_ALLOW,
    HELD_BY_ADMIN,
    HELD_BY_USER,
    MOST_NICE,
    NOT_HELD,
    RESIZING,
    STOPPING,
    Action,
    ActionKind,
    ActionOutcome,
    OutcomeKind,
)
from scheduler.model.jobs import JobState
from scheduler.model.sentence import Listed, say

# --- A simulated job with fewer nodes, or others: between a requeue and a release, or while it runs ---


PLAIN = frozenset({"cpu", "mem"})
DONE = ActionOutcome(OutcomeKind.DONE)
ALREADY = ActionOutcome(OutcomeKind.ALREADY)


def resize(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
    """Carry out RESIZE or SHRINK."""
    if action.kind is ActionKind.SHRINK:
        return _shrink(state, job, action)
    return _too_late(job, action) or _restart_with(state, job, action.value)


def _too_late(job: SimJob, action: Action) -> ActionOutcome | None:
    if job.state is JobState.COMPLETING and job.afterwards is Afterwards.GONE:
        return ActionOutcome(OutcomeKind.GONE, "Job/step already completing or completed")
    if job.state is JobState.COMPLETING:
        return ActionOutcome(OutcomeKind.UNKNOWN, "the job is still completing; try again when it is pending")
    if job.state is JobState.RUNNING or job.restarts != action.run.restarts:
        return _over(job)
    return None


def _restart_with(state: SimState, job: SimJob, nodes: str) -> ActionOutcome:
    if not (nodes.isascii() and nodes.isdecimal() and int(nodes)):
        return _refused("a number of nodes is a number from 1 to 99999")
    if not job.held or job.restarts == 0:
        return _refused(say("resize.not_held"))
    request = job.spec.request
    if request.spread:
        return _refused(say("resize.no_nodes", tasks=int(request.spread.get("cpu", 0))))
    if request.nodes == int(nodes):
        return ALREADY
    job.spec = replace(job.spec, request=replace(request, nodes=int(nodes)))
    state.changed = True
    return DONE


def _shrink(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
    if job.state is not JobState.RUNNING or job.run != action.run:
        return _over(job)
    keeps = set(action.value.split(","))
    if keeps == job.alloc.keys():
        return ALREADY
    if not keeps < job.alloc.keys():
        return _refused(say("resize.nodes", nodes=Listed(sorted(job.alloc))))
    if not job.spec.batch:
        return _refused(say("resize.no_script"))
    if any(not share.keys() <= PLAIN for share in job.alloc.values()):
        return _refused(say("resize.gres"))
    first = next(name for name in state.nodes if name in job.alloc)
    if first not in keeps:
        return _refused(say("resize.first_node", node=first))
    job.alloc = {name: share for name, share in job.alloc.items() if name in keeps}
    state.note(What.SHRUNK, job)
    state.changed = True
    return DONE


def _over(job: SimJob) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.GONE, f"that run is over; the job is now run {job.run}")


def _refused(why: str) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.REFUSED, why)


HIGHEST_PRIORITY = 2**32 - 3
"""Slurm keeps the two numbers above for itself."""
DONE_ACTING = ActionOutcome(OutcomeKind.DONE)
ALREADY_ACTING = ActionOutcome(OutcomeKind.ALREADY)


def act(state: SimState, action: Action) -> ActionOutcome:
    """Carry out one action, or let it be struck by a scripted fault."""
    if state.faults.unavailable:
        return ActionOutcome(OutcomeKind.UNKNOWN, state.faults.unavailable)
    fault = state.faults.strike(action)
    if fault is None:
        return _carry_out(state, action)
    if fault.effect is FaultEffect.REFUSE:
        return _refused_acting(fault.words or "Access/permission denied")
    if fault.effect is FaultEffect.LOSE_ANSWER:
        _carry_out(state, action)
    return ActionOutcome(OutcomeKind.UNKNOWN, fault.words or "Socket timed out on send/recv operation")


def _carry_out(state: SimState, action: Action) -> ActionOutcome:
    # Slurm's adapter looks before it acts: what half a table lacks it cannot see then either.
    hidden = action.run.job_id in state.faults.hidden_jobs
    job = None if hidden else state.jobs.get(action.run.job_id)
    if action.kind is ActionKind.RECOVER:
        return _recover(state, job, action)
    if action.kind in {ActionKind.KEEP, ActionKind.LET_GO}:
        return keep_or_let_go(state, job, action)
    if job is None:
        return _gone("Invalid job id specified")
    if action.kind is ActionKind.ALLOW_REQUEUE:
        outcome = _allow_requeue(state, job, action)
    elif action.kind in RESIZING:
        outcome = resize(state, job, action)
    else:
        outcome = _stopping(state, job, action) if action.kind in STOPPING else _waiting(state, job, action)
    if outcome.kind is OutcomeKind.DONE and action.comment:
        job.admin_comment = action.comment
    return outcome


def _recover(state: SimState, job: SimJob | None, action: Action) -> ActionOutcome:
    killed = state.killed.get(action.run.job_id)
    if job is None and killed is not None and killed.run == action.run:
        lifecycle.recover(state, killed)
        return DONE_ACTING
    if job is None:
        return _gone("the job ended, but not by the signal")
    if job.state is JobState.COMPLETING:
        return ActionOutcome(OutcomeKind.UNKNOWN, "the job is still completing")
    if _was_requeued_from(job, action):
        return ALREADY_ACTING
    return _gone(f"that run is over; the job is now run {job.run}")


def _stopping(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
    if job.run != action.run:
        if action.kind is ActionKind.REQUEUE_HOLD and _is_back(job, action):
            return ALREADY_ACTING
        return _gone(f"that run is over; the job is now run {job.run}")
    if job.state is JobState.COMPLETING:
        return (
            ALREADY_ACTING
            if action.kind is ActionKind.CANCEL
            else _gone("Job/step already completing or completed")
        )
    if action.kind is ActionKind.CANCEL:
        lifecycle.cancel(state, job)
        return DONE_ACTING
    if job.state is JobState.PENDING:
        return _gone("Job is pending execution")
    if action.kind is ActionKind.SIGNAL:
        return _signal(state, job, action.value)
    if action.value == FIRST_ALLOW and not job.spec.requeue:
        lifecycle.set_requeue(state, job, requeue=True)
    return _requeue(state, job, What.REQUEUED if action.value == NOT_HELD else What.STOPPED)


def _is_back(job: SimJob, action: Action) -> bool:
    """Whether what a stop wants is so already."""
    if action.value != NOT_HELD:
        return _was_requeued_from(job, action)
    back = job.state is JobState.PENDING or job.afterwards is Afterwards.REQUEUED
    return back and job.restarts == action.run.restarts + 1


def _was_requeued_from(job: SimJob, action: Action) -> bool:
    """Whether the job is on its way back to the queue, or there, held, since just the run that is meant."""
    held = job.held is HeldBy.REQUEUED or job.afterwards is Afterwards.REQUEUED_HELD
    return held and job.restarts == action.run.restarts + 1


def _signal(state: SimState, job: SimJob, name: str) -> ActionOutcome:
    if not name:
        return _refused_acting("Invalid signal specified")
    if not job.spec.batch:
        return _refused_acting("the job has no batch script that could be signalled")
    return DONE_ACTING if lifecycle.signal(state, job) else ALREADY_ACTING


def _requeue(state: SimState, job: SimJob, what: What) -> ActionOutcome:
    if not job.spec.batch:
        return _refused_acting("Only batch jobs are accepted or processed")
    if not job.spec.requeue:
        return _refused_acting("Requested operation is presently disabled")
    lifecycle.end(state, job, what, ok=False)
    return DONE_ACTING


def _allow_requeue(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
    if job.run != action.run:
        return _gone(f"that run is over; the job is now run {job.run}")
    if job.state is JobState.COMPLETING:
        return _gone("Job/step already completing or completed")
    if job.spec.requeue:
        return ALREADY_ACTING
    lifecycle.set_requeue(state, job, requeue=True)
    return DONE_ACTING


def _waiting(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
    """Actions on pending jobs. One that runs has been released and got its turn; a hold comes too late."""
    if job.state is JobState.COMPLETING:
        return _completing(job, action.kind)
    if job.state is JobState.RUNNING:
        return (
            _gone("Job is no longer pending execution") if action.kind is ActionKind.HOLD else ALREADY_ACTING
        )
    match action.kind:
        case ActionKind.HOLD:
            return _hold(state, job)
        case ActionKind.RELEASE:
            return _release(state, job, action)
        case ActionKind.PRIORITISE:
            return _prioritise(state, job, action.value)
        case ActionKind.PLACE:
            return _place(state, job, action.value)
        case ActionKind.BEGIN:
            return begin(state, job, action.value)
        case _:
            return _restore_priority(state, job)


def _completing(job: SimJob, kind: ActionKind) -> ActionOutcome:
    if job.afterwards is Afterwards.GONE:
        return _gone("Job/step already completing or completed")
    if kind is ActionKind.HOLD and job.afterwards is Afterwards.REQUEUED_HELD:
        return ALREADY_ACTING
    # Slurm silently loses such updates while a requeued job is completing, so nothing can be promised.
    return ActionOutcome(OutcomeKind.UNKNOWN, "the job is still completing; try again when it is pending")


def _hold(state: SimState, job: SimJob) -> ActionOutcome:
    if job.held is not HeldBy.NO:
        return ALREADY_ACTING
    lifecycle.hold(state, job, HeldBy.ADMIN)
    return DONE_ACTING


def _release(state: SimState, job: SimJob, action: Action) -> ActionOutcome:
    by_nice = action.value.startswith(BY_NICE)
    priority = action.value.removeprefix(BY_NICE)
    if priority and not _is_priority(priority):
        return _refused_acting(
            f"Invalid priority {priority!r}; a number from 1 to {HIGHEST_PRIORITY} is wanted"
        )
    if job.held is HeldBy.USER:
        return _refused_acting(HELD_BY_USER)
    if job.held is HeldBy.ADMIN and action.of_stop:
        return _refused_acting(HELD_BY_ADMIN)
    latest = job.submit + state.behaviour.requeue_delay_s
    delayed = job.restarts > 0 and state.now < job.begin <= latest
    if job.held is HeldBy.NO and not delayed:
        return ALREADY_ACTING
    # A time that somebody has chosen stays; only Slurm's own delay after a requeue is taken off.
    lifecycle.release(state, job, clear_begin=delayed)
    if by_nice:
        job.nice = job.priority + job.nice - int(priority)
        lifecycle.compute(state, job)
    elif priority:
        _fix(job, int(priority))
    return DONE_ACTING


def _prioritise(state: SimState, job: SimJob, value: str) -> ActionOutcome:
    if not _is_priority(value):
        return _refused_acting(f"Invalid priority {value!r}; a number from 1 to {HIGHEST_PRIORITY} is wanted")
    if job.held is not HeldBy.NO:
        return _refused_acting("Job is in held state; release it first")
    if job.priority == int(value):
        return ALREADY_ACTING
    _fix(job, int(value))
    state.changed = True
    return DONE_ACTING


def _fix(job: SimJob, priority: int) -> None:
    """From now on the priority stands whatever the nice is; that is put back to 0, as Slurm does."""
    job.priority, job.nice, job.fixed = priority, 0, True


def _place(state: SimState, job: SimJob, value: str) -> ActionOutcome:
    number = value.removeprefix("-")
    if not (number.isascii() and number.isdecimal() and int(number) <= MOST_NICE):
        return _refused_acting(f"Nice value out of range (+/- {MOST_NICE}). Value ignored")
    if job.held is not HeldBy.NO:
        return _refused_acting("Job is in held state; release it first")
    if job.nice == int(value):
        return ALREADY_ACTING
    if not job.fixed:  # Else Slurm says yes and ignores it.
        job.nice = int(value)
        lifecycle.compute(state, job)
        state.changed = True
    return DONE_ACTING


def _is_priority(value: str) -> bool:
    return value.isascii() and value.isdecimal() and 0 < int(value) <= HIGHEST_PRIORITY


def _restore_priority(state: SimState, job: SimJob) -> ActionOutcome:
    if job.held is not HeldBy.NO:
        return ALREADY_ACTING  # A held job gets its natural priority when it is released.
    if not job.fixed and not job.nice:
        return ALREADY_ACTING
    job.nice = 0  # As Slurm does on a release of a job that is not held.
    lifecycle.compute(state, job)
    state.changed = True
    return DONE_ACTING


def _gone(words: str) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.GONE, words)


def _refused_acting(words: str) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.REFUSED, words)
