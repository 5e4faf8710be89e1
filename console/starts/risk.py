"""How likely a running job is stopped within the hour, where jobs are stopped: from the mirror, in the background.

1. Who may be stopped: running jobs that nothing protects. Who may come: as jobs came in the last week, with the levels
   that they had (`risk_picture`).
2. What came of a chance is known when its hour is over: the job was sent its stop within it, or it was not.
3. From that the next chances are corrected and learned (`scheduler.forecast.stop_learned`), by partition.
4. Chances are shown only where they have been better than telling everybody the share that was stopped (`StopTally`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db import transaction

from console.cluster.models import Cluster, Job, JobPhase
from console.core.duty_cycle import DutyCycle, take_portions
from console.core.many_rows import update_rows
from console.core.remembered import on_forgetting
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.starts.left import RunsLeft, runs_left
from console.starts.models import StopChance, StopTally
from console.starts.risk_picture import EndedJobs, past_hours, picture, ranks_among
from console.starts.selectors import SeenJob, read_seen_jobs
from console.steering.models import Fate, Victim
from scheduler.forecast.history import Floats
from scheduler.forecast.stop_figures import FIGURES, figures_of
from scheduler.forecast.stop_learned import EXPERTS, StopLearner
from scheduler.forecast.stop_picture import HORIZON_S
from scheduler.forecast.stop_risk import StopCalibration, draws_for, stop_chances
from scheduler.model.policy import Enforcement, PartitionPolicy

PORTION, MOST_COMPARED = 500, 2000
"""So many chances are written in one transaction; so many are compared with what came each time, the oldest first."""
BUDGET_S = 2.0
"""Partitions, and past jobs to be read, are begun until a round has taken so much of a processor."""
RENEW_S = 60
REST, MOST_REST_S = 100.0, 600.0
"""All partitions are gone through again after so many times what that took of a processor, but never more than ten
minutes after the last time began."""
RENEWED = ("made_at", "chance", "drawn")
ASKED = ("asked_at", "asked_drawn", "asked_chance", "asked_experts", "asked_figures")
DIGITS = 5
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
                left = left or runs_left(self.cluster)
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
        known = figures_of(seen, past, drawn, draws_for(seen))
        may = [number for number, runner in enumerate(seen.running) if runner.safe_s is not None]
        tally, _ = StopTally.objects.get_or_create(cluster=self.cluster, partition=name)
        runs = {(job.job_id, job.start) for job in running}
        _keep(tally, runs, [running[number] for number in may], drawn[may], known[may], left.now)
        return len(may)


def _policy_where_stopped(cluster: Cluster, name: str) -> PartitionPolicy | None:
    """The policy of a partition; None where nobody is stopped by it."""
    rows = Partition.objects.filter(cluster=cluster, name=name, revision__isnull=False)
    policies = [policy_of(row) for row in rows.select_related("revision")]
    return next((policy for policy in policies if policy.enforcement in STOPS), None)


@dataclass(frozen=True, slots=True)
class _Said:
    """What is said of a job now. `experts`, `figures`: what its chance was made of, to be learned from."""

    job: SeenJob
    drawn: float
    chance: float
    experts: list[float]
    figures: list[float]

    def row(self, tally: StopTally, now: int) -> StopChance:
        """The first chance of a run, which is kept aside to be compared with what comes."""
        return StopChance(
            cluster_id=tally.cluster_id, partition=tally.partition, job_id=self.job.job_id, start=self.job.start,
            **dict(zip((*RENEWED, *ASKED), (*self.renewed(now), *self.asked(now)), strict=True)),
        )  # fmt: skip

    def renewed(self, now: int) -> tuple[int, float, float]:
        """The values of `RENEWED`."""
        return now, self.chance, self.drawn

    def asked(self, now: int) -> tuple[int, float, float, list[float], list[float]]:
        """The values of `ASKED`: kept aside, to be compared with what comes."""
        return now, self.drawn, self.chance, self.experts, self.figures


def _keep(
    tally: StopTally,
    runs: Collection[Run],
    jobs: Sequence[SeenJob],
    drawn: Floats,
    figures: Floats,
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
    calibration, learner, counted = StopCalibration(tally.bins), StopLearner(tally.learned), tally.jobs
    _compare(tally, calibration, learner, rows.filter(pk__in=over))
    said = {
        (each.job.job_id, each.job.start): each
        for each in _said(tally, calibration, learner, jobs, drawn, figures)
    }
    tally.bins, tally.learned = calibration.bins, learner.state
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
    for first in range(0, len(untold), PORTION):  # they run on, and may not be stopped any more
        rows.filter(pk__in=untold[first : first + PORTION]).delete()
    _write(tally, said, kept, now)


def _write(
    tally: StopTally, said: Mapping[Run, _Said], kept: Mapping[Run, tuple[int, int]], now: int
) -> None:
    """The chances themselves. A job whose former run is not compared yet has its own the next time."""
    renewed = [(*said[run].renewed(now), pk) for run, (pk, _) in kept.items() if run in said]
    for first in range(0, len(renewed), PORTION):
        update_rows(StopChance, RENEWED, renewed[first : first + PORTION])
    new = [each.row(tally, now) for run, each in said.items() if run not in kept]
    for first in range(0, len(new), PORTION):
        StopChance.objects.bulk_create(new[first : first + PORTION], ignore_conflicts=True)


def _said(
    tally: StopTally,
    calibration: StopCalibration,
    learner: StopLearner,
    jobs: Sequence[SeenJob],
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
    tally: StopTally, calibration: StopCalibration, learner: StopLearner, over: Iterable[StopChance]
) -> None:
    """Of the chances whose hour is over, and of those whose job is gone: whether the job was sent its stop in it."""
    over = list(over)
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
on_forgetting(_RISKS.clear)


def risks(cluster: Cluster) -> Risks:
    """The one of this process."""
    return _RISKS.setdefault(cluster.pk, Risks(cluster))
