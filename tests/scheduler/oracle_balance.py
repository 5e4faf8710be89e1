"""Even sets by trying every set of nodes: slow, simple, and without any code of the planner's (for small cases).

The documented cost of stopping for an even set is that of the planner for any nodes: by class, the highest first, the
harm (seconds run) and then the number of victims, summed over all nodes of the set. Only for jobs that run on one node
each, `shortest_runtime`, and requests with `nodes`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode, figures
from scheduler.model.snapshot import PartitionRules, Snapshot
from tests.scheduler import naive

Cost = tuple[tuple[tuple[int, int], int, int], ...]


class Chosen(NamedTuple):
    """A set of nodes; the least one is the best."""

    not_in_a_unit: bool
    distance: Decimal
    left_over: int
    places: tuple[int, ...]


def powers(node: SnapshotNode, resource: str) -> list[Decimal]:
    """As they were written."""
    return [Decimal(str(each)) for each in figures(node.power[resource])]


def distance(nodes: Iterable[SnapshotNode], resource: str) -> Decimal:
    """The largest power minus the smallest one."""
    every = [each for node in nodes for each in powers(node, resource)]
    return max(every) - min(every)


def most(rules: PartitionRules) -> Decimal:
    """The largest distance of an even set."""
    assert rules.balance
    return Decimal(str(rules.balance.max_distance))


def best_free_set(snapshot: Snapshot, job: SnapshotJob) -> Chosen | None:
    """The best set of measured nodes on which a job fits now: an even one inside a unit, else the closest one."""
    rules, request = snapshot.partition, job.request or Request()
    assert rules.balance
    order = {node.name: i for i, node in enumerate(sorted(snapshot.nodes, key=lambda node: node.name))}
    sets = []
    for chosen in _sets(snapshot, request, rules.balance.resource):
        free = [_free(snapshot, node) for node in chosen]
        if all(room.get(name, 0) >= n for room in free for name, n in request.per_node.items()):
            apart = distance(chosen, rules.balance.resource)
            units = {node.unit for node in chosen}
            inside = len(units) == 1 and units != {None} and apart <= most(rules)
            left = sum(
                (room[name] - n) * 1000 // node.total[name]
                for room, node in zip(free, chosen, strict=True)
                for name, n in request.per_node.items()
            )
            sets.append(Chosen(not inside, apart, left, tuple(sorted(order[node.name] for node in chosen))))
    return min(sets, default=None)


def cheapest_even_cost(snapshot: Snapshot, job: SnapshotJob) -> Cost | None:
    """What the cheapest even set costs in victims; None when there is none. An empty cost is free room."""
    rules, request = snapshot.partition, job.request or Request()
    assert rules.balance
    resource, limit = rules.balance.resource, most(rules)
    prices = {node.name: _price(snapshot, job, request, node) for node in snapshot.nodes}
    costs = [
        _together(prices[node.name] or Counter() for node in chosen)
        for chosen in _sets(snapshot, request, resource)
        if distance(chosen, resource) <= limit and all(prices[node.name] is not None for node in chosen)
    ]
    return min(costs, default=None)


def cost_of(snapshot: Snapshot, job: SnapshotJob, victims: Iterable[SnapshotJob]) -> Cost:
    """What stopping these costs."""
    return _together([_harm(snapshot, job, tuple(victims))])


def _sets(snapshot: Snapshot, request: Request, resource: str) -> Iterator[tuple[SnapshotNode, ...]]:
    measured = [node for node in snapshot.nodes if node.up and resource in node.power]
    return combinations(measured, request.nodes)


def _free(snapshot: Snapshot, node: SnapshotNode, gone: Iterable[str] = ()) -> Counter[str]:
    free = Counter(node.total)
    for job in snapshot.jobs:
        if job.state is not JobState.PENDING and job.id not in gone:
            free.subtract(job.alloc.get(node.name, {}))
    return free


def _price(
    snapshot: Snapshot, job: SnapshotJob, request: Request, node: SnapshotNode
) -> Counter[object] | None:
    """The cheapest way to make room on one node."""
    here = [victim for victim in naive.stoppable(snapshot, job) if node.name in victim.alloc]
    sets = (each for size in range(len(here) + 1) for each in combinations(here, size))
    enough = [
        victims
        for victims in sets
        if all(
            _free(snapshot, node, {victim.id for victim in victims})[name] >= n
            for name, n in request.per_node.items()
        )
    ]
    harms = [_harm(snapshot, job, victims) for victims in enough]
    return min(harms, key=lambda harm: _together([harm]), default=None)


def _harm(snapshot: Snapshot, job: SnapshotJob, victims: tuple[SnapshotJob, ...]) -> Counter[object]:
    harm: Counter[object] = Counter()
    for victim in victims:
        own_class = naive.class_of(snapshot.partition, job, victim)
        harm[own_class, "seconds"] += snapshot.now - (victim.start or 0)
        harm[own_class, "victims"] += 1
    return harm


def _together(harms: Iterable[Counter[object]]) -> Cost:
    total: Counter[object] = Counter()
    for harm in harms:
        total.update(harm)
    classes = sorted({key[0] for key in total if isinstance(key, tuple)}, reverse=True)
    return tuple((each, total[each, "seconds"], total[each, "victims"]) for each in classes)
