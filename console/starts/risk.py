"""How likely a running job is stopped within the hour, where jobs are stopped: from the mirror, in the background.

1. Who may be stopped: running jobs that nothing protects. Who may come: as jobs came in the last week, with the levels
   that they had (`risk_picture`).
2. What came of a chance is known when its hour is over: the job was sent its stop within it, or it was not.
3. Chances are shown only where they have been better than telling everybody the share that was stopped (`StopTally`).
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction

from console.cluster.models import Cluster, Job, JobPhase
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.starts.left import runs_left
from console.starts.models import StopChance, StopTally
from console.starts.risk_picture import past_hours, picture, ranks_among, remembered
from console.steering.models import Fate, Victim
from scheduler.forecast.stop_hour import HORIZON_S
from scheduler.forecast.stop_risk import StopCalibration, stop_chances
from scheduler.model.policy import Enforcement, PartitionPolicy

BATCH = 300
RENEW_S = 60
REST = 20.0
"""Said again no sooner than after so many times as long as it took: it is not to keep a core busy."""
STOPS = (Enforcement.ENFORCE, Enforcement.APPROVE)


@dataclass
class Risks:
    """Says a cluster's chances, and knows when it did so last."""

    cluster: Cluster
    due: float = 0.0

    def say(self) -> int | None:
        """Say all chances, if it is due; of how many jobs, None where it was not due."""
        began = time.monotonic()
        if began < self.due:
            return None
        found = self._say_all()
        self.due = began + max(RENEW_S, REST * (time.monotonic() - began))
        return found

    def _say_all(self) -> int:
        found = 0
        for partition in Partition.objects.filter(cluster=self.cluster).select_related("revision"):
            if partition.revision is None or policy_of(partition).enforcement not in STOPS:
                StopChance.objects.filter(cluster=self.cluster, partition=partition.name).delete()
                continue
            found += self._say_of(partition.name, policy_of(partition))
        return found

    def _say_of(self, name: str, policy: PartitionPolicy) -> int:
        jobs = remembered(self.cluster, name)
        ranks, left = ranks_among(policy, jobs), runs_left(self.cluster)
        seen, running = picture(self.cluster, name, jobs, ranks, left)
        drawn = stop_chances(seen, past_hours(jobs, ranks, left))
        stoppable = [
            (job, float(chance))
            for job, runner, chance in zip(running, seen.running, drawn, strict=True)
            if runner.safe_s is not None
        ]
        with transaction.atomic():
            tally, _ = StopTally.objects.select_for_update().get_or_create(
                cluster=self.cluster, partition=name
            )
            _keep(tally, [job for job, _ in stoppable], [chance for _, chance in stoppable], left.now)
        return len(stoppable)


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
