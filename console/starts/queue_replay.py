"""The queue as the mirror shows it, ready to be played forward: nodes, who runs, who waits in which order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.starts.alternative_requests import (
    Alternative,
    PlacedQuestion,
    list_alternatives,
    place_questions,
)
from console.starts.correlated_jobs import read_correlated_jobs
from console.starts.models import StartQuestion
from console.starts.remaining_time import UNLIMITED_S, RunsLeft, read_remaining_times
from console.starts.requests import PlayedNode, PlayedWant, WantedNodes
from console.starts.selectors import SeenJob, jobs_in_line, read_seen_jobs
from console.steering.models import BEGUN_STATES, KeptPlace, Plan, PlanKind
from scheduler.forecast.draws import DAY_S
from scheduler.forecast.facts import Forecast
from scheduler.forecast.starts import Queue, RunningShare, TriedStart, WaitingRequest, sure
from scheduler.model.policy import Dispatch
from scheduler.model.resources import Amounts

# --- Who came in the last days, as requests: such jobs may come again while others wait ---


REMEMBERED_S = 7 * 86_400
"""Of older days the mirror knows only the jobs that have not ended."""
MOST = 5000
"""The last so many are looked at; where more come within a day, nobody is played to come."""

Asking = Callable[[SeenJob, PlayedWant, RunsLeft], WaitingRequest]


def read_arrivals(
    cluster: Cluster, nodes: WantedNodes, reading: RunsLeft, asking: Asking
) -> list[tuple[float, WaitingRequest]]:
    """How long ago each came that has started, the oldest first, and what it asked for. At most two queries."""
    rows = Job.objects.filter(cluster=cluster, start__gt=0, submit__gte=reading.now - REMEMBERED_S)
    last = rows.order_by("-submit").values_list("submit", flat=True)[MOST - 1 : MOST].first()
    if last is not None and reading.now - last < DAY_S:
        return []
    found = []
    for job in read_seen_jobs(rows.order_by("-submit", "job_id")[:MOST]):
        want = nodes.want_of_job(job.request, frozenset({job.partition}))
        ago = reading.now - job.submitted
        if want is not None and ago > 0:
            found.append((float(ago), asking(job, want, reading)))
    return sorted(found, key=lambda each: -each[0])


MOST_WAITING = 1000
"""Of so many jobs, in their order, starts are played."""


@dataclass(frozen=True, slots=True)
class QueueReplay:
    """The queue with whom it is about: `jobs` in the order of `queue.waiting`, `names` of its nodes.

    `holders`: the ids of the jobs in `queue.running`. `hopeless`: waiting jobs for which too few nodes have room, ever.
    `trials`: first those of `changes`, in their order, then those of `asked` that have a want.
    """

    queue: Queue
    jobs: Sequence[SeenJob]
    names: Sequence[str]
    holders: Sequence[str]
    hopeless: Sequence[SeenJob]
    changes: Sequence[Alternative] = ()
    asked: Sequence[PlacedQuestion] = ()
    trials: Sequence[TriedStart] = ()


def read_queue_replay(cluster: Cluster, questions: Sequence[StartQuestion] = ()) -> QueueReplay:
    """The queue of now, and what is tried in it. A job in several partitions stands in it once, at its best place.

    Where nobody waits and nothing is asked nobody else is looked at.
    """
    nodes = [_played(node) for node in Node.objects.filter(cluster=cluster, up=True)]
    wanted = WantedNodes(nodes)
    waiting, hopeless = _waiting(read_seen_jobs(jobs_in_line(cluster)), wanted)
    changes, asked = list_alternatives(waiting), place_questions(cluster, questions, waiting, wanted)
    wants = [want for _, want in waiting] + [each.want for each in asked if each.want]
    if not wants:
        return QueueReplay(Queue([], [], []), [], [], [], hopeless, asked=asked)
    plans = list(
        Plan.objects.filter(cluster=cluster, state__in=BEGUN_STATES, kind=PlanKind.PREEMPT, started_at=None)
        .only("job_id", "placement", "victims", "tasks")
    )  # fmt: skip
    leaving = frozenset(str(victim["job"]) for plan in plans for victim in plan.victims)
    reading = replace(read_remaining_times(cluster, leaving), alike=read_correlated_jobs(cluster))
    resources = sorted({name for want in wants for name, amount in want.amounts.items() if amount})
    numbers = {node.name: number for number, node in enumerate(nodes)}
    running = read_seen_jobs(
        Job.objects.filter(cluster=cluster, phase__in=(JobPhase.RUNNING, JobPhase.COMPLETING))
    )
    managed = _managed(cluster)
    shares = [share for job in running for share in _shares(job, reading, numbers, resources, managed)]
    queue = Queue(
        free=[_vector(node.free, resources) for node in nodes],
        running=[share for _, share in shares],
        waiting=[_waits(job, want, reading, resources, managed) for job, want in waiting],
        kept=_kept(cluster, plans, numbers, waiting),
        past=_past(cluster, wanted, reading, resources, managed),
    )
    trials = [_instead(change, waiting[change.number][0], reading, resources, managed) for change in changes]
    trials += [_beside(each, each.want, resources) for each in asked if each.want]
    names, holders = [node.name for node in nodes], [job_id for job_id, _ in shares]
    return QueueReplay(queue, [job for job, _ in waiting], names, holders, hopeless, changes, asked, trials)


def _managed(cluster: Cluster) -> frozenset[str]:
    """The partitions in which Giveway places jobs, by the ends that it expects; elsewhere Slurm does, by limits."""
    rows = Partition.objects.filter(cluster=cluster, revision__isnull=False).select_related("revision")
    return frozenset(row.name for row in rows if policy_of(row).dispatch is Dispatch.MANAGED)


def _waits(
    job: SeenJob, want: PlayedWant, reading: RunsLeft, resources: Sequence[str], managed: frozenset[str]
) -> WaitingRequest:
    return replace(
        _request(job.job_id, want, reading.whole(job), resources),
        planned_s=reading.planned_whole(job, managed=job.partition in managed),
        line=job.partition,
        alike=reading.alike.of(job.job_id),
    )


def _past(
    cluster: Cluster,
    nodes: WantedNodes,
    reading: RunsLeft,
    resources: Sequence[str],
    managed: frozenset[str],
) -> list[tuple[float, WaitingRequest]]:
    """Who came in the last days. They ran as long as they did; of those that still run it is forecast."""

    def asking(job: SeenJob, want: PlayedWant, reading: RunsLeft) -> WaitingRequest:
        run = sure(job.ran_s or reading.whole(job).p50)
        planned = run.p50 if job.partition in managed else reading.planned_whole(job, managed=False)
        return replace(_request("", want, run, resources), planned_s=planned, line=job.partition)

    return read_arrivals(cluster, nodes, reading, asking)


def _instead(
    change: Alternative, job: SeenJob, reading: RunsLeft, resources: Sequence[str], managed: frozenset[str]
) -> TriedStart:
    """What a waiting job might ask for: it runs as long as it will, within its limit."""
    waits = _waits(job, change.want, reading, resources, managed)
    planned = min(waits.planned_s or UNLIMITED_S, change.limit_s or UNLIMITED_S)
    run = waits.run.at_most(change.limit_s or job.time_limit_s)
    return TriedStart(
        replace(waits, id="", run=run, planned_s=planned), change.number, instead_of=change.number
    )


def _beside(asked: PlacedQuestion, want: PlayedWant, resources: Sequence[str]) -> TriedStart:
    """Of a job that nobody has submitted nothing is known but its limit."""
    request = _request("", want, sure(asked.question.time_limit_s), resources)
    return TriedStart(replace(request, line=asked.question.partition), asked.before)


def _request(job_id: str, want: PlayedWant, run: Forecast, resources: Sequence[str]) -> WaitingRequest:
    return WaitingRequest(job_id, want.nodes, _vector(want.amounts, resources), run, want.among)


def _played(node: Node) -> PlayedNode:
    free = {name: max(0, amount - node.used.get(name, 0)) for name, amount in node.total.items()}
    return PlayedNode(node.name, node.total, free, frozenset(node.features), frozenset(node.partitions))


def _waiting(
    rows: Iterable[SeenJob], nodes: WantedNodes
) -> tuple[list[tuple[SeenJob, PlayedWant]], list[SeenJob]]:
    """Who waits in the order of the lines, with what he wants; and those who fit nowhere."""
    partitions: dict[str, set[str]] = {}
    first: dict[str, SeenJob] = {}
    for job in sorted(rows, key=attrgetter("in_line")):
        partitions.setdefault(job.job_id, set()).add(job.partition)
        first.setdefault(job.job_id, job)
    found: list[tuple[SeenJob, PlayedWant]] = []
    hopeless: list[SeenJob] = []
    for job in list(first.values())[:MOST_WAITING]:
        want = nodes.want_of_job(job.request, frozenset(partitions[job.job_id]))
        if want is None:
            hopeless.append(job)
        else:
            found.append((job, want))
    return found, hopeless


def _shares(
    job: SeenJob,
    reading: RunsLeft,
    numbers: Mapping[str, int],
    resources: Sequence[str],
    managed: frozenset[str],
) -> list[tuple[str, RunningShare]]:
    """What a running job gives back, by equal amounts."""
    together: dict[tuple[int, ...], list[int]] = {}
    for name, amounts in job.alloc.items():
        if name in numbers:
            together.setdefault(_vector(amounts, resources), []).append(numbers[name])
    left = reading.of(job) if together else sure(1)
    planned = reading.planned_left(job, managed=job.partition in managed) if together else 1
    alike = reading.alike.of(job.job_id)
    return [
        (job.job_id, RunningShare(tuple(places), holds, left, planned, alike))
        for holds, places in sorted(together.items())
    ]


def _vector(amounts: Amounts, resources: Sequence[str]) -> tuple[int, ...]:
    return tuple(amounts.get(name, 0) for name in resources)


def _kept(
    cluster: Cluster,
    plans: Iterable[Plan],
    numbers: Mapping[str, int],
    waiting: Sequence[tuple[SeenJob, PlayedWant]],
) -> dict[str, frozenset[int]]:
    """For whom nodes are kept or plans make room, and where; without nodes that take no jobs now."""
    wants = {job.job_id: want for job, want in waiting}
    places = {
        row.job_id: row.nodes
        for row in KeptPlace.objects.filter(cluster=cluster, until__gt=0, refused="", guest_of="")
    }
    places |= {plan.job_id: list(plan.placement) for plan in plans if not plan.tasks}
    found = {}
    for job_id, names in places.items():
        kept = frozenset(numbers[name] for name in names if name in numbers)
        if job_id in wants and len(kept) >= wants[job_id].nodes:
            found[job_id] = kept
    return found
