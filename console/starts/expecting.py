"""Saying of every waiting job when it is expected to start, anew when something has changed."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from console.cluster.models import Cluster, Job
from console.cluster.services import show_change
from console.core import clock
from console.starts.answering import answer, open_questions, sooner_of, worth_telling
from console.starts.models import ExpectedStart
from console.starts.play import Play, read_play
from scheduler.forecast.draws import COARSE, FIRST_S
from scheduler.forecast.start_calibration import StartCalibration
from scheduler.forecast.starts import StartForecast, forecast_with_trials

BATCH = 300
RENEW_S = 60
"""Without any change it is said anew after so long: time goes by."""
REST = 10
"""It takes at most one second of so many."""
NOTABLE = 0.1
"""Pages are told when a start moves by more than this part of the wait, or by a minute."""
MOST_LEARNED = 2000
PLAYED = 3
"""Numbers of a forecast that are kept as they were played: low, middle, high."""
MOST_AFTER = 5
"""So many of the jobs that it waits for are named."""
RENEWED = ("partition", "made_at", "p50", "low", "high", "nodes", "after", "sooner")
FIELDS = (*RENEWED, "started", "gone_at")


@dataclass
class Expecting:
    """What this process said last of a cluster: by that it knows whether to say it again."""

    cluster: Cluster
    versions: tuple[int, ...] = ()
    """The cluster's when it was said, and after pages were told of it."""
    said_at: float = 0.0
    took_s: float = 0.0

    def expect_starts(self) -> int | None:
        """Say it, if it is due; how many waiting jobs were looked at, None where it was not due."""
        self.cluster.refresh_from_db(fields=["version"])
        version, now = self.cluster.version, time.monotonic()
        since = now - self.said_at
        questions = open_questions(self.cluster)
        seen = version in self.versions and not questions
        if self.versions and (since < REST * self.took_s or (seen and since < RENEW_S)):
            return None
        play = read_play(self.cluster, questions)
        changed = self._keep(play, *forecast_with_trials(play.queue, play.trials))
        self.took_s, self.said_at = time.monotonic() - now, time.monotonic()
        self.versions = (version,)
        if changed:
            show_change(self.cluster)
            self.versions = (version, version + 1)
        return len(play.jobs) + len(play.hopeless)

    def _keep(self, play: Play, said: Iterable[StartForecast], tried: Sequence[StartForecast]) -> bool:
        """Write it down; whether anything moved that people see."""
        now = int(clock.now().timestamp())
        calibration, after = learned(self.cluster), _Waits(play)
        wanted = {}
        for job, played in [*zip(play.jobs, said, strict=True), *((job, NOWHERE) for job in play.hopeless)]:
            row = _row(self.cluster, job, calibration.corrected(played, job.partition), play, now)
            row.after, row.first_played = after.of(played), [played.low, played.p50, played.high]
            wanted[job.job_id, _submit(job)] = row
        lines = [trial.request.line for trial in play.trials]
        tried = [calibration.corrected(each, line) for each, line in zip(tried, lines, strict=True)]
        for number, sooner in sooner_of(play.changes, tried[: len(play.changes)]).items():
            job = play.jobs[number]
            row = wanted[job.job_id, _submit(job)]
            row.sooner = worth_telling(sooner, row.p50, now)
        with transaction.atomic():
            answer(play, tried[len(play.changes) :], now)
            return _store(self.cluster, wanted, now)


def learned(cluster: Cluster) -> StartCalibration:
    """What the last starts teach: how they came beside what was played of them."""
    rows = ExpectedStart.objects.filter(cluster=cluster, started__isnull=False).order_by("-pk")[:MOST_LEARNED]
    calibration = StartCalibration()
    for row in sorted(rows, key=lambda row: (row.started or 0, row.pk)):
        if row.started is not None and len(row.first_played) == PLAYED:
            low, p50, high = row.first_played
            played = StartForecast(row.job_id, p50, low, high, ())
            calibration.came(played, row.started - row.first_at, row.partition)
    return calibration


NOWHERE = StartForecast("", None, None, None, ())


def _store(cluster: Cluster, wanted: Mapping[tuple[str, int], ExpectedStart], now: int) -> bool:
    kept = {
        (row.job_id, row.submit): row for row in ExpectedStart.objects.filter(cluster=cluster, gone_at=None)
    }
    fresh = [row for key, row in wanted.items() if key not in kept]
    moved = False
    for key, row in kept.items():
        if key in wanted:
            moved |= _is_notable(row, wanted[key], now)
            for name in RENEWED:
                setattr(row, name, getattr(wanted[key], name))
    gone = [row for key, row in kept.items() if key not in wanted]
    _close(cluster, gone)
    ExpectedStart.objects.bulk_update(kept.values(), FIELDS, batch_size=BATCH)
    ExpectedStart.objects.bulk_create(fresh, batch_size=BATCH, ignore_conflicts=True)
    return moved or bool(fresh)


def _close(cluster: Cluster, rows: Iterable[ExpectedStart]) -> None:
    """Those that wait no more, or stand in no line: when they started, if they did."""
    now, rows = clock.now(), list(rows)
    jobs = Job.objects.filter(cluster=cluster, job_id__in=[row.job_id for row in rows])
    begun = {job.job_id: job for job in jobs.exclude(start=0)}
    for row in rows:
        job = begun.get(row.job_id)
        row.gone_at = now
        if job is not None and _submit(job) == row.submit:
            row.started = job.start


def _is_notable(before: ExpectedStart, after: ExpectedStart, now: int) -> bool:
    for name in ("p50", "low", "high"):
        old, new = getattr(before, name), getattr(after, name)
        if (old is None) != (new is None):
            return True
        if old is not None and abs(new - old) > max(60, NOTABLE * (new - now)):
            return True
    return False


def _row(cluster: Cluster, job: Job, said: StartForecast, play: Play, now: int) -> ExpectedStart:
    p50, low, high = (
        None if value is None else now + int(value) for value in (said.p50, said.low, said.high)
    )
    return ExpectedStart(
        cluster=cluster, job_id=job.job_id, submit=_submit(job), partition=job.partition, made_at=now,
        p50=p50, low=low, high=high, nodes=[play.names[node] for node in said.nodes],
        first_at=now, first_p50=p50, first_low=low, first_high=high, first_slurm=job.estimated_start,
    )  # fmt: skip


class _Waits:
    """For whose ends a job waits: those that run on its nodes and are expected to be over by its start."""

    def __init__(self, play: Play) -> None:
        self._on: dict[int, list[tuple[float, str]]] = {}
        for job_id, share in zip(play.holders, play.queue.running, strict=True):
            for node in share.nodes:
                self._on.setdefault(node, []).append((share.left.p50, job_id))

    def of(self, said: StartForecast) -> list[str]:
        """The last ones to end, at most `MOST_AFTER`."""
        if not said.p50:
            return []
        # The play knows moments: a start may be told at the one before the end that it waits for.
        until = said.p50 * (1 + COARSE) + FIRST_S
        ends = {
            job_id: left for node in said.nodes for left, job_id in self._on.get(node, ()) if left <= until
        }
        return sorted(ends, key=lambda job_id: (-ends[job_id], job_id))[:MOST_AFTER]


def _submit(job: Job) -> int:
    return job.first_submit or job.submit


_EXPECTING: dict[int, Expecting] = {}


def expecting(cluster: Cluster) -> Expecting:
    """The one of this process."""
    return _EXPECTING.setdefault(cluster.pk, Expecting(cluster))
