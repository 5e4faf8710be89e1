"""What came of what was tried: answers to questions, and what would make a waiting job start sooner."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings

from console.accounts.models import User
from console.cluster.models import Cluster, Job
from console.cluster.services import show_change
from console.core import clock
from console.core.bulk_update import delete_rows, update_rows
from console.core.duty_cycle import DutyCycle
from console.starts.alternative_requests import Alternative
from console.starts.models import ExpectedStart, StartQuestion
from console.starts.queue_replay import QueueReplay, read_queue_replay
from console.starts.selectors import SeenJob
from scheduler.contracts.requests import encode_request
from scheduler.forecast.draws import COARSE, FIRST_S
from scheduler.forecast.start_calibration import StartCalibration
from scheduler.forecast.starts import StartForecast, forecast_with_trials
from scheduler.model.jobs import Request

MOST_OPEN = 20
"""So many questions of one account wait for their answer at a time."""
LEAST_GAIN, LEAST_GAIN_S = 0.1, 120
"""By so much of the wait, and by so many seconds, something has to make a start sooner to be told."""


class TooManyQuestionsError(Exception):
    """An account asks more than is answered."""


def ask(
    *, cluster: Cluster, person: User, partition: str, account: str, request: Request, time_limit_s: int
) -> StartQuestion:
    """Have it asked at the next look, as who the account is on the cluster. Raises `TooManyQuestionsError`."""
    if StartQuestion.objects.filter(asked_by=person, answered_at=None).count() >= MOST_OPEN:
        raise TooManyQuestionsError
    return StartQuestion.objects.create(
        cluster=cluster, asked_by=person, partition=partition, user=person.slurm_user, account=account,
        request=encode_request(request), time_limit_s=time_limit_s,
    )  # fmt: skip


def open_questions(cluster: Cluster) -> list[StartQuestion]:
    """Those that wait for their answer."""
    return list(StartQuestion.objects.filter(cluster=cluster, answered_at=None))


def answer(play: QueueReplay, tried: Iterable[StartForecast], now: int) -> None:
    """Write the answers down; `tried`: those of the questions that fit anywhere, in their order."""
    said = iter(tried)
    for asked in play.asked:
        question = asked.question
        question.answered_at, question.level = clock.now(), asked.level
        if asked.want is not None:
            found = next(said)
            question.p50, question.low, question.high = (
                None if value is None else now + int(value) for value in (found.p50, found.low, found.high)
            )
            question.nodes = [play.names[node] for node in found.nodes]
        question.save()


def collect_sooner_starts(
    changes: Sequence[Alternative], tried: Sequence[StartForecast]
) -> Mapping[int, list[tuple[Alternative, float]]]:
    """By number of the waiting job: what was tried of it, and in how many seconds it would start then."""
    found: dict[int, list[tuple[Alternative, float]]] = {}
    for change, said in zip(changes, tried, strict=True):
        if said.p50 is not None:
            found.setdefault(change.number, []).append((change, said.p50))
    return found


def worth_telling(
    tried: Iterable[tuple[Alternative, float]], p50: int | None, now: int
) -> list[dict[str, Any]]:
    """What makes the start notably sooner than `p50` (epoch seconds; None: it is not in sight), the best first."""
    wait = None if p50 is None else p50 - now
    told = []
    for change, seconds in sorted(tried, key=lambda pair: pair[1]):
        if wait is None or wait - seconds >= max(LEAST_GAIN_S, LEAST_GAIN * wait):
            what = {"nodes": change.nodes} if change.nodes else {"limit_s": change.limit_s}
            told.append(what | {"p50": now + int(seconds)})
    return told


# --- Saying of every waiting job when it is expected to start, anew when something has changed.


RENEW_S = 60
"""Without any change it is said anew after so long: time goes by."""
REST, MOST_REST_S = 100.0, 300.0
"""It is said anew after so many times what it took of a processor, but no more than five minutes after it began."""
ASKED_REST = 10.0
"""The same while somebody waits for an answer."""
NOTABLE = 0.1
"""Pages are told when a start moves by more than this part of the wait, or by a minute."""
MOST_LEARNED, WRITTEN = 2000, 100
PLAYED = 3
"""Numbers of a forecast that are kept as they were played: low, middle, high."""
MOST_AFTER = 5
"""So many of the jobs that it waits for are named."""
RENEWED = ("partition", "made_at", "p50", "low", "high", "nodes", "after", "sooner")


@dataclass
class Expecting:
    """What this process said last of a cluster: by that it knows whether to say it again."""

    cluster: Cluster
    versions: tuple[int, ...] = ()
    """The cluster's when it was said, and after pages were told of it."""
    duty: DutyCycle = field(default_factory=lambda: DutyCycle(REST, MOST_REST_S))

    def expect_starts(self) -> int | None:
        """Say it, if it is due; how many waiting jobs were looked at, None where it was not due."""
        self.cluster.refresh_from_db(fields=["version"])
        questions = open_questions(self.cluster)
        if not self._is_due(questions):
            return None
        self.duty.begin()
        with self.duty.spending():
            version, self.versions = self.cluster.version, ()
            play = read_queue_replay(self.cluster, questions)
            changed = self._keep(play, *forecast_with_trials(play.queue, play.trials))
        self.versions = (version,)
        if changed:
            show_change(self.cluster)
            self.versions = (version, version + 1)
        return len(play.jobs) + len(play.hopeless)

    def _is_due(self, questions: Sequence[StartQuestion]) -> bool:
        if not self.duty.has_rested(ASKED_REST if questions else None):
            return False
        is_new = self.cluster.version not in self.versions or bool(questions)
        return is_new or self.duty.since_s >= RENEW_S

    def _keep(self, play: QueueReplay, said: Iterable[StartForecast], tried: Sequence[StartForecast]) -> bool:
        """Write it down; whether anything moved that people see."""
        now = int(clock.now().timestamp())
        calibration, after = learned(self.cluster), _Waits(play)
        wanted = {}
        for job, played in [*zip(play.jobs, said, strict=True), *((job, NOWHERE) for job in play.hopeless)]:
            row = _row(self.cluster, job, calibration.corrected(played, job.partition), play, now)
            row.after, row.first_played = after.of(played), [played.low, played.p50, played.high]
            wanted[job.job_id, job.submitted] = row
        lines = [trial.request.line for trial in play.trials]
        tried = [calibration.corrected(each, line) for each, line in zip(tried, lines, strict=True)]
        for number, sooner in collect_sooner_starts(play.changes, tried[: len(play.changes)]).items():
            job = play.jobs[number]
            row = wanted[job.job_id, job.submitted]
            row.sooner = worth_telling(sooner, row.p50, now)
        answer(play, tried[len(play.changes) :], now)
        return _store(self.cluster, wanted, now)


def learned(cluster: Cluster) -> StartCalibration:
    """What the last starts teach: how they came beside what was played of them."""
    rows = ExpectedStart.objects.filter(cluster=cluster, started__isnull=False).order_by("-pk")
    asked = rows.values_list("started", "pk", "first_at", "first_played", "partition")
    calibration = StartCalibration()
    for started, _, first_at, first_played, partition in sorted(
        asked[:MOST_LEARNED], key=lambda row: row[:2]
    ):
        if started is not None and len(first_played) == PLAYED:
            low, p50, high = first_played
            calibration.came(StartForecast("", p50, low, high, ()), started - first_at, partition)
    return calibration


NOWHERE = StartForecast("", None, None, None, ())


def _store(cluster: Cluster, wanted: Mapping[tuple[str, int], ExpectedStart], now: int) -> bool:
    rows = ExpectedStart.objects.filter(cluster=cluster, gone_at=None).order_by()
    kept = {(row.job_id, row.submit): row for row in rows.only("job_id", "submit", "p50", "low", "high")}
    both = [key for key in kept if key in wanted]
    moved = any(_is_notable(kept[key], wanted[key], now) for key in both)
    _close(cluster, [row for key, row in kept.items() if key not in wanted])
    values = [(*(getattr(wanted[key], name) for name in RENEWED), kept[key].pk) for key in both]
    update_rows(ExpectedStart, RENEWED, values)
    fresh = [row for key, row in wanted.items() if key not in kept]
    for first in range(0, len(fresh), WRITTEN):
        ExpectedStart.objects.bulk_create(fresh[first : first + WRITTEN], ignore_conflicts=True)
    return moved or bool(fresh)


def _close(cluster: Cluster, rows: Sequence[ExpectedStart]) -> None:
    """Those that wait no more, or stand in no line: when they started, if they did."""
    jobs = Job.objects.filter(cluster=cluster, job_id__in=[row.job_id for row in rows]).exclude(start=0)
    asked = jobs.order_by().values_list("job_id", "first_submit", "submit", "start")
    begun = {(job_id, first_submit or submit): start for job_id, first_submit, submit, start in asked}
    started = [(begun[key], row.pk) for row in rows if (key := (row.job_id, row.submit)) in begun]
    update_rows(ExpectedStart, ["started"], started)
    ExpectedStart.objects.filter(pk__in=[row.pk for row in rows]).update(gone_at=clock.now())


def _is_notable(before: ExpectedStart, after: ExpectedStart, now: int) -> bool:
    for name in ("p50", "low", "high"):
        old, new = getattr(before, name), getattr(after, name)
        if (old is None) != (new is None):
            return True
        if old is not None and abs(new - old) > max(60, NOTABLE * (new - now)):
            return True
    return False


def _row(cluster: Cluster, job: SeenJob, said: StartForecast, play: QueueReplay, now: int) -> ExpectedStart:
    p50, low, high = (
        None if value is None else now + int(value) for value in (said.p50, said.low, said.high)
    )
    return ExpectedStart(
        cluster=cluster, job_id=job.job_id, submit=job.submitted, partition=job.partition, made_at=now,
        p50=p50, low=low, high=high, nodes=[play.names[node] for node in said.nodes],
        first_at=now, first_p50=p50, first_low=low, first_high=high, first_slurm=job.estimated_start,
    )  # fmt: skip


class _Waits:
    """For whose ends a job waits: those that run on its nodes and are expected to be over by its start."""

    def __init__(self, play: QueueReplay) -> None:
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


# --- Keeping what was expected of starts as short as forecasts are kept, and questions for an hour.


ASKED = timedelta(hours=1)
"""Answers grow old soon: so long they can be looked up."""


def forget_old_starts() -> int:
    """Delete what was expected of jobs that began, or went, longer ago than forecasts are kept; how many rows."""
    delete_rows(StartQuestion.objects.filter(asked_at__lt=clock.now() - ASKED))
    oldest = clock.now() - timedelta(days=settings.GIVEWAY_FORECAST_DAYS)
    old = (
        ExpectedStart.objects.filter(cluster=cluster, gone_at__lt=oldest) for cluster in Cluster.objects.all()
    )
    return sum(map(delete_rows, old))
