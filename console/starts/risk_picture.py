"""What the chances of being stopped are drawn from: who runs and waits in a partition, and who came in past hours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.forecasts.requests import size_of
from console.starts.came import ran_s
from console.starts.left import RunsLeft
from console.starts.play import in_line
from console.starts.selectors import MAY_NOT
from console.steering.decisions.past import PastRuns, past_of
from scheduler.forecast.stop_picture import HORIZON_S, Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import PastHours
from scheduler.model.policy import LineOrder, PartitionPolicy
from scheduler.preemption.ranking import Ranking
from scheduler.priority.order import ranks_of

REMEMBERED_S = 7 * 86_400
"""Of older hours the mirror knows only the jobs that have not ended."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Ranks:
    """The ranks of a partition as numbers, the larger served first; what its jobs are counted in.

    `main`: GPUs where jobs have any, else CPUs.
    """

    policy: PartitionPolicy
    numbers: Mapping[Pair, int]
    outranks: Mapping[int, frozenset[int]]
    main: str

    def of(self, job: Job) -> int:
        """The rank of a job; one of a level that nobody had before counts as the lowest."""
        return self.numbers.get(_pair(self.policy, job), 0)

    def units(self, job: Job) -> int:
        """What it holds, or asks for."""
        size = size_of(job)
        return size.gpus if self.main == "gpu" else size.cpus


def ranks_among(policy: PartitionPolicy, jobs: Sequence[Job]) -> Ranks:
    """Those that the jobs have."""
    ranking = Ranking(policy.mode, policy.bands)
    pairs = sorted({_pair(policy, job) for job in jobs})
    numbers = {pair: number for number, pair in enumerate(pairs)}
    outranks = {
        numbers[pair]: frozenset(
            numbers[other] for other in pairs if ranking.scope(*pair).class_of(*other) is not None
        )
        for pair in pairs
    }
    main = "gpu" if any(size_of(job).gpus for job in jobs) else "cpu"
    return Ranks(policy, numbers, outranks, main)


def _pair(policy: PartitionPolicy, job: Job) -> Pair:
    return ranks_of(policy.mode, job.user_level, job.task_level)


def remembered(cluster: Cluster, partition: str) -> list[Job]:
    """All jobs of a partition that the mirror has, ended ones too."""
    rows = Job.objects.filter(cluster=cluster, partition=partition)
    return list(rows.defer("comment", "explain", "fingerprint"))


def past_hours(jobs: Sequence[Job], ranks: Ranks, left: RunsLeft) -> PastHours:
    """Who came in each hour up to now, as far back as the mirror remembers; the first hour is the oldest."""
    by_age: dict[int, list[Arrival]] = {}
    for job in jobs:
        ago = left.now - (job.first_submit or job.submit)
        if 0 < ago <= REMEMBERED_S:
            age, rest = divmod(ago, HORIZON_S)
            lasts = ran_s(job) or left.whole(job).p50
            nodes = max(1, size_of(job).nodes)
            arrival = Arrival(HORIZON_S - 1 - rest, ranks.of(job), ranks.units(job), int(lasts), nodes)
            by_age.setdefault(age, []).append(arrival)
    oldest = max(by_age, default=-1)
    return PastHours([by_age.get(age, []) for age in range(oldest, -1, -1)])


def picture(
    cluster: Cluster, partition: str, jobs: Sequence[Job], ranks: Ranks, left: RunsLeft
) -> tuple[RiskPicture, list[Job]]:
    """What is known now, and the jobs that run, in the order of `running`."""
    running = sorted((job for job in jobs if job.phase == JobPhase.RUNNING), key=lambda job: job.job_id)
    past = past_of(cluster) if any(job.restarts for job in jobs) else PastRuns()
    policy = ranks.policy
    nodes = [node for node in Node.objects.filter(cluster=cluster, up=True) if partition in node.partitions]
    room = [max(0, node.total.get(ranks.main, 0) - node.used.get(ranks.main, 0)) for node in nodes]
    numbers = {node.name: number for number, node in enumerate(nodes)}
    waiting = [
        job for job in jobs
        if job.phase == JobPhase.PENDING and job.place and not job.held and job.reason not in MAY_NOT
    ]  # fmt: skip
    return RiskPicture(
        running=[_runner(job, ranks, left, past, numbers) for job in running],
        free=sum(room),
        waiting=[
            Waiter(ranks.of(job), ranks.units(job), left.whole(job), past.ran_before(job.job_id, job.restarts),
                   max(1, size_of(job).nodes))
            for job in sorted(waiting, key=in_line)
        ],
        outranks=ranks.outranks,
        by_rank=policy.order is LineOrder.LEVELS,
        exempt_s=policy.exempt_s,
        nodes=room,
    ), running  # fmt: skip


def _runner(job: Job, ranks: Ranks, left: RunsLeft, past: PastRuns, nodes: Mapping[str, int]) -> Runner:
    ran = max(0, left.now - job.start)
    safe: int | None = max(0, ranks.policy.exempt_s - ran, ranks.policy.rest_s - ran if job.restarts else 0)
    if job.protected or job.immune:
        safe = None
    before = past.ran_before(job.job_id, job.restarts)
    on = tuple((nodes[name], holds.get(ranks.main, 0)) for name, holds in job.alloc.items() if name in nodes)
    return Runner(ranks.of(job), ranks.units(job), left.of(job), ran + before, safe, on)
