"""Looking again before stopping: would the plan still make the room it promises, and would its job start in it?"""

from collections.abc import Mapping

from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from scheduler.model.resources import Amounts, covers, subtract
from scheduler.model.sentence import Held, say
from scheduler.reconcile.blocking import why_blocked

BEGIN_TIME = "begintime"


def still_makes_room(
    observation: Observation, placement: Mapping[str, Amounts], victims: frozenset[RunKey]
) -> str:
    """Why stopping `victims` would no longer make `placement` possible, in words; empty when it still would.

    What ending jobs hold is coming free and counts as room.
    """
    nodes = {node.name: node for node in observation.nodes}
    held: dict[str, list[Amounts]] = {name: [] for name in placement}
    for job in observation.jobs:
        if job.state == JobState.RUNNING and job.run not in victims:
            for name, taken in job.alloc.items():
                if name in held:
                    held[name].append(taken)
    for name, wanted in placement.items():
        node = nodes.get(name)
        if node is None or not node.up:
            return say("again.node", node=name)
        free = dict(node.total)
        subtract(free, node.held_elsewhere)
        for taken in held[name]:
            subtract(free, taken)
        if not covers(free, wanted):
            return say("again.room", node=name, amounts=Held(wanted))
    return ""


def cannot_start(job: ObservedJob) -> str:
    """Why a pending job will not start whatever room is made for it, in words; empty when it may.

    Only what its user or an administrator has done to it counts. Slurm's other reasons change from one moment to the
    next while room is being made.
    """
    if job.held or job.dependency or job.slurm_reason.lower() == BEGIN_TIME:
        return say("again.does_not_start", job=job.id, why=why_blocked(job, "", job.eligible or 0))
    return ""
