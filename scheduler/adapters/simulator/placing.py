"""Begin times that Giveway sets, as Slurm's adapter does it with a mark beside them."""

from scheduler.adapters.simulator.jobs import SimJob
from scheduler.adapters.simulator.state import SimState
from scheduler.model.actions import ActionOutcome, OutcomeKind


def begin(state: SimState, job: SimJob, value: str) -> ActionOutcome:
    """A pending job may start from a moment on; one that has a begin time of its user's is left alone."""
    if not (value.isascii() and value.isdecimal() and 0 < len(value) <= 10 and int(value)):
        return ActionOutcome(OutcomeKind.REFUSED, "a moment is a number of seconds")
    if job.array_job_id:
        return ActionOutcome(OutcomeKind.REFUSED, "a part of an array has no begin time of its own")
    if job.begin > state.now and not is_put_off(state, job):
        return ActionOutcome(OutcomeKind.REFUSED, "its begin time was set by its user, or by Slurm")
    moment = int(value)
    job.begin = moment
    job.put_off = moment if moment > state.now else 0
    state.changed = True
    return ActionOutcome(OutcomeKind.DONE)


def is_put_off(state: SimState, job: SimJob) -> bool:
    """Whether Giveway has set the begin time for which the job waits."""
    return job.begin > state.now and job.begin == job.put_off
