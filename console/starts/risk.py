"""How likely a running job is stopped within the hour, where jobs are stopped: from the mirror, in the background.

1. Who may be stopped: running jobs that nothing protects. In their order: the lowest rank first, in it who has run
   least.
2. Who may come: as jobs came in the last week, as far as the mirror remembers them, with the levels that they had.
3. What came of a chance is known when its hour is over: the job was sent its stop within it, or it was not.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import transaction

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.core import clock
from console.forecasts.models import JobForecast
from console.forecasts.requests import size_of
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.starts.left import RunsLeft
from console.starts.models import StopChance, StopTally
from console.steering.models import Fate, Victim
from scheduler.forecast.stop_risk import (
    HORIZON_S,
    ArrivalRates,
    RiskPicture,
    Standing,
    StopCalibration,
    stop_chances,
)
from scheduler.model.policy import Enforcement, PartitionPolicy
from scheduler.preemption.ranking import Ranking
from scheduler.priority.order import ranks_of

BATCH = 300
RENEW_S = 60
RATES_S = 3600
"""Who came is counted anew after so long."""
STOPS = (Enforcement.ENFORCE, Enforcement.APPROVE)

Pair = tuple[int, int]


@dataclass
class Risks:
    """What this process knows of a cluster's arrivals, and when it said its chances last."""

    cluster: Cluster
    said_at: float = 0.0
    counted_at: float = 0.0
    rates: dict[str, "PartitionRates"] = field(default_factory=dict)

    def say(self) -> int | None:
        """Say all chances, if it is due; of how many jobs, None where it was not due."""
        now = time.monotonic()
        if self.said_at and now - self.said_at < RENEW_S:
            return None
        self.said_at = now
        if not self.counted_at or now - self.counted_at >= RATES_S:
            self.rates, self.counted_at = {}, now
        found = 0
        for partition in Partition.objects.filter(cluster=self.cluster).select_related("revision"):
            if partition.revision is None or policy_of(partition).enforcement not in STOPS:
                StopChance.objects.filter(cluster=self.cluster, partition=partition.name).delete()
                continue
            found += self._say_of(partition.name, policy_of(partition))
        return found

    def _say_of(self, name: str, policy: PartitionPolicy) -> int:
        if name not in self.rates:
            self.rates[name] = _counted(self.cluster, name, policy)
        rates = self.rates[name]
        jobs = _stoppable(self.cluster, name, policy)
        now = int(clock.now().timestamp())
        drawn = stop_chances(_picture(self.cluster, name, jobs, rates, now), rates.rates, hour_of_week(now))
        with transaction.atomic():
            tally, _ = StopTally.objects.select_for_update().get_or_create(
                cluster=self.cluster, partition=name
            )
            _keep(tally, jobs, [float(chance) for chance in drawn], now)
        return len(jobs)


@dataclass(frozen=True)
class PartitionRates:
    """`numbers`: the ranks by their weights. `main`: the resource that is counted in, GPUs where jobs have any."""

    rates: ArrivalRates
    numbers: Mapping[Pair, int]
    outranks: Mapping[int, frozenset[int]]
    policy: PartitionPolicy
    main: str

    def rank(self, job: Job) -> int:
        """The rank of a job; one of a level that nobody had before counts as the lowest."""
        return self.numbers.get(_pair(self.policy, job), 0)

    def units(self, job: Job) -> int:
        """What it holds, or asks for."""
        size = size_of(job)
        return size.gpus if self.main == "gpu" else size.cpus


def hour_of_week(epoch_s: int) -> int:
    """0 to 167; Monday's first hour (UTC) is 0."""
    moment = datetime.fromtimestamp(epoch_s, UTC)
    return moment.weekday() * 24 + moment.hour


def _pair(policy: PartitionPolicy, job: Job) -> Pair:
    return ranks_of(policy.mode, job.user_level, job.task_level)


def _counted(cluster: Cluster, name: str, policy: PartitionPolicy) -> PartitionRates:
    """Who came to a partition, by hour, as far back as it is remembered; the present hour is not over."""
    jobs = list(
        Job.objects.filter(cluster=cluster, partition=name).defer("comment", "explain", "fingerprint")
    )
    ranking = Ranking(policy.mode, policy.bands)
    pairs = sorted({_pair(policy, job) for job in jobs})
    numbers = {pair: number for number, pair in enumerate(pairs)}
    outranks = {
        numbers[pair]: frozenset(
            numbers[other] for other in pairs if ranking.reach(*pair).class_of(*other) is not None
        )
        for pair in pairs
    }
    main = "gpu" if any(size_of(job).gpus for job in jobs) else "cpu"
    made = PartitionRates(ArrivalRates(), numbers, outranks, policy, main)
    by_hour: dict[int, list[tuple[int, int]]] = {}
    for job in jobs:
        at = (job.first_submit or job.submit) // HORIZON_S
        by_hour.setdefault(at, []).append((made.rank(job), made.units(job)))
    for hour in range(min(by_hour, default=0), int(clock.now().timestamp()) // HORIZON_S):
        made.rates.watched(hour_of_week(hour * HORIZON_S), by_hour.get(hour, ()))
    return made


def _stoppable(cluster: Cluster, name: str, policy: PartitionPolicy) -> list[Job]:
    rows = Job.objects.filter(
        cluster=cluster, partition=name, phase=JobPhase.RUNNING, protected="", immune=""
    )
    return sorted(
        rows.defer("comment", "explain", "fingerprint"),
        key=lambda job: (_pair(policy, job), -job.start, job.job_id),
    )


def _picture(
    cluster: Cluster, name: str, jobs: Sequence[Job], rates: PartitionRates, now: int
) -> RiskPicture:
    forecasts = {
        row.job_id: row
        for row in JobForecast.objects.filter(cluster=cluster, ended_at=None).order_by("submit")
    }
    left = RunsLeft(now, forecasts)
    nodes = [node for node in Node.objects.filter(cluster=cluster, up=True) if name in node.partitions]
    free = sum(max(0, node.total.get(rates.main, 0) - node.used.get(rates.main, 0)) for node in nodes)
    waiting = [
        (rates.rank(job), rates.units(job))
        for job in Job.objects.filter(cluster=cluster, partition=name, phase=JobPhase.PENDING, held=False)
    ]
    return RiskPicture(
        running=[Standing(rates.rank(job), rates.units(job), left.of(job)) for job in jobs],
        free=free,
        ahead={
            rank: sum(units for other, units in waiting if other not in lower)
            for rank, lower in rates.outranks.items()
        },
        outranks=rates.outranks,
    )


def _keep(tally: StopTally, jobs: Sequence[Job], drawn: Sequence[float], now: int) -> None:
    """Write the chances down, after what came of those whose hour is over."""
    calibration = StopCalibration(tally.bins)
    kept = {
        row.job_id: row
        for row in StopChance.objects.filter(cluster=tally.cluster_id, partition=tally.partition)
    }
    _compare(tally, calibration, kept.values(), now)
    new, changed, running = [], [], set()
    for job, chance in zip(jobs, drawn, strict=True):
        running.add(job.job_id)
        corrected = calibration.corrected(chance)
        row = kept.get(job.job_id)
        if row is None or row.start != job.start:
            new.append(StopChance(
                cluster_id=tally.cluster_id, partition=tally.partition, job_id=job.job_id, start=job.start,
                made_at=now, chance=corrected, drawn=chance,
                asked_at=now, asked_drawn=chance, asked_chance=corrected,
            ))  # fmt: skip
            continue
        row.made_at, row.chance, row.drawn = now, corrected, chance
        if now - row.asked_at >= HORIZON_S:
            row.asked_at, row.asked_drawn, row.asked_chance = now, chance, corrected
        changed.append(row)
    again = {row.job_id for row in new}
    gone = [row.pk for row in kept.values() if row.job_id not in running or row.job_id in again]
    StopChance.objects.filter(pk__in=gone).delete()
    StopChance.objects.bulk_create(new, batch_size=BATCH)
    fields = ["made_at", "chance", "drawn", "asked_at", "asked_drawn", "asked_chance"]
    StopChance.objects.bulk_update(changed, fields, batch_size=BATCH)
    tally.bins = calibration.bins
    tally.save()


def _compare(tally: StopTally, calibration: StopCalibration, rows: Iterable[StopChance], now: int) -> None:
    """Of the chances whose hour is over, and of those whose job is gone: whether the job was sent its stop in it."""
    runs = {
        (job_id, start)
        for job_id, start in Job.objects.filter(
            cluster=tally.cluster_id, partition=tally.partition, phase=JobPhase.RUNNING
        ).values_list("job_id", "start")
    }
    over = [row for row in rows if now - row.asked_at >= HORIZON_S or (row.job_id, row.start) not in runs]
    sent = {
        (victim.job_id, victim.run_start): int(victim.sent_at.timestamp())
        for victim in Victim.objects.filter(
            cluster=tally.cluster_id, job_id__in=[row.job_id for row in over]
        ).exclude(fate=Fate.SPARED)
    }
    for row in over:
        at = sent.get((row.job_id, row.start))
        stopped = at is not None and row.asked_at <= at <= row.asked_at + HORIZON_S
        base = tally.stopped / tally.jobs if tally.jobs else 0.0
        tally.squares += (row.asked_chance - stopped) ** 2
        tally.base_squares += (base - stopped) ** 2
        tally.jobs += 1
        tally.stopped += stopped
        calibration.came(row.asked_drawn, stopped=stopped)


_RISKS: dict[int, Risks] = {}


def risks(cluster: Cluster) -> Risks:
    """The one of this process."""
    return _RISKS.setdefault(cluster.pk, Risks(cluster))
