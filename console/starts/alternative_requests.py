"""What is tried beside the queue: jobs not submitted yet, and what waiting jobs might ask for instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from console.cluster.models import Cluster
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.selectors import core_projects
from console.starts.models import StartQuestion
from console.starts.requests import PlayedWant, WantedNodes
from console.starts.selectors import SeenJob
from scheduler.contracts.requests import decode_request
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.policy import LineOrder, PartitionPolicy
from scheduler.priority.derive import Deriver
from scheduler.priority.order import ranks_of

MOST_TRIED = 300
"""So many changes of waiting jobs are tried, of those first in line."""
LEAST_LIMIT_S = 600

Waiting = Sequence[tuple[SeenJob, PlayedWant]]


@dataclass(frozen=True, slots=True)
class Alternative:
    """What the waiting job of a number might ask for instead: half its time limit, or half its nodes."""

    number: int
    want: PlayedWant
    limit_s: int | None = None
    nodes: int | None = None


def list_alternatives(waiting: Waiting) -> list[Alternative]:
    """Those that are worth trying, at most `MOST_TRIED`."""
    found: list[Alternative] = []
    for number, (job, want) in enumerate(waiting):
        if len(found) >= MOST_TRIED:
            break
        if job.time_limit_s and job.time_limit_s >= 2 * LEAST_LIMIT_S:
            found.append(Alternative(number, want, limit_s=job.time_limit_s // 2))
        if want.nodes > 1:
            found.append(Alternative(number, replace(want, nodes=want.nodes // 2), nodes=want.nodes // 2))
    return found


@dataclass(frozen=True, slots=True)
class PlacedQuestion:
    """A question with its place in line: before the waiting job of the number `before`.

    `want`: None where too few nodes could ever have room for it. `level`: the names of its levels.
    """

    question: StartQuestion
    want: PlayedWant | None
    before: int
    level: str


def place_questions(
    cluster: Cluster, questions: Sequence[StartQuestion], waiting: Waiting, nodes: WantedNodes
) -> list[PlacedQuestion]:
    """The questions, each where its job would stand. Of a partition without a policy: behind all."""
    if not questions:
        return []
    names = {question.partition for question in questions}
    rows = Partition.objects.filter(cluster=cluster, name__in=names, revision__isnull=False)
    policies = {row.name: policy_of(row) for row in rows.select_related("revision")}
    projects = core_projects(cluster)
    now = int(clock.now().timestamp())
    derivers = {name: Deriver(policy, projects, now) for name, policy in policies.items()}
    return [_asked(question, derivers, waiting, nodes) for question in questions]


def _asked(
    question: StartQuestion, derivers: Mapping[str, Deriver], waiting: Waiting, nodes: WantedNodes
) -> PlacedQuestion:
    name = question.partition
    want = nodes.want_of(decode_request(question.request, "request"), frozenset({name}))
    deriver = derivers.get(name)
    if deriver is None:
        return PlacedQuestion(question, want, len(waiting), "")
    policy = deriver.policy
    job = ObservedJob(
        id="", name="", user=question.user, state=JobState.PENDING, partitions=(name,), submit=deriver.now,
        account=question.account,
    )  # fmt: skip
    standing = deriver.derive(job)
    levels = (standing.user_level, standing.task_level)
    words = " / ".join(policy.level_name(level) for level in levels if level is not None)
    return PlacedQuestion(
        question, want, _behind(waiting, name, policy, ranks_of(policy.mode, *levels)), words
    )


def _behind(waiting: Waiting, partition: str, policy: PartitionPolicy, rank: tuple[int, int]) -> int:
    """Behind all that wait; where the line goes by levels, behind the last of the partition whose rank is not lower."""
    if policy.order is not LineOrder.LEVELS:
        return len(waiting)
    place = 0
    for number, (job, _) in enumerate(waiting):
        theirs = ranks_of(policy.mode, job.user_level, job.task_level)
        if job.partition == partition and theirs >= rank:
            place = number + 1
    return place
