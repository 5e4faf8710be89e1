"""The waiting tasks of one array are one request in units (spec 2.5), and each of them gets its own verdict.

1. Tasks that ask for the same, and differ in nothing that decides about them, are planned as one request of so many
   units. Blocked tasks, tasks of several nodes, and those at a level with a quota stay jobs of their own: there every
   task counts.
2. Who makes room for several of them makes it for all: the first task's verdict has all victims and names the tasks
   (`Decision.tasks`), the others' name the first one (`Decision.lead`).
3. Where a limit lets nobody be stopped for all of them, or there is only room for a part, the tasks are decided one
   by one, as far as it goes. Not where the partition spares the others then (`Partial.SPARE`).

Running tasks need no such thing: each is a unit, counts for itself in every limit, and what is left over goes back to
them one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind, PlanningResult, TaskRoom
from scheduler.model.policy import Dispatch, Partial
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.pieces import units_in
from scheduler.priority.order import natural

MOST_LOOKS = 3
"""How often it is planned with fewer groups; then every task is decided by itself."""
LONGEST_LABEL = 60
LIMITED = frozenset({Reason.HOURLY_LIMIT, Reason.NO_LASTING_ROOM, Reason.GETS_PART})
"""Reasons that hold for all units together and might not for fewer."""

Room = dict[str, Amounts]


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Waiting tasks of one array that are planned as `job`, in the order in which they get room."""

    job: SnapshotJob
    tasks: tuple[SnapshotJob, ...]


def in_groups_of_tasks(snapshot: Snapshot, planning: Callable[[Snapshot], PlanningResult]) -> PlanningResult:
    """The plan for a snapshot, arrays in units: one decision per task, as if there were no groups."""
    groups = groups_of(snapshot)
    for _ in range(MOST_LOOKS):
        if not groups:
            break
        made = planning(_together(snapshot, groups))
        by_id = {decision.job: decision for decision in made.decisions}
        kept = [group for group in groups if not _is_limited(by_id[group.job.id], snapshot.partition)]
        if len(kept) == len(groups):
            return _apart(made, groups)
        groups = kept
    return planning(snapshot)


def groups_of(snapshot: Snapshot) -> list[TaskGroup]:
    """The groups of waiting tasks of a snapshot, each of at least two."""
    rules = snapshot.partition
    if not rules.units or rules.dispatch is not Dispatch.SLURM or rules.patience_s:
        return []
    limited = rules.quotas.keys() | rules.quota_amounts.keys() | rules.quota_totals.keys()
    found: dict[tuple[object, ...], list[SnapshotJob]] = {}
    for job in snapshot.jobs:
        if job.group and job.state is JobState.PENDING and job.task_level not in limited and _is_unit(job):
            found.setdefault(_likeness(job), []).append(job)
    taken = {job.id for job in snapshot.jobs}
    groups = []
    for tasks in found.values():
        if len(tasks) > 1:
            tasks.sort(key=lambda task: natural(task.id))
            group = _group(tasks, taken)
            taken.add(group.job.id)
            groups.append(group)
    return groups


def _is_unit(job: SnapshotJob) -> bool:
    """Whether a waiting task is one unit of a request: on one node, which it shares."""
    request = job.request
    if request is None or job.blocked or job.promised or job.balanced:
        return False
    plain = not (request.exclusive or request.any_of or request.same_of or request.counted)
    return plain and request.nodes == 1 and any(request.per_node.values())


def _likeness(job: SnapshotJob) -> tuple[object, ...]:
    """What the tasks of a group have in common. Those that ran before come behind the others, as in Slurm."""
    request = job.request or Request()
    return (
        job.group, job.user, job.name, job.user_level, job.task_level, bool(job.restarts),
        job.patience_spent,
        tuple(sorted(request.per_node.items())), request.partial, request.features, request.only_nodes,
        request.not_nodes,
    )  # fmt: skip


def _group(tasks: Sequence[SnapshotJob], taken: set[str]) -> TaskGroup:
    """The tasks as one job. Of what differs the latest counts: nobody is stopped too soon for any of them."""
    first = tasks[0]
    request = first.request or Request()
    stops = [task.stopped_at for task in tasks if task.stopped_at is not None]
    job = replace(
        first,
        id=_label(tasks, taken),
        submit=max(task.submit for task in tasks),
        request=replace(request, nodes=0, per_node={}, unit=request.per_node, count=len(tasks)),
        stopped_at=max(stops, default=None),
        crashes=max(task.crashes for task in tasks),
        group="",
    )
    return TaskGroup(job, tuple(tasks))


def _label(tasks: Sequence[SnapshotJob], taken: set[str]) -> str:
    """The tasks in Slurm's own notation, `41_[3-9]`, where that is short and nobody else's; else the first one's id."""
    label = task_set([task.id for task in tasks])
    first = tasks[0].id
    return label if label and label not in taken else f"{first}+{len(tasks) - 1}"


def task_set(ids: Sequence[str]) -> str:
    """Tasks of one array in Slurm's notation: `41_[0,3-9]`; empty when they are not, or when it gets too long."""
    arrays = {job_id.rpartition("_")[0] for job_id in ids}
    numbers = [job_id.rpartition("_")[2] for job_id in ids]
    if len(arrays) != 1 or not all(number.isascii() and number.isdecimal() for number in numbers):
        return ""
    label = f"{arrays.pop()}_[{','.join(_ranges(sorted(map(int, numbers))))}]"
    return label if len(label) <= LONGEST_LABEL else ""


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        yield str(first) if first == last else f"{first}-{last}"
        if number is not None:
            first = last = number


def _together(snapshot: Snapshot, groups: Sequence[TaskGroup]) -> Snapshot:
    """The snapshot with each group as one job."""
    grouped = {task.id for group in groups for task in group.tasks}
    others = tuple(job for job in snapshot.jobs if job.id not in grouped)
    return replace(snapshot, jobs=(*others, *(group.job for group in groups)))


def _is_limited(decision: Decision, rules: PartitionRules) -> bool:
    """Whether fewer tasks might get what all of them cannot."""
    return rules.partial is Partial.TAKE and decision.reason in LIMITED


def _apart(made: PlanningResult, groups: Sequence[TaskGroup]) -> PlanningResult:
    """The plan with a verdict for each task in the place of its group's."""
    by_id = {group.job.id: group for group in groups}
    decisions: list[Decision] = []
    for decision in made.decisions:
        group = by_id.get(decision.job)
        decisions.extend(_verdicts(decision, group) if group else [decision])
    return replace(made, decisions=tuple(decisions))


def _verdicts(decision: Decision, group: TaskGroup) -> Iterator[Decision]:
    """The verdict on each task of a group."""
    rooms = _rooms(decision, group.job.request or Request())
    served = group.tasks[: len(rooms)]
    together = decision.action is DecisionKind.PREEMPT and len(served) > 1
    for place, (task, (node, room)) in enumerate(zip(served, rooms, strict=True)):
        if not together:
            alone = replace(decision, job=task.id, nodes=(node,), units=None, placement={node: room})
            yield alone
        elif place:
            yield replace(
                decision, job=task.id, nodes=(node,), units=None, placement={node: room}, victims=(),
                passed_over=(), lead=served[0].id,
            )  # fmt: skip
        else:
            tasks = tuple(TaskRoom(each.id, where) for each, (where, _) in zip(served, rooms, strict=True))
            yield replace(decision, job=task.id, units=None, tasks=tasks)
    rest = decision
    if rooms:
        rest = replace(
            decision, action=DecisionKind.QUEUE, reason=Reason.GETS_PART, nodes=(), victims=(), placement={},
            units=None, at=None, passed_over=(),
        )  # fmt: skip
    for task in group.tasks[len(rooms) :]:
        yield replace(rest, job=task.id)


def _rooms(decision: Decision, request: Request) -> list[tuple[str, Amounts]]:
    """The node of each unit that gets room, in the plan's order, and what it takes there."""
    rooms: list[tuple[str, Amounts]] = []
    for node, part in decision.placement.items():
        count = units_in(part, request.unit)
        room = {name: amount // count for name, amount in part.items()} if count else {}
        rooms.extend([(node, room)] * count)
    return rooms[: request.count]
