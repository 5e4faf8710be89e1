"""A simulated job with fewer nodes, or others: between a requeue and a release, or while it runs."""

from dataclasses import replace

from scheduler.adapters.simulator.jobs import Afterwards, SimJob
from scheduler.adapters.simulator.state import SimState, What
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState
from scheduler.model.sentence import Listed, say

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
