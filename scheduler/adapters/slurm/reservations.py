"""Slurm reservations: which nodes a pending job cannot get, because they are reserved for the time it would run.

Slurm tells this only of jobs that it has just tried to start ("ReqNodeNotAvail, May be reserved for other job"), and
never of the single node of several. Without it, room would be made on a node where the job will not start.

1. A job outside reservations gets no node whose reservation begins before the job must have ended.
2. A job inside one gets the nodes of that reservation only.
3. A reservation of a part of a node's cores counts as the whole node: what is said is stricter, never looser.
4. So does one that is not understood: without its times it holds always, without its nodes it may hold any.
5. Those of Giveway itself (keeping.py) are told apart: who gets their nodes is planned anew in each cycle.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler.adapters.slurm import values
from scheduler.adapters.slurm.allowed import kept_for
from scheduler.adapters.slurm.nodes import up
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import KeptNodes

MARGIN_S = 120
"""How much later than now a job may start in the room that is made for it."""
FOREVER = 1 << 40
_NODES_NOT_TOLD = "the nodes of the reservation"
_WORD = re.compile(r"(?:^| )([A-Za-z]+)=(\S*)")


@dataclass(frozen=True, slots=True)
class SlurmReservation:
    """Nodes that are kept for somebody from `start` until `end`, epoch seconds; None when they are not understood."""

    name: str
    start: int
    end: int
    nodes: frozenset[str] | None


def decode(record: str) -> SlurmReservation:
    """A record of `scontrol --oneliner show reservations`."""
    words: dict[str, str] = dict(_WORD.findall(record))
    return SlurmReservation(
        words.get("ReservationName", ""),
        _moment(words, "StartTime") or 0,
        _moment(words, "EndTime") or FOREVER,
        _nodes(words),
    )


def _moment(words: Mapping[str, str], key: str) -> int | None:
    try:
        return values.moment(words.get(key, ""))
    except ValueError:
        return None


def _nodes(words: Mapping[str, str]) -> frozenset[str] | None:
    try:
        return frozenset(values.nodes(words["Nodes"]))
    except (ValueError, KeyError):
        return None


def kept_by_us(
    reservations: Sequence[SlurmReservation], jobs: Iterable[ObservedJob], now: int
) -> tuple[KeptNodes, ...]:
    """What is kept by reservations of ours. One that has ended stays in Slurm's list for up to half a minute.

    `jobs`: as they are told by Slurm, with the reservations that they are in.
    """
    ours = [(job_id, each) for each in reservations if each.end > now and (job_id := kept_for(each.name))]
    if not ours:
        return ()
    inside = {job.id for job in jobs if job.reservation and kept_for(job.reservation) == job.id}
    return tuple(
        KeptNodes(job_id, tuple(sorted(each.nodes or ())), each.end, job_id in inside)
        for job_id, each in ours
    )


def free_of_ours(
    nodes: Sequence[SnapshotNode], reservations: Sequence[SlurmReservation]
) -> list[SnapshotNode]:
    """The nodes; one that is `RESERVED` only by us takes new jobs, those that it is kept for."""
    ours = {name for each in reservations if kept_for(each.name) for name in each.nodes or ()}
    if not ours:
        return list(nodes)
    others = [each for each in reservations if not kept_for(each.name)]
    if any(each.nodes is None for each in others):
        return list(nodes)
    ours -= {name for each in others for name in each.nodes or ()}
    return [
        replace(node, up=up(node.state.replace("+RESERVED", ""))) if node.name in ours else node
        for node in nodes
    ]


def respect(
    jobs: Sequence[ObservedJob],
    reservations: Sequence[SlurmReservation],
    partitions: Mapping[str, Sequence[str]],
    now: int,
) -> list[ObservedJob]:
    """The jobs, with pending ones limited to the nodes that reservations leave to them."""
    kept = [r for r in reservations if (r.nodes or r.nodes is None) and r.end > now and not kept_for(r.name)]
    if not kept and not any(job.reservation for job in jobs):
        return list(jobs)
    return [_limited(_without_ours(job), kept, partitions, now) for job in jobs]


def _without_ours(job: ObservedJob) -> ObservedJob:
    """A job that is in a reservation of ours is planned, and protected, like any other."""
    return replace(job, reservation="") if kept_for(job.reservation) else job


def _limited(
    job: ObservedJob,
    reservations: Sequence[SlurmReservation],
    partitions: Mapping[str, Sequence[str]],
    now: int,
) -> ObservedJob:
    request = job.request
    if job.state is not JobState.PENDING or request is None:
        return job
    own = set(job.reservation.split(",")) if job.reservation else set()
    until = FOREVER if job.time_limit_s is None else now + MARGIN_S + job.time_limit_s
    others = [r for r in reservations if r.name not in own and r.start < until]
    if any(r.nodes is None for r in others):
        name = next(r.name for r in others if r.nodes is None)
        return replace(
            job, unplannable=job.unplannable or f"{_NODES_NOT_TOLD} {name[:60]} are not understood"
        )
    taken = frozenset(name for reservation in others for name in reservation.nodes or ())
    if own:
        inside = {
            name
            for reservation in reservations
            if reservation.name in own
            for name in reservation.nodes or ()
        }
        taken |= {name for partition in job.partitions for name in partitions.get(partition, ())} - inside
    if not taken:
        return job
    limited = replace(request, not_nodes=request.not_nodes | taken)
    if _fits(limited, job, partitions) or not _fits(request, job, partitions):
        return replace(job, request=limited)
    why = others[0].name if others else job.reservation
    kept_for = f"the nodes that it could use are kept for the reservation {why[:60]}"
    return replace(job, request=limited, unplannable=job.unplannable or kept_for)


def _fits(request: Request, job: ObservedJob, partitions: Mapping[str, Sequence[str]]) -> bool:
    """Whether one of the job's partitions has as many nodes for it as it wants."""
    for partition in job.partitions:
        nodes = set(partitions.get(partition, ())) - request.not_nodes
        if request.only_nodes:
            nodes &= request.only_nodes
        if len(nodes) >= max(1, request.nodes):
            return True
    return False
