"""Predicted starts by trying every moment: slow, simple, and without any code of the planner's (for small cases).

The documented cost of a reservation is its moment: the earliest one at which the job fits, when running jobs end as
expected and nobody else comes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import STOPPED, Decision
from scheduler.model.snapshot import Snapshot
from tests.scheduler import oracle_balance

Room = Mapping[str, int]


def expected_end(job: SnapshotJob, now: int) -> int | None:
    """An overdue job goes on for as long as it is overdue, a minute at least; an ending one is gone."""
    if job.state is JobState.COMPLETING:
        return now
    if job.predicted_end is None or job.predicted_end > now:
        return job.predicted_end
    return now + max(60, now - job.predicted_end)


def earliest_start(snapshot: Snapshot, job: SnapshotJob) -> int | None:
    """The first moment at which the job fits; None when there is none that is known."""
    held = [each for each in snapshot.jobs if each.state is not JobState.PENDING]
    ends = {end for each in held if (end := expected_end(each, snapshot.now)) is not None}
    return next((t for t in sorted(ends | {snapshot.now}) if _fits(snapshot, job, held, t)), None)


def most_used(snapshot: Snapshot, decisions: Iterable[Decision]) -> dict[str, Counter[str]]:
    """By node, the most that is held of each resource at any moment from now on, if the plan is carried out and jobs
    that start then never end."""
    made = list(decisions)
    stopped = {victim.job for each in made for victim in each.victims if victim.how in STOPPED}
    staying = [each for each in snapshot.jobs if each.state is JobState.RUNNING and each.id not in stopped]
    begins = [(each.at or snapshot.now, each.placement) for each in made if each.placement]
    most: dict[str, Counter[str]] = {}
    for t in sorted({snapshot.now} | {at for at, _ in begins}):
        use: dict[str, Counter[str]] = {}
        here = [
            each.alloc for each in staying if (end := expected_end(each, snapshot.now)) is None or end > t
        ]
        for placement in [*here, *(placement for at, placement in begins if at <= t)]:
            for name, amounts in placement.items():
                use.setdefault(name, Counter()).update(amounts)
        for name, amounts in use.items():
            most[name] = most.get(name, Counter()) | amounts
    return most


def _fits(snapshot: Snapshot, job: SnapshotJob, held: Iterable[SnapshotJob], t: int) -> bool:
    request = job.request or Request()
    there = [each for each in held if (end := expected_end(each, snapshot.now)) is None or end > t]
    rooms = [(node, _room(node, there, request)) for node in snapshot.nodes if _allowed(node, request)]
    if request.spread:
        return _enough((room for _, room in rooms), request.spread)
    if request.unit:
        units = (min(room[name] // n for name, n in request.unit.items()) for _, room in rooms)
        return sum(units) >= request.count
    fitting = [node for node, room in rooms if all(room[name] >= n for name, n in request.per_node.items())]
    balance = snapshot.partition.balance
    if balance is None or not job.balanced or request.nodes == 1:
        return len(fitting) >= request.nodes
    measured = [node for node in fitting if balance.resource in node.power]
    return any(
        oracle_balance.distance(chosen, balance.resource) <= oracle_balance.most(snapshot.partition)
        for chosen in combinations(measured, request.nodes)
    )


def _enough(rooms: Iterable[Counter[str]], wants: Room) -> bool:
    total = sum(rooms, start=Counter[str]())
    return all(total[name] >= n for name, n in wants.items())


def _room(node: SnapshotNode, there: Iterable[SnapshotJob], request: Request) -> Counter[str]:
    on_it = [each for each in there if node.name in each.alloc]
    if request.exclusive and (on_it or any(node.held_elsewhere.values())):
        return Counter()
    room = Counter(node.total)
    room.subtract(node.held_elsewhere)
    for each in on_it:
        room.subtract(each.alloc[node.name])
    return +room


def _allowed(node: SnapshotNode, request: Request) -> bool:
    named = not request.only_nodes or node.name in request.only_nodes
    any_of = not request.any_of or any(one <= node.features for one in request.any_of)
    allowed = named and node.name not in request.not_nodes
    return node.up and allowed and request.features <= node.features and any_of
