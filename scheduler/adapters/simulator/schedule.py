"""Slurm's scheduling pass: the queue in order, and backfill that does not delay the first job that waits."""

from dataclasses import dataclass

from scheduler.adapters.simulator import lifecycle
from scheduler.adapters.simulator.jobs import FOREVER_S, HeldBy, SimJob
from scheduler.adapters.simulator.placement import Alloc, SimRoom, place
from scheduler.adapters.simulator.state import SimNode, SimState
from scheduler.model.jobs import JobState

REASON_OF_HOLD = {
    HeldBy.USER: "JobHeldUser",
    HeldBy.ADMIN: "JobHeldAdmin",
    HeldBy.REQUEUED: "job requeued in held state",
}


@dataclass(slots=True)
class _Reservation:
    """The place of a partition's first waiting job: from `at` on it has its share; `spare` is left then."""

    at: int
    spare: SimRoom

    def allows(self, alloc: Alloc, until: int) -> bool:
        """Whether a job that ends at `until` may take `alloc` now without delaying the reserved start."""
        return until <= self.at or self.spare.holds(alloc)

    def note(self, alloc: Alloc, until: int, *, exclusive: bool) -> None:
        """Such a job has started."""
        if until > self.at:
            self.spare.take(alloc, exclusive=exclusive)


def run_pass(state: SimState) -> None:
    """Start every job that may start now, and give each job that waits its reason (Slurm's word)."""
    state.changed = False
    room = SimRoom(state.nodes.values(), state.in_state(JobState.RUNNING, JobState.COMPLETING))
    reservations: dict[str, _Reservation] = {}
    for job in sorted(state.in_state(JobState.PENDING), key=lambda job: job.queue_key):
        job.estimated_start = None
        job.reason = blocked_reason(state, job)
        if not job.reason and not _start(state, job, room, reservations):
            _reserve(state, job, room, reservations)


def blocked_reason(state: SimState, job: SimJob) -> str:
    """Why a pending job may not start whatever room there is, in Slurm's word; empty if it may."""
    if job.held is not HeldBy.NO:
        return REASON_OF_HOLD[job.held]
    if "never" in job.waits_for.values():
        return "DependencyNeverSatisfied"
    if job.waits_for:
        return "Dependency"
    if job.begin > state.now:
        return "BeginTime"
    if all(state.partitions[name].state != "UP" for name in job.partitions):
        return "PartitionDown"
    return ""


def _start(state: SimState, job: SimJob, room: SimRoom, reservations: dict[str, _Reservation]) -> bool:
    until = state.now + (FOREVER_S if job.spec.time_limit_s is None else job.spec.time_limit_s)
    exclusive = job.spec.request.exclusive
    for partition in _open_partitions(state, job):
        alloc = place(job.spec.request, room, _nodes(state, job, partition))
        if alloc is None:
            continue
        # Slurm looks at a reservation's nodes apart: who waits for others is not in its way there.
        own = alloc.keys() <= state.kept_nodes(job.id)
        if not own and not all(kept.allows(alloc, until) for kept in reservations.values()):
            continue
        room.take(alloc, exclusive=exclusive)
        for kept in reservations.values():
            kept.note(alloc, until, exclusive=exclusive)
        lifecycle.start(state, job, partition, alloc)
        return True
    return False


def _nodes(state: SimState, job: SimJob, partition: str) -> list[SimNode]:
    """The nodes of a partition that a job may get: those that are kept for it first, none that are for others."""
    own, others = state.kept_nodes(job.id), state.kept_for_others(job.id)
    nodes = [node for node in state.nodes_of(partition) if node.name not in others]
    return sorted(nodes, key=lambda node: node.name not in own)


def _reserve(state: SimState, job: SimJob, room: SimRoom, reservations: dict[str, _Reservation]) -> None:
    """The first job that waits in a partition gets a reservation; the others wait behind it."""
    job.reason = "Priority"
    if state.kept_nodes(job.id):
        job.reason = "Resources"  # Its place is kept already; nobody else waits because of it.
        return
    for partition in _open_partitions(state, job):
        if partition in reservations:
            continue
        nodes = _nodes(state, job, partition)
        if job.spec.request.nodes > len(nodes):
            job.reason = "PartitionNodeLimit"
            continue
        job.reason = "Resources"
        reservation = _forecast(state, job, room, nodes)
        if reservation is not None:
            reservations[partition] = reservation
            job.estimated_start = min(reservation.at, job.estimated_start or reservation.at)


def _forecast(state: SimState, job: SimJob, room: SimRoom, nodes: list[SimNode]) -> _Reservation | None:
    """When and where a job that does not fit now will fit, by the time limits of what runs. None: never."""
    spare = room.copy()
    ending = sorted(
        state.in_state(JobState.RUNNING, JobState.COMPLETING), key=lambda other: (_expected(other), other.id)
    )
    for position, other in enumerate(ending):
        spare.give(other.alloc, exclusive=other.spec.request.exclusive)
        at = max(_expected(other), state.now)
        if position + 1 < len(ending) and _expected(ending[position + 1]) == _expected(other):
            continue
        alloc = place(job.spec.request, spare, nodes)
        if alloc is not None:
            spare.take(alloc, exclusive=job.spec.request.exclusive)
            return _Reservation(at, spare)
    return None


def _expected(job: SimJob) -> int:
    """When Slurm expects a job's resources back."""
    if job.free_at is not None:
        return job.free_at
    return job.limit_at if job.limit_at is not None else (job.start or 0) + FOREVER_S


def _open_partitions(state: SimState, job: SimJob) -> list[str]:
    return [name for name in job.partitions if state.partitions[name].state == "UP"]
