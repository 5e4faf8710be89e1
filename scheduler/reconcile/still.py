"""Looking again before stopping: would the plan still make the room it promises, and would its job start in it?"""

from collections.abc import Collection, Iterable, Mapping

from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from scheduler.model.resources import Amounts, covers, subtract
from scheduler.model.sentence import Held, Listed, say
from scheduler.reconcile.blocking import is_at_a_limit, why_blocked

BEGIN_TIME = "begintime"


def still_makes_room(
    observation: Observation,
    placement: Mapping[str, Amounts],
    victims: frozenset[RunKey],
    keeping: Mapping[RunKey, Collection[str]] | None = None,
) -> str:
    """Why stopping `victims` would no longer make `placement` possible, in words; empty when it still would.

    What ending jobs hold is coming free and counts as room. `keeping`: the nodes on which a victim goes on.
    """
    observation = observation.planned
    up = {node.name for node in observation.nodes if node.up}
    free = _free_without(observation, placement, victims, keeping or {})
    for name, wanted in placement.items():
        if name not in up:
            return say("again.node", node=name)
        if not covers(free[name], wanted):
            return say("again.room", node=name, amounts=Held(wanted))
    return ""


def needless(
    observation: Observation,
    placement: Mapping[str, Amounts],
    going: frozenset[RunKey],
    victims: Iterable[RunKey],
) -> list[RunKey]:
    """Which of the victims, the most valuable first, need not be stopped for `placement` any more.

    For a room that shrinks while it is made. `placement`: with the room that others keep on these nodes. `going`: all
    runs that are about to be stopped, for whomever.
    """
    observation = observation.planned
    free = _free_without(observation, placement, going, {})
    held = {job.run: job.alloc for job in observation.jobs if job.state is JobState.RUNNING}
    spared = []
    for run in victims:
        alloc = held.get(run)
        if alloc and all(_covers_beside(free[name], alloc.get(name, {}), n) for name, n in placement.items()):
            spared.append(run)
            for name in placement:
                subtract(free[name], alloc.get(name, {}))
    return spared


def _covers_beside(free: Amounts, held: Amounts, wanted: Amounts) -> bool:
    """Whether there is room on a node although somebody keeps what it holds there."""
    left = dict(free)
    subtract(left, held)
    return covers(left, wanted)


def _free_without(
    observation: Observation,
    names: Iterable[str],
    victims: frozenset[RunKey],
    keeping: Mapping[RunKey, Collection[str]],
) -> dict[str, dict[str, int]]:
    """What is free on some nodes without the victims; ending jobs count as gone."""
    free: dict[str, dict[str, int]] = {name: {} for name in names}
    for node in observation.nodes:
        if node.name in free:
            free[node.name] = dict(node.total)
            subtract(free[node.name], node.held_elsewhere)
    for job in observation.jobs:
        if job.state == JobState.RUNNING:
            stays = keeping.get(job.run, ()) if job.run in victims else job.alloc
            for name, taken in job.alloc.items():
                if name in free and name in stays:
                    subtract(free[name], taken)
    return free


def goes_elsewhere(job: ObservedJob, partition: str, nodes: Iterable[str]) -> str:
    """Why a pending job will not start in the room that is made for it in a partition, in words; empty when it may.

    Its user may have moved it or have named other nodes since, or a reservation of these begins before it would end.
    """
    if partition not in job.partitions:
        return say("again.moved", job=job.id, partition=partition)
    request = job.request
    if request is None:
        return ""
    named = request.only_nodes
    barred = sorted(node for node in nodes if node in request.not_nodes or (named and node not in named))
    return say("again.barred", job=job.id, nodes=Listed(barred)) if barred else ""


def cannot_start(job: ObservedJob) -> str:
    """Why a pending job will not start whatever room is made for it, in words; empty when it may.

    Only what its user or an administrator has done to it counts. Slurm's other reasons change from one moment to the
    next while room is being made.
    """
    is_delayed = job.slurm_reason.lower() == BEGIN_TIME and not job.to_be_placed
    if job.held or job.dependency or is_delayed:
        return say("again.does_not_start", job=job.id, why=why_blocked(job, "", job.eligible or 0))
    return ""


def at_a_limit(job: ObservedJob) -> str:
    """The same where Slurm has said meanwhile that a limit of its account or QOS is reached."""
    if not is_at_a_limit(job):
        return ""
    return say("again.does_not_start", job=job.id, why=why_blocked(job, "", job.eligible or 0))
