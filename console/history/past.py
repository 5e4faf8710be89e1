"""What would a change have done over the last days? The recorded looks, decided as things are and as they would be.

The record is what really happened, and decisions do not change it. Only so much is carried from look to look: a run
that was stopped stays stopped and its room belongs to the job that it was given to, until the record says that the job
runs or has gone. So each run counts once, and each job gets room once.

There may be more looks than there is time for: then evenly spaced ones are taken, and the answer says how many.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from console.cluster.models import Cluster
from console.core import clock
from console.history.changes import HypotheticalChange
from console.history.models import PartitionMinute, RecordedObservation
from console.history.recording import unpacked
from console.history.what_if import NotNowError, alone, decided, latest_look, neighbourhoods, side_of, touched
from console.steering.backoff import PuttingOff, foresee
from console.steering.deciding import Verdicts
from console.steering.facts import Facts, Stops, gather, partition_policies
from console.steering.selectors import Work, add_work, work_of, work_words
from scheduler.model.jobs import JobState, SnapshotJob
from scheduler.model.observation import Observation
from scheduler.model.plan import PlanningResult
from scheduler.model.policy import Enforcement
from scheduler.reconcile.compare import NamedLevel, PolicyEffect, effect_of
from scheduler.reconcile.decide import Outstanding

# --- One way to decide, look after look: what it stops and whom it lets wait, with what it did before kept in mind.


HOUR_S = 3600


@dataclass(slots=True)
class Look:
    """What one look comes to. `waiting`: jobs that lack only room and get none, by level."""

    stops: int = 0
    jobs: int = 0
    work: Work = field(default_factory=dict)
    waiting: dict[NamedLevel, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplayScope:
    """The partitions that are told of, those that have to be decided for it, and those whose plans count as carried
    out."""

    names: frozenset[str]
    group: frozenset[str]
    carried_out: frozenset[str]


def acting(facts: Facts, change: HypotheticalChange, names: frozenset[str]) -> frozenset[str]:
    """Those of the partitions in which plans are carried out, or put before a person."""
    policies = {name: change.policies.get(name, facts.partitions[name].policy) for name in names}
    return frozenset(
        name for name, policy in policies.items() if policy.enforcement is not Enforcement.SHADOW
    )


class LookReplay:
    """Decides one recorded look after another."""

    def __init__(self, facts: Facts, change: HypotheticalChange, scope: ReplayScope) -> None:
        self._facts = replace(
            facts,
            stops=Stops(),
            plans=(),
            quota_held=frozenset(),
            refused=frozenset(),
            backed_off={},
            put_off=PuttingOff(facts.put_off.now),
            rejections={},
            partitions={name: replace(each, paused="") for name, each in facts.partitions.items()},
        )
        self._change, self._scope = change, scope
        self._outstanding = Outstanding()
        self._stopped: list[tuple[int, str, str, str]] = []
        """Moment, partition, user and job of each stop."""

    def decide(self, observation: Observation) -> Look:
        """Decide one look; they must come in the order in which they were taken."""
        self._forget(observation)
        facts = replace(self._facts, outstanding=self._outstanding, stops=self._stops(observation.taken_at))
        look = Look()
        gets_room: set[str] = set()
        waits: dict[str, NamedLevel] = {}
        for name, verdicts in decided(observation, facts, self._change, self._scope.group).items():
            if name in self._scope.names:
                effect = effect_of(side_of(verdicts), carried_out=name in self._scope.carried_out)
                self._count(look, name, verdicts, effect)
                gets_room |= effect.starts.keys()
                waits |= dict(_waiting(verdicts))
        for job, level in waits.items():
            if job not in gets_room:
                look.waiting[level] = look.waiting.get(level, 0) + 1
        return look

    def _count(self, look: Look, name: str, verdicts: Verdicts, effect: PolicyEffect) -> None:
        for stop in effect.stops.values():
            look.stops += 1
            add_work(look.work, work_of({"amounts": stop.amounts, "ran_s": stop.ran_s}))
            self._stopped.append((verdicts.snapshot.now, name, stop.victim.user, stop.victim.job))
        if effect.stops:
            made = tuple(each for each in verdicts.decisions if each.victims)
            look.jobs += len(made)
            self._outstanding = self._outstanding.plus(PlanningResult(name, made), verdicts.snapshot)

    def _forget(self, observation: Observation) -> None:
        """Whoever got room needs none any more when the record has it running, or gone."""
        pending = {job.id for job in observation.jobs if job.state is JobState.PENDING}
        running = {job.run for job in observation.jobs if job.state is JobState.RUNNING}
        self._outstanding = replace(
            self._outstanding,
            beneficiaries={
                job: room for job, room in self._outstanding.beneficiaries.items() if job in pending
            },
            victims=self._outstanding.victims & running,
        )

    def _stops(self, now: int) -> Stops:
        """The stops so far, as the limits count them."""
        within: dict[str, dict[str, int]] = {}
        times: dict[str, int] = {}
        for at, partition, user, job in self._stopped:
            times[job] = times.get(job, 0) + 1
            if at > now - HOUR_S:
                theirs = within.setdefault(partition, {})
                theirs[user] = theirs.get(user, 0) + 1
        return Stops(within_hour=within, times=times)


def _waiting(verdicts: Verdicts) -> Iterable[tuple[str, NamedLevel]]:
    """Pending jobs that lack only room, with the level that decides first; for those with a promise room is made."""
    policy = verdicts.facts.policy
    by_user = policy.mode.value.startswith("user")
    for job in verdicts.snapshot.jobs:
        if job.state is JobState.PENDING and not job.blocked and not job.promised:
            rank = _level(job, by_user=by_user)
            yield job.id, NamedLevel(rank, policy.level_name(rank))


def _level(job: SnapshotJob, *, by_user: bool) -> int | None:
    return job.user_level if by_user else job.task_level


BUDGET_S = 6.0
"""How long the looks may take together while somebody waits, judged by the first; after twice that the answer ends
early and says so."""
SPANS = (1, 7, 30)
"""Days that the forms ask about, as far as looks are kept."""
LEAST_LOOKS = 24
"""Fewer are too little to draw anything from: with the usual distance these are two hours."""
GAP = 3
"""A look stands for the time to the next one, but not for a longer time than so many usual ones: nobody looked then."""


@dataclass(slots=True)
class StudySum:
    """Runs stopped, the work these had done, jobs that got their room, and seconds that jobs waited, by level."""

    stops: int = 0
    work: Work = field(default_factory=dict)
    jobs: int = 0
    waited: dict[NamedLevel, float] = field(default_factory=dict)

    def add(self, look: Look, seconds: float) -> None:
        self.stops += look.stops
        self.jobs += look.jobs
        add_work(self.work, look.work)
        for level, waiting in look.waiting.items():
            self.waited[level] = self.waited.get(level, 0.0) + waiting * seconds

    @property
    def words(self) -> str:
        return work_words(self.work)

    @property
    def job_hours(self) -> float:
        """Waiting of all jobs together."""
        return sum(self.waited.values()) / 3600


@dataclass(slots=True)
class Day:
    """One day, or all: what really was stopped, what would have been as things are now, and with the change."""

    done: StudySum = field(default_factory=StudySum)
    present: StudySum = field(default_factory=StudySum)
    changed: StudySum = field(default_factory=StudySum)


@dataclass(frozen=True, slots=True)
class PastStudy:
    """The answer. `used` of `looks` recorded looks were decided; `cut`: time was over before the last of them."""

    partitions: tuple[str, ...]
    since: datetime
    until: datetime
    used: int
    looks: int
    days: list[tuple[date, Day]]
    total: Day
    cut: bool = False
    days_asked: int = 0

    @property
    def enough(self) -> bool:
        """Whether so much was looked at that sums mean anything: a few moments say nothing of days."""
        return self.used >= LEAST_LOOKS

    @property
    def recorded_s(self) -> float:
        """From the first look to the last, in seconds."""
        return (self.until - self.since).total_seconds()

    @property
    def levels(self) -> list[NamedLevel]:
        found = {*self.total.present.waited, *self.total.changed.waited}
        return sorted(found, key=lambda level: (level.rank is None, level.rank or 0, level.name))


Looks = Sequence[tuple[int, datetime]]
Standing = tuple[int, datetime, float]
"""A look with the seconds that it stands for."""
Tell = Callable[[int, int], None]
"""Called after each look: how many are done, of how many. What it raises ends the work."""


def days_asked(text: str) -> int:
    """A number of days that are kept, or 0 for none and for what is no such number."""
    if not (text.isascii() and text.isdecimal() and len(text) < 4):
        return 0
    return min(int(text), max(1, int(settings.GIVEWAY_HISTORY_DAYS)))


def spans_kept() -> list[int]:
    """The spans that a form may ask about, in days: none is longer than looks are kept."""
    return [days for days in SPANS if days_asked(f"{days}") == days]


def over_days_at_once(cluster: Cluster, change: HypotheticalChange, days: int) -> PastStudy:
    """The same for somebody who waits for it. Raises `NotNowError`."""
    with alone():
        return over_days(cluster, change, days)


def over_days(
    cluster: Cluster,
    change: HypotheticalChange,
    days: int,
    *,
    budget_s: float = BUDGET_S,
    tell: Tell | None = None,
) -> PastStudy:
    """What the change would have done in the last days. Raises `NotNowError`."""
    rows = RecordedObservation.objects.filter(
        cluster=cluster, at__gte=clock.now() - timedelta(days=days)
    ).order_by("at")
    looks = list(rows.values_list("pk", "at"))
    if len(looks) < 2:
        raise NotNowError(_("Too little is recorded yet. A look at the cluster is kept every few minutes."))
    facts = gather(cluster, [], partition_policies(cluster))
    policies = change.policies_beside(facts.policies)
    facts = replace(facts, foresight=foresee(cluster, policies, since=looks[0][1]))
    newest = unpacked(bytes(latest_look(cluster).body))
    names, group = _where(newest, facts, change)
    if not names:
        return PastStudy((), looks[0][1], looks[-1][1], 0, len(looks), [], Day(), days_asked=days)
    found = _replayed(cluster, looks, _Sums(_sides(facts, change, names, group), names), budget_s, tell)
    return replace(found, days_asked=days)


def _where(
    newest: Observation, facts: Facts, change: HypotheticalChange
) -> tuple[frozenset[str], frozenset[str]]:
    """The partitions that are told of, and those that have to be decided for it."""
    differing = touched(newest, facts, change)
    names = frozenset(facts.partitions) if change.projects and differing else differing
    group: frozenset[str] = frozenset().union(*neighbourhoods(newest, names))
    return names, group


def _sides(
    facts: Facts, change: HypotheticalChange, names: frozenset[str], group: frozenset[str]
) -> tuple[LookReplay, LookReplay]:
    """As things are, and with the change. Where neither acts, the plans of both count, as in `compare`."""
    present, changed = acting(facts, HypotheticalChange(), names), acting(facts, change, names)
    neither = names - present - changed
    return (
        LookReplay(facts, HypotheticalChange(), ReplayScope(names, group, present | neither)),
        LookReplay(facts, change, ReplayScope(names, group, changed | neither)),
    )


def _replayed(cluster: Cluster, looks: Looks, sums: "_Sums", budget_s: float, tell: Tell | None) -> PastStudy:
    begun = time.monotonic()
    first = (*looks[0], min((looks[1][1] - looks[0][1]).total_seconds(), GAP * _usual()))
    used = int(sums.take(first))
    rest = _chosen(looks, max(time.monotonic() - begun, 0.0001), budget_s)
    until = first[1] + timedelta(seconds=first[2])
    for look in rest:
        if tell is not None:
            tell(used, len(rest) + 1)
        if time.monotonic() - begun > 2 * budget_s:
            break
        if sums.take(look):
            used, until = used + 1, look[1] + timedelta(seconds=look[2])
    _add_done(cluster, sums.names, looks[0][1], until, sums.days, sums.total)
    cut = until < looks[-1][1]
    names = tuple(sorted(sums.names))
    return PastStudy(names, looks[0][1], until, used, len(looks), sorted(sums.days.items()), sums.total, cut)


@dataclass
class _Sums:
    """Both ways to decide, and what they have come to so far."""

    sides: tuple[LookReplay, LookReplay]
    names: frozenset[str]
    days: dict[date, Day] = field(default_factory=dict)
    total: Day = field(default_factory=Day)

    def take(self, look: Standing) -> bool:
        """Decide a look in both ways; False when it was forgotten meanwhile."""
        pk, at, seconds = look
        body = RecordedObservation.objects.filter(pk=pk).values_list("body", flat=True).first()
        if body is None:
            return False
        observation = unpacked(bytes(body))
        day = self.days.setdefault(timezone.localdate(at), Day())
        for side, name in zip(self.sides, ("present", "changed"), strict=True):
            decided = side.decide(observation)
            for each in (day, self.total):
                getattr(each, name).add(decided, seconds)
        return True


def _usual() -> int:
    return int(settings.GIVEWAY_HISTORY_EVERY_S)


def _chosen(looks: Looks, cost: float, budget_s: float) -> list[Standing]:
    """All looks but the first, or as many, evenly spaced, as there is time for if each takes `cost` seconds."""
    count = min(len(looks) - 1, max(2, int(budget_s / cost)))
    step = (len(looks) - 1) / count
    indexes = [1 + int(number * step) for number in range(count)]
    longest = GAP * _usual() * max(1.0, step)
    chosen = []
    for number, index in enumerate(indexes):
        after = looks[indexes[number + 1]][1] if number + 1 < count else looks[-1][1]
        chosen.append((*looks[index], min((after - looks[index][1]).total_seconds(), longest)))
    return chosen


def _add_done(
    cluster: Cluster,
    names: Iterable[str],
    since: datetime,
    until: datetime,
    days: dict[date, Day],
    total: Day,
) -> None:
    """What Giveway really stopped, from the record of the minutes."""
    rows = PartitionMinute.objects.filter(
        cluster=cluster, partition__in=list(names), at__gte=since, at__lte=until, stops__gt=0
    )
    row: tuple[datetime, int, Mapping[str, float]]
    for row in rows.values_list("at", "stops", "work_lost"):
        for each in (days.setdefault(timezone.localdate(row[0]), Day()), total):
            each.done.stops += row[1]
            add_work(each.done.work, row[2])
