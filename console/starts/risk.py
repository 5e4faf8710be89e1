"""How likely a running job is stopped within the hour, where jobs are stopped: from the mirror, in the background.

1. Who may be stopped: running jobs that nothing protects. Who may come: as jobs came in the last week, with the levels
   that they had (`risk_picture`).
2. What came of a chance is known when its hour is over: the job was sent its stop within it, or it was not.
3. From that the next chances are corrected (`StopCalibration`), by partition.
4. Chances are shown only where they have been better than telling everybody the share that was stopped (`StopTally`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from console.cluster.models import Cluster, Job, JobPhase
from console.cluster.selectors import seen_nodes
from console.core import clock
from console.core.bulk_update import update_rows
from console.core.duty_cycle import DutyCycle, take_portions
from console.forecasts.requests import size_of
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.starts.models import StopChance, StopTally
from console.starts.remaining_time import UNKNOWN_S, RunsLeft, read_remaining_times
from console.starts.selectors import MAY_NOT, SeenJob, read_seen_jobs
from console.steering.models import Fate, Victim
from console.steering.past import PastRuns, past_of
from scheduler.forecast.stop_hour import HORIZON_S, Arrival, RiskPicture, Runner, Waiter
from scheduler.forecast.stop_risk import PastHours, StopCalibration, stop_chances
from scheduler.model.policy import Enforcement, LineOrder, PartitionPolicy
from scheduler.preemption.ranking import Ranking
from scheduler.priority.order import ranks_of

# --- What the chances of being stopped are drawn from: who runs and waits in a partition, and who came in past hours.


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


PORTION_RISK, MOST_COMPARED = 500, 2000
"""So many chances are written in one transaction; so many are compared with what came each time, the oldest first."""
BUDGET_S = 2.0
"""Partitions, and past jobs to be read, are begun until a round has taken so much of a processor."""
RENEW_S = 60
REST, MOST_REST_S = 100.0, 600.0
"""All partitions are gone through again after so many times what that took of a processor, but never more than ten
minutes after the last time began."""
RENEWED = ("made_at", "chance", "drawn")
ASKED = ("asked_at", "asked_drawn", "asked_chance")
STOPS = (Enforcement.ENFORCE, Enforcement.APPROVE)

Run = tuple[str, int]
"""A job, and when its run began."""


@dataclass
class Risks:
    """Says a cluster's chances, partition by partition, and knows when it did so last."""

    cluster: Cluster
    duty: DutyCycle = field(default_factory=lambda: DutyCycle(REST, MOST_REST_S))
    ended: EndedJobs = field(init=False)
    _to_say: list[str] = field(default_factory=list)
    _has_read: bool = False
    """Whether all that has ended is read for these."""

    def __post_init__(self) -> None:
        self.ended = EndedJobs(self.cluster)

    def say(self) -> int | None:
        """Say chances, if they are due, of as many partitions as there is time for; of how many jobs, None where none
        were due. What is left has its turn the next time."""
        if not self._to_say:
            if self.duty.since_s < RENEW_S or not self.duty.has_rested():
                return None
            rows = Partition.objects.filter(cluster=self.cluster).order_by("name")
            self._to_say = list(rows.values_list("name", flat=True))
            self._has_read = False
            self.duty.begin()
        return sum(take_portions(BUDGET_S, self._say_on()))

    def _say_on(self) -> Iterator[int]:
        left = None
        while self._to_say:
            name = self._to_say[0]
            policy = _policy_where_stopped(self.cluster, name)
            while policy is not None and not self._has_read:
                self._has_read = not self.ended.read()
                yield 0
            self._to_say.pop(0)
            if policy is None:
                StopChance.objects.filter(cluster=self.cluster, partition=name).delete()
                continue
            with self.duty.spending():
                left = left or read_remaining_times(self.cluster)
                found = self._say_of(name, policy, left)
            yield found

    def _say_of(self, name: str, policy: PartitionPolicy, left: RunsLeft) -> int:
        rows = Job.objects.filter(cluster=self.cluster, partition=name).exclude(phase=JobPhase.ENDED)
        live = read_seen_jobs(rows.order_by())
        ended = self.ended.of(name, live)
        ranks = ranks_among(policy, live, ended)
        seen, running = picture(self.cluster, name, live, ranks, left)
        past = past_hours(live, ended, ranks, left)
        drawn = stop_chances(seen, past)
        may = [number for number, runner in enumerate(seen.running) if runner.safe_s is not None]
        tally, _ = StopTally.objects.get_or_create(cluster=self.cluster, partition=name)
        runs = {(job.job_id, job.start) for job in running}
        _keep(tally, runs, [running[number] for number in may], drawn[may].tolist(), left.now)
        return len(may)


def _policy_where_stopped(cluster: Cluster, name: str) -> PartitionPolicy | None:
    """The policy of a partition; None where nobody is stopped by it."""
    rows = Partition.objects.filter(cluster=cluster, name=name, revision__isnull=False)
    policies = [policy_of(row) for row in rows.select_related("revision")]
    return next((policy for policy in policies if policy.enforcement in STOPS), None)


@dataclass(frozen=True, slots=True)
class _Said:
    job: SeenJob
    drawn: float
    chance: float

    def row(self, tally: StopTally, now: int) -> StopChance:
        """The first chance of a run, which is kept aside to be compared with what comes."""
        return StopChance(
            cluster_id=tally.cluster_id, partition=tally.partition, job_id=self.job.job_id, start=self.job.start,
            **dict(zip((*RENEWED, *ASKED), (*self.renewed(now), *self.asked(now)), strict=True)),
        )  # fmt: skip

    def renewed(self, now: int) -> tuple[int, float, float]:
        return now, self.chance, self.drawn

    def asked(self, now: int) -> tuple[int, float, float]:
        """The values of `ASKED`: kept aside, to be compared with what comes."""
        return now, self.drawn, self.chance


def _keep(
    tally: StopTally,
    runs: Collection[Run],
    jobs: Sequence[SeenJob],
    drawn: Sequence[float],
    now: int,
) -> None:
    """Write the chances down, after what came of those whose hour is over, or whose run: some of them at a time.

    A chance counts in the tally in the transaction in which it goes or is asked anew. Where another process has
    counted meanwhile, it has said the chances, too.
    """
    rows = StopChance.objects.filter(cluster=tally.cluster_id, partition=tally.partition)
    kept = {
        (job_id, start): (pk, asked_at)
        for pk, job_id, start, asked_at in rows.values_list("pk", "job_id", "start", "asked_at")
    }
    over = [
        pk for run, (pk, asked_at) in sorted(kept.items(), key=lambda each: each[1][1])
        if run not in runs or now - asked_at >= HORIZON_S
    ][:MOST_COMPARED]  # fmt: skip
    calibration, counted = StopCalibration(tally.bins), tally.jobs
    _compare(tally, calibration, rows.filter(pk__in=over))
    said = {
        (job.job_id, job.start): _Said(job, chance, calibration.corrected(chance))
        for job, chance in zip(jobs, drawn, strict=True)
    }
    tally.bins = calibration.bins
    compared = set(over)
    again = [(*said[run].asked(now), pk) for run, (pk, _) in kept.items() if run in said and pk in compared]
    with transaction.atomic():
        locked = StopTally.objects.select_for_update().get(pk=tally.pk)
        if locked.jobs != counted:
            return
        tally.save()
        update_rows(StopChance, ASKED, again)
        rows.filter(pk__in=compared - {values[-1] for values in again}).delete()
    untold = [pk for run, (pk, _) in kept.items() if run in runs and run not in said and pk not in compared]
    for first in range(0, len(untold), PORTION_RISK):  # they run on, and may not be stopped any more
        rows.filter(pk__in=untold[first : first + PORTION_RISK]).delete()
    _write(tally, said, kept, now)


def _write(
    tally: StopTally, said: Mapping[Run, _Said], kept: Mapping[Run, tuple[int, int]], now: int
) -> None:
    """The chances themselves. A job whose former run is not compared yet has its own the next time."""
    renewed = [(*said[run].renewed(now), pk) for run, (pk, _) in kept.items() if run in said]
    for first in range(0, len(renewed), PORTION_RISK):
        update_rows(StopChance, RENEWED, renewed[first : first + PORTION_RISK])
    new = [each.row(tally, now) for run, each in said.items() if run not in kept]
    for first in range(0, len(new), PORTION_RISK):
        StopChance.objects.bulk_create(new[first : first + PORTION_RISK], ignore_conflicts=True)


def _compare(tally: StopTally, calibration: StopCalibration, over: Iterable[StopChance]) -> None:
    """Of the chances whose hour is over, and of those whose job is gone: whether the job was sent its stop in it."""
    over = list(over)
    victims = Victim.objects.filter(cluster=tally.cluster_id, job_id__in=[row.job_id for row in over])
    sent = {
        (victim.job_id, victim.run_start): int(victim.sent_at.timestamp())
        for victim in victims.exclude(fate=Fate.SPARED)
    }
    for row in over:
        at = sent.get((row.job_id, row.start))
        stopped = at is not None and row.asked_at <= at <= row.asked_at + HORIZON_S
        tally.count(row.asked_chance, stopped=stopped)
        calibration.came(row.asked_drawn, stopped=stopped)
