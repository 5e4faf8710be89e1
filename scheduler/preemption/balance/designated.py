"""Who gets an even set (spec 5, point 4; claim 6): in a designated partition every job that asks for several
processors, anywhere a job that asks for it."""

from collections.abc import Iterable
from dataclasses import replace

from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.nodes import SnapshotNode, figures
from scheduler.model.policy import AppliesTo, Balance, Otherwise
from scheduler.model.resource_kinds import by_worth
from scheduler.model.snapshot import Snapshot

USUAL_SHARE = 0.05
"""Where a partition has no rule, a set is even whose powers differ by at most this share of the middle one."""


def designated(snapshot: Snapshot) -> Snapshot:
    """The snapshot with a rule for even sets where a job asks for one, and with every job marked that is to have one.

    A partition without a rule makes nobody wait: who asks gets the nearest set. The same snapshot again where nothing
    is to be done.
    """
    balance = snapshot.partition.balance or _usual(snapshot)
    if balance is None:
        return snapshot
    if balance is not snapshot.partition.balance:
        snapshot = replace(snapshot, partition=replace(snapshot.partition, balance=balance))
    if balance.applies_to is not AppliesTo.ALL or not _measured(snapshot.nodes, balance.resource):
        return snapshot
    resource = balance.resource
    by_device = any(isinstance(node.power.get(resource), tuple) for node in snapshot.nodes)
    jobs = tuple(
        replace(job, balanced=True)
        if not job.balanced and _asks_for_several(job, resource, by_device=by_device)
        else job
        for job in snapshot.jobs
    )
    return replace(snapshot, jobs=jobs)


def _usual(snapshot: Snapshot) -> Balance | None:
    """The rule of a partition that has none, when a waiting job asks for an even set."""
    if not any(job.balanced and job.state is JobState.PENDING for job in snapshot.jobs):
        return None
    measured = {name for node in snapshot.nodes for name in node.power}
    if not measured:
        return None
    resource = min(measured, key=by_worth)
    powers = sorted(_measured(snapshot.nodes, resource))
    distance = round(powers[len(powers) // 2] * USUAL_SHARE, 9)
    return Balance(resource, distance, Otherwise.NEAREST, applies_to=AppliesTo.ASKED)


def _measured(nodes: Iterable[SnapshotNode], resource: str) -> list[float]:
    return [each for node in nodes if resource in node.power for each in figures(node.power[resource])]


def _asks_for_several(job: SnapshotJob, resource: str, *, by_device: bool) -> bool:
    """Whether a job asks for, or holds, several processors of a kind. Where a node has one figure, it is one processor;
    tasks on one node that belong together are placed as units."""
    if job.request is None:
        held = [part[resource] for part in job.alloc.values() if part.get(resource, 0)]
        return len(held) > 1 or (by_device and sum(held) > 1)
    request = job.request
    amount = request.per_node.get(resource, 0)
    alone = by_device and not job.group and request.nodes == 1 and amount > 1
    return (request.nodes > 1 and amount > 0) or request.spread.get(resource, 0) > 1 or alone
