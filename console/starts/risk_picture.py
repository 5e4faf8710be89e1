"""What the chances of being stopped are drawn from: who runs and waits in a partition, and who came in past hours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import seen_nodes
from console.core import clock
from console.forecasts.requests import size_of
from console.starts.left import UNKNOWN_S, RunsLeft
from console.starts.selectors import MAY_NOT, SeenJob, read_seen_jobs
from console.steering.decisions.past import PastRuns, past_of
from scheduler.forecast.stop_picture import HORIZON_S, Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import PastHours
from scheduler.model.policy import LineOrder, PartitionPolicy
from scheduler.preemption.ranking import Ranking
from scheduler.priority.order import ranks_of

REMEMBERED_S = 7 * 86_400
"""Of older hours the mirror knows only the jobs that have not ended."""
PORTION = 20_000
"""So many jobs that have ended are read at a time."""
LATE = timedelta(minutes=5)
"""An end is written down within so long after the moment that it has in the mirror."""

Numbers = NDArray[np.int64]
MANY_LEVELS = 1 << 16
PK, SUBMITTED, LEVELS, NODES, CPUS, GPUS, LASTS = range(7)
"""What is remembered of a job: columns of `EndedJobs.rows`. `LEVELS`: both of them in one number."""


@dataclass
class EndedJobs:
    """The jobs of the last week that have ended, by partition, in the order of their submission.

    There are ten times more of them than of others, so each is read once. A row is of whole numbers; `LASTS` is how
    long the job ran, its limit where that is not known.
    """

    cluster: Cluster
    rows: dict[str, Numbers] = field(default_factory=dict)
    _until: tuple[datetime, int] | None = None
    """The end and the key of the last one that was read."""

    def read(self) -> bool:
        """Read on, some of them; whether there may be more."""
        now = clock.now()
        since, last = self._until or (now - timedelta(seconds=REMEMBERED_S), 0)
        ended = Job.objects.filter(cluster=self.cluster, phase=JobPhase.ENDED, ended_at__gte=since)
        some = read_seen_jobs(
            ended.exclude(ended_at=since, pk__lte=last).order_by("ended_at", "pk")[:PORTION]
        )
        by_partition: dict[str, list[list[int]]] = {}
        for job in some:
            by_partition.setdefault(job.partition, []).append(_remembered(job))
        oldest = int(now.timestamp()) - REMEMBERED_S
        for name in self.rows.keys() | by_partition:
            self._add(name, by_partition.get(name, []), oldest)
        if len(some) == PORTION and some[-1].ended_at is not None:
            self._until = some[-1].ended_at, some[-1].pk
            return True
        self._until = now - LATE, 0
        return False

    def _add(self, name: str, new: list[list[int]], oldest: int) -> None:
        """More rows of a partition; of a job that is read again the last reading counts."""
        before, added = self.rows.get(name, _no_rows()), _rows(new)
        rows = np.concatenate([before[~np.isin(before[:, PK], added[:, PK])], added])
        self.rows[name] = _in_order(rows[rows[:, SUBMITTED] >= oldest])

    def of(self, partition: str, live: Sequence[SeenJob]) -> Numbers:
        """Those of a partition; who was gone and is there again is not among them."""
        rows = self.rows.get(partition, _no_rows())
        return rows[~np.isin(rows[:, PK], [job.pk for job in live])]


def _remembered(job: SeenJob, lasts: int | None = None) -> list[int]:
    size = size_of(job)
    lasts = lasts or job.ran_s or job.time_limit_s or UNKNOWN_S
    return [job.pk, job.submitted, _code(job), max(1, size.nodes), size.cpus, size.gpus, lasts]


def _code(job: SeenJob) -> int:
    user, task = (0 if level is None else level + 1 for level in (job.user_level, job.task_level))
    return user * MANY_LEVELS + task


def _levels(code: int) -> tuple[int | None, int | None]:
    user, task = divmod(code, MANY_LEVELS)
    return user - 1 if user else None, task - 1 if task else None


def _rows(rows: Sequence[Sequence[int]]) -> Numbers:
    return np.array(rows, np.int64).reshape(-1, LASTS + 1)


def _no_rows() -> Numbers:
    return _rows([])


def _in_order(rows: Numbers) -> Numbers:
    return rows[np.lexsort((rows[:, PK], rows[:, SUBMITTED]))]


@dataclass(frozen=True)
class Ranks:
    """The ranks of a partition as numbers, the larger served first; what its jobs are counted in.

    `main`: GPUs where jobs have any, else CPUs.
    """

    policy: PartitionPolicy
    numbers: Mapping[tuple[int, int], int]
    outranks: Mapping[int, frozenset[int]]
    main: str

    def of(self, job: SeenJob) -> int:
        """The rank of a job; one of a level that nobody had before counts as the lowest."""
        return self.of_levels(job.user_level, job.task_level)

    def of_levels(self, user: int | None, task: int | None) -> int:
        """The same of levels."""
        return self.numbers.get(ranks_of(self.policy.mode, user, task), 0)

    def units(self, job: SeenJob) -> int:
        """What it holds, or asks for."""
        size = size_of(job)
        return size.gpus if self.main == "gpu" else size.cpus


def ranks_among(policy: PartitionPolicy, live: Sequence[SeenJob], ended: Numbers) -> Ranks:
    """Those that the jobs have."""
    ranking = Ranking(policy.mode, policy.bands)
    levels = {(job.user_level, job.task_level) for job in live}
    levels |= {_levels(code) for code in np.unique(ended[:, LEVELS]).tolist()}
    pairs = sorted({ranks_of(policy.mode, *each) for each in levels})
    numbers = {pair: number for number, pair in enumerate(pairs)}
    outranks = {
        numbers[pair]: frozenset(
            numbers[other] for other in pairs if ranking.scope(*pair).class_of(*other) is not None
        )
        for pair in pairs
    }
    has_gpus = bool(ended[:, GPUS].any()) or any(size_of(job).gpus for job in live)
    return Ranks(policy, numbers, outranks, "gpu" if has_gpus else "cpu")


def past_hours(live: Sequence[SeenJob], ended: Numbers, ranks: Ranks, left: RunsLeft) -> PastHours:
    """Who came in each hour up to now, as far back as the mirror remembers; the first hour is the oldest."""
    rows = np.concatenate([ended, _rows([_remembered(job, int(left.whole(job).p50)) for job in live])])
    ago = left.now - rows[:, SUBMITTED]
    rows = _in_order(rows[(ago > 0) & (ago <= REMEMBERED_S)])
    age, rest = np.divmod(left.now - rows[:, SUBMITTED], HORIZON_S)
    rank = {code: ranks.of_levels(*_levels(code)) for code in np.unique(rows[:, LEVELS]).tolist()}
    columns = (
        HORIZON_S - 1 - rest, rows[:, LEVELS], rows[:, GPUS if ranks.main == "gpu" else CPUS], rows[:, LASTS],
        rows[:, NODES],
    )  # fmt: skip
    hours: list[list[Arrival]] = [[] for _ in range(int(age.max(initial=-1)) + 1)]
    for hours_ago, at_s, code, units, lasts_s, nodes in zip(
        age.tolist(), *(column.tolist() for column in columns), strict=True
    ):
        hours[-1 - hours_ago].append(Arrival(at_s, rank[code], units, lasts_s, nodes))
    return PastHours(hours)


def picture(
    cluster: Cluster, partition: str, live: Sequence[SeenJob], ranks: Ranks, left: RunsLeft
) -> tuple[RiskPicture, list[SeenJob]]:
    """What is known now, and the jobs that run, in the order of `running`."""
    running = sorted((job for job in live if job.phase == JobPhase.RUNNING), key=lambda job: job.job_id)
    past = past_of(cluster) if any(job.restarts for job in live) else PastRuns()
    policy = ranks.policy
    nodes = [node for node in seen_nodes(cluster) if node.up and partition in node.partitions]
    room = [max(0, node.total.get(ranks.main, 0) - node.used.get(ranks.main, 0)) for node in nodes]
    numbers = {node.name: number for number, node in enumerate(nodes)}
    waiting = [
        job for job in live
        if job.phase == JobPhase.PENDING and job.place and not job.held and job.reason not in MAY_NOT
    ]  # fmt: skip
    return RiskPicture(
        running=[_runner(job, ranks, left, past, numbers) for job in running],
        free=sum(room),
        waiting=[
            Waiter(ranks.of(job), ranks.units(job), left.whole(job), past.ran_before(job.job_id, job.restarts),
                   max(1, size_of(job).nodes))
            for job in sorted(waiting, key=lambda job: job.in_line)
        ],
        outranks=ranks.outranks,
        by_rank=policy.order is LineOrder.LEVELS,
        exempt_s=policy.exempt_s,
        nodes=room,
    ), running  # fmt: skip


def _runner(job: SeenJob, ranks: Ranks, left: RunsLeft, past: PastRuns, nodes: Mapping[str, int]) -> Runner:
    ran = max(0, left.now - job.start)
    safe: int | None = max(0, ranks.policy.exempt_s - ran, ranks.policy.rest_s - ran if job.restarts else 0)
    if job.protected or job.immune:
        safe = None
    before = past.ran_before(job.job_id, job.restarts)
    on = tuple((nodes[name], holds.get(ranks.main, 0)) for name, holds in job.alloc.items() if name in nodes)
    return Runner(ranks.of(job), ranks.units(job), left.of(job), ran + before, safe, on)
