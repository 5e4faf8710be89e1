"""Partitions of different PriorityTier over the same nodes: whoever waits in a higher one is served first, whatever
place in line others have.

Slurm goes through all jobs of the higher tier before it looks at those of a lower one, and keeps the nodes of a
partition whose job it could not start from everybody after it. So room that is made on such nodes for a job of a lower
tier goes to the other one, and somebody was stopped in vain (tried on 26.05.5).

1. A job that waits for nothing but room keeps the nodes that it may use from all jobs of lower tiers.
2. A job in several partitions counts with the highest of their tiers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.resources import Amounts, covers, total

LOWEST = 1
_FOR_ROOM = frozenset({"", "none", "resources", "priority"})

Tiers = Mapping[str, int]
Nodes = Mapping[str, Sequence[str]]


def respect(
    jobs: Sequence[ObservedJob], tiers: Tiers, nodes: Nodes, totals: Mapping[str, Amounts], now: int
) -> list[ObservedJob]:
    """The jobs, waiting ones limited to the nodes for which nobody of a higher tier waits. `nodes`: of partitions;
    `totals`: what nodes have in all."""
    if len(set(tiers.values())) < 2:
        return list(jobs)
    wanted: dict[int, set[str]] = {}
    for job in jobs:
        if _waits_for_room(job, now):
            wanted.setdefault(_tier(job, tiers), set()).update(_usable(job, nodes))
    return [
        _limited(job, _usable(job, nodes), _above(job, tiers, wanted), totals)
        if job.state is JobState.PENDING
        else job
        for job in jobs
    ]


def _tier(job: ObservedJob, tiers: Tiers) -> int:
    return max((tiers.get(name, LOWEST) for name in job.partitions), default=LOWEST)


def _waits_for_room(job: ObservedJob, now: int) -> bool:
    waits = job.state is JobState.PENDING and not (job.held or job.dependency)
    return waits and (job.eligible or 0) <= now and job.slurm_reason.strip("()").lower() in _FOR_ROOM


def _usable(job: ObservedJob, nodes: Nodes) -> set[str]:
    """The nodes that a pending job may use, as far as its request tells."""
    there = {name for partition in job.partitions for name in nodes.get(partition, ())}
    if job.request is None:
        return there
    there -= job.request.not_nodes
    return there & job.request.only_nodes if job.request.only_nodes else there


def _above(job: ObservedJob, tiers: Tiers, wanted: Mapping[int, Iterable[str]]) -> set[str]:
    """The nodes that are wanted in tiers above the job's."""
    own = _tier(job, tiers)
    return set().union(*(names for tier, names in wanted.items() if tier > own))


def _limited(
    job: ObservedJob, usable: set[str], above: set[str], totals: Mapping[str, Amounts]
) -> ObservedJob:
    request, taken = job.request, usable & above
    if request is None or not taken:
        return job
    could_be = _could_be(request, usable - taken, totals)
    why = "" if could_be else "jobs of a higher PriorityTier wait for nodes that it could use"
    return replace(
        job,
        request=replace(request, not_nodes=request.not_nodes | taken),
        unplannable=job.unplannable or why,
    )


def _could_be(request: Request, left: set[str], totals: Mapping[str, Amounts]) -> bool:
    """Whether what is left of its nodes could hold it: else it is for now that it cannot start, not for ever."""
    if request.nodes:
        return sum(covers(totals.get(name, {}), request.per_node) for name in left) >= request.nodes
    return covers(total(totals.get(name, {}) for name in left), request.spread)
