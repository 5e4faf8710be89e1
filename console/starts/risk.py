"""How likely a running job is stopped within the hour, where jobs are stopped: from the mirror, in the background.

1. Who may be stopped: running jobs that nothing protects. Who may come: as jobs came in the last week, with the levels
   that they had (`risk_picture`).
2. What came of a chance is known when its hour is over: the job was sent its stop within it, or it was not.
3. From that the next chances are corrected and learned (`scheduler.forecast.stop_learned`), by partition.
4. Chances are shown only where they have been better than telling everybody the share that was stopped (`StopTally`).
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from console.cluster.models import Cluster, Job, JobPhase
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.starts.left import runs_left
from console.starts.models import StopChance, StopTally
from console.starts.risk_picture import past_hours, picture, ranks_among, remembered
from console.steering.models import Fate, Victim
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_figures import FIGURES, figures_of
from scheduler.forecast.stop_learned import EXPERTS, StopLearner
from scheduler.forecast.stop_picture import HORIZON_S
from scheduler.forecast.stop_risk import StopCalibration, draws_for, stop_chances
from scheduler.model.policy import Enforcement, PartitionPolicy

BATCH = 300
RENEW_S = 60
REST = 20.0
"""Said again no sooner than after so many times as long as it took: it is not to keep a core busy."""
RENEWED = ("made_at", "chance", "drawn")
ASKED = ("asked_at", "asked_drawn", "asked_chance", "asked_experts", "asked_figures")
DIGITS = 5
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
        past = past_hours(jobs, ranks, left)
        drawn = stop_chances(seen, past)
        known = figures_of(seen, past, drawn, draws_for(seen))
        may = [number for number, runner in enumerate(seen.running) if runner.safe_s is not None]
        with transaction.atomic():
            tally, _ = StopTally.objects.select_for_update().get_or_create(
                cluster=self.cluster, partition=name
            )
            _keep(tally, [running[number] for number in may], drawn[may], known[may], left.now)
        return len(may)


@dataclass(frozen=True, slots=True)
class _Said:
    """What is said of a job now. `experts`, `figures`: what its chance was made of, to be learned from."""

    job: Job
    drawn: float
    chance: float
    experts: list[float]
    figures: list[float]

    def set(self, row: StopChance, now: int) -> bool:
        """Write it down; whether it is kept aside to be compared with what comes."""
        row.made_at, row.chance, row.drawn = now, self.chance, self.drawn
        if row.pk and now - row.asked_at < HORIZON_S:
            return False
        row.asked_at, row.asked_drawn, row.asked_chance = now, self.drawn, self.chance
        row.asked_experts, row.asked_figures = self.experts, self.figures
        return True


def _keep(tally: StopTally, jobs: Sequence[Job], drawn: Floats, figures: Floats, now: int) -> None:
    """Write the chances down, after what came of those whose hour is over."""
    kept = {
        row.job_id: row
        for row in StopChance.objects.filter(cluster=tally.cluster_id, partition=tally.partition)
    }
    calibration, learner = StopCalibration(tally.bins), StopLearner(tally.learned)
    _compare(tally, calibration, learner, kept.values(), now)
    new: list[StopChance] = []
    renewed: list[StopChance] = []
    asked: list[StopChance] = []
    running = set()
    for said in _said(tally, calibration, learner, jobs, drawn, figures):
        running.add(said.job.job_id)
        row = kept.get(said.job.job_id)
        if row is None or row.start != said.job.start:
            row = StopChance(
                cluster_id=tally.cluster_id,
                partition=tally.partition,
                job_id=said.job.job_id,
                start=said.job.start,
            )
            said.set(row, now)
            new.append(row)
        else:
            (asked if said.set(row, now) else renewed).append(row)
    again = {row.job_id for row in new}
    gone = [row.pk for row in kept.values() if row.job_id not in running or row.job_id in again]
    StopChance.objects.filter(pk__in=gone).delete()
    StopChance.objects.bulk_create(new, batch_size=BATCH)
    StopChance.objects.bulk_update(renewed, RENEWED, batch_size=BATCH)
    StopChance.objects.bulk_update(asked, [*RENEWED, *ASKED], batch_size=BATCH)
    tally.bins, tally.learned = calibration.bins, learner.state
    tally.save()


def _said(
    tally: StopTally,
    calibration: StopCalibration,
    learner: StopLearner,
    jobs: Sequence[Job],
    drawn: Floats,
    figures: Floats,
) -> list[_Said]:
    """The chances of jobs, by all that has come so far."""
    experts = learner.experts(
        tally.base, [calibration.corrected(chance) for chance in drawn.tolist()], figures
    )
    rows = zip(jobs, drawn.tolist(), learner.told(experts).tolist(), experts.round(DIGITS).tolist(),
               figures.round(DIGITS).tolist(), strict=True)  # fmt: skip
    return [_Said(*row) for row in rows]


def _compare(
    tally: StopTally, calibration: StopCalibration, learner: StopLearner, rows: Iterable[StopChance], now: int
) -> None:
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
    lessons = []
    for row in over:
        at = sent.get((row.job_id, row.start))
        stopped = at is not None and row.asked_at <= at <= row.asked_at + HORIZON_S
        tally.count(row.asked_chance, stopped=stopped)
        calibration.came(row.asked_drawn, stopped=stopped)
        if len(row.asked_figures) == FIGURES and len(row.asked_experts) == EXPERTS:
            lessons.append((row.asked_figures, row.asked_experts, stopped))
    if lessons:
        figures, experts, outcomes = zip(*lessons, strict=True)
        learner.came(np.array(figures), np.array(experts), outcomes)


_RISKS: dict[int, Risks] = {}


def risks(cluster: Cluster) -> Risks:
    """The one of this process."""
    return _RISKS.setdefault(cluster.pk, Risks(cluster))
