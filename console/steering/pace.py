"""When a cycle is due, and how that is noticed while slurmctld is hardly asked.

A cycle reads the whole queue. The timer calls `steer_for` every GIVEWAY_TICK_S seconds; within that time a cycle is run
as soon as one is due:

1. The bell: slurmctld's job_submit script, or a line of the site's, touches a file (docs/job-submit.md). Whoever hears
   it glances at slurmctld's counters until they have moved: a bell without end, or a stranger's, costs a few glances.
2. The counters themselves, one request of a third of a millisecond: a submission has a cycle run at once, whatever else
   has moved one soon.
3. Something is under way (a plan, an order that is to be seen to work), or a person has changed something.
4. A bounded time is over: what no counter tells, and all that comes by time alone. Where neither bell nor counters can
   be had, this is all there is, and it is shorter then.

What is asked stays within a budget of requests a minute, and within `SHARE` of slurmctld's time. Both are counted over
the last `WINDOW` minutes, of all processes together, in the database: one minute in which much happens delays nobody.
What slurmctld itself allows this account (`rl_enable`) is counted over one. Cycles come later where any is used up. An
order that has begun is carried out whole, and orders delay nobody but where slurmctld limits us: our own budget is
one of questions.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F

from console.audit.models import SYSTEM_ACTOR, AuditEntry, AuditHead
from console.cluster.connect import allowed_requests, configured_cluster, connect, take_requests
from console.cluster.models import Cluster, Job, JobPhase
from console.core import clock
from console.steering.cycle import run_cycle
from console.steering.cycle_report import Report
from console.steering.metrics import START, allowed_budget
from console.steering.models import (
    BEGUN_STATES,
    ChosenPlace,
    CyclePace,
    KeptPlace,
    Plan,
    SteeringMinute,
)
from console.steering.submit_rules import bell_path
from scheduler.model.observation import Glance, RequestUse
from scheduler.ports import ClusterUnavailableError

STEERING, OTHERS = "steering", "others"
QUIET_S, QUIET_WITH_BELL_S, TIMER_ALONE_S = 30.0, 60.0, 5.0
"""Between two cycles while nothing is seen to happen: with counters, with a bell too, with neither."""
WAITING_S, WAITING_WITH_BELL_S = 20.0, 30.0
"""The same while jobs wait: some of them come of age, or their project becomes more urgent, by time alone."""
GLANCE_S, GLANCE_WITH_BELL_S, GLANCE_EMPTY_S = 2.0, 10.0, 15.0
"""Between two glances: without a bell, with one, and with one while there are no jobs at all."""
KEPT_S = 5.0
"""The same while nodes are kept for somebody, or a begin time is put off again and again: both end by themselves."""
CHANGED_S = 10.0
"""From one cycle to the next where something has moved, but nobody has come."""
UNREACHABLE_S = 2.0
TAKEN_S = 0.5
"""So long after somebody else's cycle was found under way it is tried again."""
STOP_S = 0.5
"""How often a worker that waits looks whether it is to end."""
BELL_S = 0.1
"""How often the bell's file is looked at."""
RINGING_S = 2.0
"""So long after it rang the counters are glanced at again and again: the script rings before the job is there."""
SHARE = 0.02
"""Of slurmctld's time."""
UNHURRIED = 0.7
"""So much of the budget may be used while nobody waits for it."""
GLANCES = 0.6
"""The same of glances."""
LATE = 3
"""A gap of more than so many times what was wanted is a finding."""
SIGN_S = 5.0
"""How often a worker that finds no cycle due says that it is there."""
EDGES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 180.0, 600.0)  # fmt: skip
"""Of gaps, seconds; what is longer stands under the last one."""
MINUTE = timedelta(minutes=1)
WINDOW = 5
ORDERS = frozenset({"orders", "job"})
"""Kinds of requests that come with the jobs that something is done to, and not with a look."""
LOOK = {"nodes": 1, "partitions": 3, "reservations": 1, "queue": 1}
"""What a look asks, as long as none was counted."""

log = structlog.get_logger(__name__)
_instead: dict[str, float] = {START: 0.0}
"""What this process has done since its last cycle: other tasks, with their seconds."""


def steer_for(cluster: Cluster, seconds: float, is_stopping: Callable[[], bool] = lambda: False) -> None:
    """Run cycles as they come due, for so long; then the timer's next call goes on. `is_stopping`: whether the worker
    is to end."""
    until = time.monotonic() + seconds
    pacer = Pacer(cluster, is_stopping=is_stopping)
    while True:
        taken = pacer.is_due() and not pacer.run()
        left = until - time.monotonic()
        if left <= 0 or not pacer.waits or is_stopping():
            break
        pacer.wait(min(left, TAKEN_S) if taken else left)
    count_requests(STEERING, cluster)


def note_other_task(name: str, seconds: float) -> None:
    """This process has run something else than a cycle."""
    _instead[name] = _instead.get(name, 0.0) + seconds


def count_requests(source: str, cluster: Cluster | None = None) -> None:
    """Write down what this process has asked of slurmctld since the last time; without a cluster, of the attached."""
    use = take_requests()
    if use.requests or use.limited:
        cluster = cluster or configured_cluster()
        answer_s = CyclePace.objects.filter(cluster=cluster).values_list("answer_s", flat=True).first() or {}
        _add(cluster, source, use, answer_s)


@dataclass
class Pacer:
    """Decides for one cluster, from what is in the database, the bell and the counters."""

    cluster: Cluster
    run_cycle: Callable[[Cluster], Report | None] = run_cycle
    sleep: Callable[[float], None] = time.sleep
    is_stopping: Callable[[], bool] = lambda: False
    row: CyclePace = field(init=False)
    _bell: Path | None = field(init=False)
    _read_budgets: list[tuple["_Used", float]] | None = field(default=None, init=False)
    _heeded_at: datetime | None = field(default=None, init=False)
    """When it was asked last whether a person has changed something."""

    def __post_init__(self) -> None:
        self._bell = None if self.cluster.is_simulated else bell_path()
        self.row, _ = CyclePace.objects.get_or_create(cluster=self.cluster)

    @property
    def waits(self) -> bool:
        """Whether anything may become due before the timer's next call."""
        return not self.cluster.is_simulated

    def is_due(self) -> bool:
        """Whether a cycle is to run now."""
        now, self._read_budgets = clock.now(), None
        self.row.refresh_from_db()
        begun, due = self.row.begun_at, self.row.due_at
        if begun is None or due is None or begun > now + MINUTE:  # never, or the clock was put back
            return True
        if self.cluster.is_simulated:  # at each of the timer's calls, which may come a moment early
            return now >= due - timedelta(seconds=settings.GIVEWAY_TICK_S) / 2
        if self._is_acted(now):
            self._want(now, urgent=True)
        elif self._glance_due(now):
            self._glance(now)
        if self.row.due_at is not None and now < self.row.due_at:
            self._give_sign(now)
            return False
        if not self._may_look(now):
            if not self.row.stretched:
                self.row.stretched = True
                self.row.save(update_fields=["stretched"])
            self._give_sign(now)
            return False
        return True

    def wait(self, seconds: float) -> None:
        """Until the bell rings, at most so long, and no longer than until the next glance or cycle is due."""
        left = max(min(seconds, self._until_next(clock.now())), BELL_S)
        while left > 0 and not self.is_stopping():
            step = min(left, BELL_S if self._bell else STOP_S)
            self.sleep(step)
            left -= step
            if self._bell and self._rung_at() != self.row.rung:
                return

    def run(self) -> bool:
        """One cycle, and what came of it: when the next one is due, and how long it was since the last.

        False where somebody else's is under way.
        """
        row, begun = self.row, clock.now()
        take_before = take_requests()
        head = AuditHead.objects.values_list("sequence", flat=True).first() or 0
        before, due, stretched = row.begun_at, row.due_at, row.stretched
        report = self.run_cycle(self.cluster)
        use = take_requests()
        if report is None:
            _add(self.cluster, STEERING, _joined(take_before, use), row.answer_s)
            return False
        took_s = sum(report.phases.values())
        row.begun_at, row.acted = begun, head
        row.due_at = begun + timedelta(seconds=max(self._interval_s(report), took_s))
        row.urgent, row.waiting = self._is_under_way(report) or self._keeps(), self._has_jobs()
        row.look = {kind: n for kind, n in use.requests.items() if kind not in ORDERS} or row.look
        row.limit_burst, row.limit_per_minute = allowed_requests(self.cluster)
        row.budget, row.stretched = allowed_budget(row.limit_per_minute), False
        row.save()
        _add(self.cluster, STEERING, _joined(take_before, use), row.answer_s)
        if not report.fault and before is not None and due is not None:
            self._note_gap(begun, before, begun if stretched else due, stretched=stretched)
        _instead.clear()
        _instead["steering.cycle"] = took_s
        return True

    # --- what makes a cycle due ---

    def _is_acted(self, now: datetime) -> bool:
        """Once in a call of the timer's."""
        if self._heeded_at is not None and now - self._heeded_at < timedelta(
            seconds=settings.GIVEWAY_CYCLE_S
        ):
            return False
        self._heeded_at = now
        rows = AuditEntry.objects.filter(sequence__gt=self.row.acted).exclude(actor=SYSTEM_ACTOR)
        if not rows.exists():
            return False
        self.row.acted = AuditHead.objects.values_list("sequence", flat=True).first() or self.row.acted
        self.row.save(update_fields=["acted"])
        return True

    def _want(self, moment: datetime, *, urgent: bool) -> None:
        """Have a cycle run at that moment, if none is due before."""
        row = self.row
        if row.due_at is None or moment < row.due_at or (urgent and not row.urgent):
            row.due_at = min(moment, row.due_at or moment)
            row.urgent = row.urgent or urgent
            row.save(update_fields=["due_at", "urgent"])

    def _glance_due(self, now: datetime) -> bool:
        if not settings.GIVEWAY_WATCH_S:
            return False
        if self._bell and self._rung_at() != self.row.rung:
            self.row.rung, self.row.rung_at = self._rung_at(), now
            self.row.save(update_fields=["rung", "rung_at"])
        last, due = self.row.glanced_at, self.row.due_at
        if self.row.urgent and due is not None and due - now <= timedelta(seconds=settings.GIVEWAY_CYCLE_S):
            return False  # a look tells more, and comes as soon
        if last is None or last > now:
            return True
        return now >= last + timedelta(seconds=self._glance_s(now))

    def _glance_s(self, now: datetime) -> float:
        """Seconds from one glance to the next, within what glances may use of the budget."""
        row, least = self.row, float(settings.GIVEWAY_WATCH_S)
        if row.fault:
            wanted = UNREACHABLE_S
        elif self._rings(now):
            wanted = min(least, BELL_S)
        elif self._hears():
            wanted = GLANCE_WITH_BELL_S if row.waiting else GLANCE_EMPTY_S
        else:
            wanted = GLANCE_S
        if any(used.requests + 1 > GLANCES * most for used, most in self._budgets(now)):
            wanted = max(wanted, 60.0 / ((1 - UNHURRIED) * allowed_budget(row.limit_per_minute)))
        return max(least, wanted)

    def _budgets(self, now: datetime) -> list[tuple["_Used", float]]:
        """What was used, and what may be: of our own budget, and of slurmctld's."""
        if self._read_budgets is not None:
            return self._read_budgets
        own = WINDOW * float(settings.GIVEWAY_SLURM_REQUESTS_PER_MINUTE)
        found = [(_used(self.cluster, now, WINDOW, without=ORDERS), own)]
        if self.row.limit_per_minute:
            found.append((_used(self.cluster, now, 1), self.row.limit_per_minute))
        self._read_budgets = found
        return found

    def _rings(self, now: datetime) -> bool:
        """Whether the bell has rung, and the counters have told nothing of it yet."""
        rung = self.row.rung_at
        return rung is not None and timedelta(0) <= now - rung < timedelta(seconds=RINGING_S)

    def _hears(self) -> bool:
        return self._bell is not None and self.row.rings

    def _rung_at(self) -> int:
        try:
            return self._bell.stat().st_mtime_ns if self._bell else 0
        except OSError:
            return self.row.rung  # it is gone: nobody can ring it

    def _glance(self, now: datetime) -> None:
        """Look at the counters; where they have moved, a cycle is wanted."""
        row = self.row
        try:
            seen = connect(self.cluster).glance()
        except ClusterUnavailableError as error:
            if not row.fault:
                log.warning(
                    "slurmctld's counters cannot be read", cluster=self.cluster.name, fault=str(error)
                )
            row.fault, row.glanced_at = str(error)[:500], now
            row.save(update_fields=["fault", "glanced_at"])
            self._want((row.begun_at or now) + timedelta(seconds=TIMER_ALONE_S), urgent=False)
            count_requests(STEERING, self.cluster)
            return
        before = row.glance
        row.glance, row.fault, row.glanced_at = [seen.submitted, *seen.changed], "", now
        row.answer_s = dict(seen.answer_s)
        fields = ["glance", "fault", "glanced_at", "answer_s"]
        if before and before != row.glance:
            row.moved_at = now
            fields += ["moved_at", *self._heed(seen, before[0], now)]
        row.save(update_fields=fields)
        count_requests(STEERING, self.cluster)

    def _heed(self, seen: Glance, submitted_before: int, now: datetime) -> list[str]:
        """What has moved says when the next cycle is due. The fields that it has changed."""
        row = self.row
        if seen.submitted == submitted_before:
            spacing = timedelta(seconds=max(CHANGED_S, self._look_s() * 2 / SHARE))
            self._want(max(now, (row.begun_at or now) + spacing), urgent=False)
            return []
        self._want(now, urgent=True)
        if self._rings(now):
            row.bell_heard_at = now
        else:
            row.bell_missed_at = now
        row.rung_at = None
        return ["bell_heard_at", "bell_missed_at", "rung_at"]

    def _interval_s(self, report: Report) -> float:
        if self.cluster.is_simulated:
            return float(settings.GIVEWAY_CYCLE_S)
        if report.fault:
            return max(UNREACHABLE_S, float(settings.GIVEWAY_CYCLE_S))
        if self._is_under_way(report):
            return float(settings.GIVEWAY_CYCLE_S)
        if not settings.GIVEWAY_WATCH_S or self.row.fault:
            quiet = TIMER_ALONE_S
        else:
            quiet = QUIET_WITH_BELL_S if self._hears() else QUIET_S
        if Job.objects.filter(cluster=self.cluster, phase=JobPhase.PENDING).exists():
            quiet = min(quiet, WAITING_WITH_BELL_S if self._hears() else WAITING_S)
        if self._keeps():
            quiet = min(quiet, KEPT_S)
        return max(quiet, float(settings.GIVEWAY_CYCLE_S))

    def _is_under_way(self, report: Report) -> bool:
        """Whether something was done to the cluster, or is going to be: it is to be seen to work."""
        if report.issued or report.placed or report.kept or report.begun:
            return True
        return Plan.objects.filter(cluster=self.cluster, state__in=BEGUN_STATES).exists()

    def _keeps(self) -> bool:
        """Whether something is to be renewed in time."""
        kept = KeptPlace.objects.filter(cluster=self.cluster, until__gt=0)
        return kept.exists() or ChosenPlace.objects.filter(cluster=self.cluster, begun=0).exists()

    def _has_jobs(self) -> bool:
        return Job.objects.filter(cluster=self.cluster).exclude(phase=JobPhase.ENDED).exists()

    # --- what may be asked ---

    def _look_s(self) -> float:
        """How long slurmctld takes for one look."""
        return _answer_s(self.row.look or LOOK, {}, self.row.answer_s)

    def _may_look(self, now: datetime) -> bool:
        """Whether a look fits into what is left of the budgets, or is due by the time that has passed."""
        row, part = self.row, 1.0 if self.row.urgent else UNHURRIED
        since_s = (now - row.begun_at).total_seconds() if row.begun_at else 60.0
        cost, cost_s = sum((row.look or LOOK).values()), self._look_s()
        budgets = self._budgets(now)
        if budgets[0][0].answer_s + cost_s > part * SHARE * 60.0 * WINDOW and since_s < cost_s / SHARE:
            return False
        spaced = since_s >= 60.0 * max(1.0, cost / (UNHURRIED * allowed_budget(row.limit_per_minute)))
        return spaced or all(used.requests + cost <= part * most for used, most in budgets)

    def _until_next(self, now: datetime) -> float:
        """Seconds until a glance or a cycle is due."""
        row = self.row
        moments = [row.due_at] if row.due_at and not row.stretched else []
        if settings.GIVEWAY_WATCH_S and row.glanced_at:
            moments.append(row.glanced_at + timedelta(seconds=self._glance_s(now)))
        return max(0.05, min(((each - now).total_seconds() for each in moments), default=1.0))

    # --- what is told ---

    def _give_sign(self, now: datetime) -> None:
        """Say that the worker is there; and that the cluster is as it was seen, where its counters say so."""
        cluster = self.cluster
        last = cluster.attempted_at
        if last is not None and timedelta(0) <= now - last < timedelta(seconds=SIGN_S):
            return
        Cluster.objects.filter(pk=cluster.pk).update(attempted_at=now)
        cluster.attempted_at = now
        begun, glanced, moved = self.row.begun_at, self.row.glanced_at, self.row.moved_at
        if self.row.fault or begun is None or glanced is None or glanced < begun:
            return
        if moved is None or moved < begun:
            Cluster.objects.filter(pk=cluster.pk, fault="").update(observed_at=glanced)

    def _note_gap(self, begun: datetime, before: datetime, due: datetime, *, stretched: bool) -> None:
        gap, wanted = (begun - before).total_seconds(), (due - before).total_seconds()
        if gap < 0:
            return
        wanted = max(wanted, float(settings.GIVEWAY_CYCLE_S))
        late_s = gap - wanted if gap > LATE * wanted else 0.0
        instead = sorted(_instead.items(), key=lambda each: -each[1])[:3] if late_s else []
        with transaction.atomic():
            row = _minute(self.cluster, STEERING, begun)
            edge = f"{next((edge for edge in EDGES if gap <= edge), EDGES[-1]):g}"
            row.gaps[edge] = row.gaps.get(edge, 0) + 1
            row.longest_s = max(row.longest_s, round(gap, 2))
            row.stretched += stretched
            if late_s > row.late_s:
                row.late_s, row.instead = round(late_s, 2), [[name, round(s, 2)] for name, s in instead]
            row.save(update_fields=["gaps", "longest_s", "stretched", "late_s", "instead"])
        if late_s:
            log.warning("a cycle came late", cluster=self.cluster.name, gap_s=round(gap, 1), instead=instead)


@dataclass(frozen=True, slots=True)
class _Used:
    requests: float
    answer_s: float


def _used(cluster: Cluster, now: datetime, minutes: int, without: Collection[str] = ()) -> _Used:
    """What was asked within the last minutes; of the calendar minute that has begun before them counts a part."""
    minute, part = divmod(now.timestamp(), 60.0)
    first = int(minute) - minutes
    rows = SteeringMinute.objects.filter(cluster=cluster, minute__gte=first, minute__lte=int(minute))
    requests = answer_s = 0.0
    for row in rows.only("minute", "requests", "answer_s"):
        weight = 1.0 if row.minute > first else 1.0 - part / 60.0
        requests += weight * sum(n for kind, n in row.requests.items() if kind not in without)
        answer_s += weight * row.answer_s
    return _Used(requests, answer_s)


def _joined(one: RequestUse, other: RequestUse) -> RequestUse:
    took = {
        kind: one.took_s.get(kind, 0.0) + other.took_s.get(kind, 0.0) for kind in {*one.took_s, *other.took_s}
    }
    return RequestUse(one.requests + other.requests, took, one.limited + other.limited)


def _answer_s(
    requests: Mapping[str, int], took_s: Mapping[str, float], answer_s: Mapping[str, float]
) -> float:
    """How long slurmctld takes for these: as it tells itself, else at most as long as the commands took here."""
    return sum(
        number * answer_s[kind] if kind in answer_s else took_s.get(kind, 0.0)
        for kind, number in requests.items()
    )


def _minute(cluster: Cluster, source: str, moment: datetime) -> SteeringMinute:
    row, _ = SteeringMinute.objects.select_for_update().get_or_create(
        cluster=cluster, minute=int(moment.timestamp() // 60), source=source
    )
    return row


@transaction.atomic
def _add(cluster: Cluster, source: str, use: RequestUse, answer_s: Mapping[str, float]) -> None:
    if not use.requests and not use.limited:
        return
    row = _minute(cluster, source, clock.now())
    for kind, number in use.requests.items():
        row.requests[kind] = row.requests.get(kind, 0) + number
    row.answer_s = round(row.answer_s + _answer_s(use.requests, use.took_s, answer_s), 6)
    row.limited += use.limited
    if use.limited:
        Cluster.objects.filter(pk=cluster.pk).update(slowed_at=clock.now(), version=F("version") + 1)
    row.save(update_fields=["requests", "answer_s", "limited"])
