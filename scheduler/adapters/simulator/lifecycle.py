"""What can happen to a simulated job: it starts, checkpoints, ends, is requeued, comes free."""

from dataclasses import replace

from scheduler.adapters.simulator.jobs import Afterwards, HeldBy, OnSignal, SimJob
from scheduler.adapters.simulator.state import SimState, What
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import JobState

KILLED_KEPT = 100
ENDINGS_KEPT = 1000
USR1 = 10
_AFTERWARDS = {What.STOPPED: Afterwards.REQUEUED_HELD, What.REQUEUED: Afterwards.REQUEUED}


def start(state: SimState, job: SimJob, partition: str, alloc: dict[str, dict[str, int]]) -> None:
    """A pending job starts now on `alloc`; what its last checkpoint has saved need not be done again."""
    job.state = JobState.RUNNING
    job.partitions = (partition,)
    job.start, job.alloc = state.now, alloc
    state.note(What.STARTED, job)
    job.resumed_s = job.saved_s
    job.reason, job.estimated_start = "None", None
    spec = job.spec
    job.ends_at = None if spec.run_time_s is None else state.now + max(0, spec.run_time_s - job.saved_s)
    job.limit_at = None if spec.time_limit_s is None else state.now + spec.time_limit_s


def signal(state: SimState, job: SimJob) -> bool:
    """The checkpoint signal reaches a running job's script. False: a checkpoint is being made already."""
    state.note(What.SIGNALLED, job)
    if job.spec.on_signal is OnSignal.REQUEUE:
        job.saved_s = job.resumed_s + state.now - (state.now if job.start is None else job.start)
        end(state, job, What.REQUEUED, ok=False)
    if job.spec.on_signal is OnSignal.DIE:
        end(state, job, ok=False)
        job.killed = True
        _remember_ending(state, job, EndKind.FAILED, "FAILED", signal=USR1)
    if job.spec.on_signal is not OnSignal.CHECKPOINT:
        return True
    if job.checkpoint_at is not None:
        return False
    job.checkpoint_at = state.now + job.spec.checkpoint_s
    return True


def checkpoint(state: SimState, job: SimJob) -> None:
    """A checkpoint is finished: progress is saved, and the job says so in its comment."""
    state.note(What.SAVED, job)
    job.saved_s = job.resumed_s + state.now - (job.start if job.start is not None else state.now)
    others = [word for word in job.comment.split() if not word.startswith("ckpt:")]
    job.comment = " ".join([*others, f"ckpt:seconds={job.saved_s}"])
    job.checkpoint_at = None


def end(state: SimState, job: SimJob, what: What = What.ENDED, *, ok: bool) -> None:
    """A running job ends (or is stopped) and completes for a while, still holding its resources."""
    afterwards = _AFTERWARDS.get(what, Afterwards.GONE)
    state.note(what, job)
    taken = state.behaviour.completing_s if job.spec.completing_s is None else job.spec.completing_s
    job.state, job.afterwards = JobState.COMPLETING, afterwards
    job.free_at = state.now + taken
    job.ends_at = job.limit_at = job.checkpoint_at = None
    state.changed = True
    if afterwards is Afterwards.GONE:
        _remember_ending(state, job, *_ending_of(what, ok=ok))
        settle_dependents(state, job.id, ok=ok)
    else:
        # slurmctld counts the restart and moves the start at once: the old run is over while it completes.
        job.restarts, job.start = job.restarts + 1, state.now


def time_out(state: SimState, job: SimJob) -> None:
    """A running job's time limit is over."""
    end(state, job, ok=False)
    _remember_ending(state, job, EndKind.TIMED_OUT, "TIMEOUT")


def _ending_of(what: What, *, ok: bool) -> tuple[EndKind, str]:
    if what is What.CANCELLED:
        return EndKind.CANCELLED, "CANCELLED"
    return (EndKind.COMPLETED, "COMPLETED") if ok else (EndKind.FAILED, "FAILED")


def _remember_ending(state: SimState, job: SimJob, kind: EndKind, word: str, *, signal: int = 0) -> None:
    """As Slurm remembers an ended job for a while. Who cancelled it is its user: nobody else does here."""
    state.endings.pop(job.id, None)
    state.endings[job.id] = Ending(
        kind,
        word,
        exit_code=1 if kind is EndKind.FAILED and not signal else 0,
        signal=signal,
        by=job.spec.user if kind is EndKind.CANCELLED else "",
        start=job.start,
        end=state.now,
    )
    while len(state.endings) > ENDINGS_KEPT:
        del state.endings[next(iter(state.endings))]


def finish_completing(state: SimState, job: SimJob) -> None:
    """A completing job lets go of its resources: it is forgotten, or back in the queue as a later run."""
    job.alloc, job.free_at = {}, None
    state.changed = True
    if job.afterwards is Afterwards.GONE:
        del state.jobs[job.id]
        if job.killed:
            _remember_killed(state, job)
    else:
        _back_to_queue(state, job, held=job.afterwards is Afterwards.REQUEUED_HELD)


def _remember_killed(state: SimState, job: SimJob) -> None:
    state.killed[job.id] = job
    while len(state.killed) > KILLED_KEPT:
        del state.killed[next(iter(state.killed))]


def recover(state: SimState, job: SimJob) -> None:
    """A job that a signal has ended is requeued, held, as a later run."""
    state.note(What.RECOVERED, job)
    del state.killed[job.id]
    state.endings.pop(job.id, None)
    state.jobs[job.id] = job
    job.killed = False
    job.restarts += 1
    _back_to_queue(state, job, held=True)


def fail_node(state: SimState, job: SimJob) -> None:
    """A node of a running or completing job has broken down: requeued if it may be, else gone; at once."""
    if job.state is JobState.RUNNING:
        again = may_requeue(job)
        end(state, job, What.REQUEUED if again else What.ENDED, ok=False)
        if not again:
            _remember_ending(state, job, EndKind.FAILED, "NODE_FAIL")
    finish_completing(state, job)


def may_requeue(job: SimJob) -> bool:
    """Whether Slurm accepts a requeue of this job."""
    return job.spec.batch and job.spec.requeue


def set_requeue(state: SimState, job: SimJob, *, requeue: bool) -> None:
    """Whether the cluster may requeue the job, from now on."""
    job.spec = replace(job.spec, requeue=requeue)
    state.changed = True


def cancel(state: SimState, job: SimJob) -> None:
    """A pending job disappears, a running one ends; a completing one that was to be requeued is not."""
    if job.state is JobState.RUNNING:
        end(state, job, What.CANCELLED, ok=False)
        return
    state.note(What.CANCELLED, job)
    _remember_ending(state, job, EndKind.CANCELLED, "CANCELLED")
    settle_dependents(state, job.id, ok=False)
    if job.state is JobState.PENDING:
        del state.jobs[job.id]
        state.changed = True
    else:
        job.afterwards = Afterwards.GONE


def hold(state: SimState, job: SimJob, by: HeldBy) -> None:
    """A pending job may not start; its priority is 0 as in Slurm."""
    state.note(What.HELD, job)
    job.held, job.priority = by, 0
    state.changed = True


def release(state: SimState, job: SimJob, *, clear_begin: bool) -> None:
    """A held job may start; `clear_begin`: without the delay that Slurm puts on a requeued job."""
    state.note(What.RELEASED, job)
    job.held = HeldBy.NO
    compute(state, job)
    if clear_begin:
        job.begin = 0
    state.changed = True


def computed_priority(state: SimState, nice: int) -> int:
    """As priority/multifactor computes it: the factors, the same for all here, minus the nice; at least 1."""
    return max(1, state.behaviour.base_priority - nice)


def compute(state: SimState, job: SimJob) -> None:
    """A job's priority is computed again, whatever an administrator has made of it."""
    job.fixed, job.priority = False, computed_priority(state, job.nice)


def settle_dependents(state: SimState, job_id: str, *, ok: bool) -> None:
    """A job has ended for good: jobs that wait for it go on, or never can."""
    for other in state.in_state(JobState.PENDING):
        kind = other.waits_for.get(job_id)
        if kind is None:
            continue
        state.changed = True
        if kind == "afterany" or (kind == "afterok") is ok:
            del other.waits_for[job_id]
        else:
            other.waits_for[job_id] = "never"


def _back_to_queue(state: SimState, job: SimJob, *, held: bool) -> None:
    # As slurmctld does it when the last epilog is done: submitted anew, and not to begin for two minutes.
    job.state, job.afterwards = JobState.PENDING, Afterwards.GONE
    job.partitions = job.spec.partitions or job.partitions
    job.start = job.ends_at = job.limit_at = job.checkpoint_at = None
    job.submit = state.now
    job.begin = state.now + state.behaviour.requeue_delay_s
    if held:
        hold(state, job, HeldBy.REQUEUED)
    else:
        compute(state, job)
