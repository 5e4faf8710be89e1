"""The victims, followed: a row for each run that was sent a signal or a stop, until it is known what became of it.

No plan is over while one of its victims is not accounted for. A victim that does not come back opens an incident; one
that is seen again after all closes it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from console.cluster.models import Cluster
from console.core import clock, kept_queries
from console.core.kept_queries import AskedMoment, Row
from console.steering.actions import incidents
from console.steering.actions.fates import NO_STEPS, VictimFate, account, steps_of
from console.steering.decisions.facts import run_of
from console.steering.models import Fate, Plan, PlannedAction, Victim
from scheduler.model.actions import ActionKind
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import ObservedJob, RunKey
from scheduler.model.sentence import Listed, join, say
from scheduler.ports import ClusterPort, ClusterUnavailableError

REMEMBER = timedelta(days=30)
"""How long a victim that waits is looked after."""
LOOKED_FOR = timedelta(days=1)
"""How long a lost one may still turn up."""
AT_WORK = frozenset({ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.CANCEL, ActionKind.RECOVER})
TOLD = (Fate.WAITING, Fate.RETURNED, Fate.SPARED, Fate.CANCELLED, Fate.ENDED, Fate.LOST)
"""The order in which a plan's outcome tells of them."""
BY_ITSELF = (EndKind.FAILED, EndKind.COMPLETED)
"""How a run ends that nobody has cancelled: a requeue that is remembered begins another one."""
STOPPED_AGAIN = VictimFate(Fate.RETURNED, say("fate.came_back"), settled=True)
"""A later run of it is a victim already."""

Jobs = Mapping[str, ObservedJob]
Endings = Mapping[str, Ending]


def note(actions: Iterable[PlannedAction]) -> None:
    """Follow the runs that these actions are sent to. Must run in the transaction that claims them."""
    now = clock.now()
    rows = [_row(action, now) for action in actions if action.kind in AT_WORK]
    Victim.objects.bulk_create(rows, ignore_conflicts=True, batch_size=300)


def follow_again(action: PlannedAction) -> None:
    """A stop that was given up has worked after all: what is known of the run does not stand any more."""
    note([action])
    rows = Victim.objects.filter(
        plan_id=action.plan_id,
        job_id=action.job_id,
        run_start=action.run_start,
        run_restarts=action.run_restarts,
    )
    rows.filter(fate=Fate.SPARED).update(fate=Fate.OPEN, words="", settled_at=None)


def _row(action: PlannedAction, now: datetime) -> Victim:
    return Victim(
        plan_id=action.plan_id,
        cluster_id=action.cluster_id,
        job_id=action.job_id,
        run_start=action.run_start,
        run_restarts=action.run_restarts,
        job_name=action.job_name,
        user=action.user,
        sent_at=now,
    )


def followed_jobs(cluster: Cluster) -> list[tuple[str, str]]:
    """The jobs that are followed, each with what became of its run so far. Only a cycle adds to them."""
    return _asked(_fates, cluster)


def ask_after(followed: Iterable[tuple[str, str]], jobs: Jobs, adapter: ClusterPort) -> Endings | None:
    """How those ended that are seen no more; None when the cluster does not answer. Not inside a transaction."""
    missing = {job_id for job_id, fate in followed if fate != Fate.LOST and job_id not in jobs}
    if not missing:
        return {}
    try:
        return adapter.ended(missing)
    except ClusterUnavailableError:
        return None


def _followed(cluster: Cluster) -> list[Victim]:
    """All that is known of them, with their plans."""
    return _asked(_with_plans, cluster)


def _asked(build: Callable[..., QuerySet[Victim, Row]], cluster: Cluster) -> list[Row]:
    now = clock.now()
    return kept_queries.rows(build, cluster.pk, lost=now - LOOKED_FOR, since=now - REMEMBER)


def _fates(cluster: int, lost: AskedMoment, since: AskedMoment) -> QuerySet[Victim, tuple[str, str]]:
    return _followed_since(cluster, lost, since).values_list("job_id", "fate")


def _with_plans(cluster: int, lost: AskedMoment, since: AskedMoment) -> QuerySet[Victim]:
    return _followed_since(cluster, lost, since).select_related("plan__cluster", "plan__cycle")


def _followed_since(cluster: int, lost: AskedMoment, since: AskedMoment) -> QuerySet[Victim]:
    """`lost`: since when those are looked for that have left and not come back."""
    recent = Q(sent_at__gte=lost) | (Q(sent_at__gte=since) & ~Q(fate=Fate.LOST))
    return Victim.objects.filter(recent | Q(fate=Fate.OPEN), cluster=cluster, settled_at=None)


@dataclass(slots=True)
class Following:
    """One cycle's look after all victims of a cluster. Must be used inside a transaction.

    `nobody`: it is known that none are followed. `paused`: an incident has paused a partition meanwhile. `held`: jobs
    that we hold until all of their group fit.
    """

    cluster: Cluster
    jobs: Jobs
    endings: Endings | None
    nobody: bool = False
    paused: bool = False
    held: frozenset[str] = frozenset()
    _rows: dict[int, list[Victim]] = field(default_factory=dict)
    _latest: dict[str, int] = field(default_factory=dict)
    """The latest run of each job that is followed, by its restarts."""

    def __post_init__(self) -> None:
        for row in () if self.nobody else _followed(self.cluster):
            self._rows.setdefault(row.plan_id, []).append(row)
            self._latest[row.job_id] = max(row.run_restarts, self._latest.get(row.job_id, 0))

    def settle(self, plan: Plan) -> bool:
        """Find out what became of a plan's victims; whether all are accounted for."""
        rows = self._rows.pop(plan.pk, [])
        if not rows:
            return True
        by_run: dict[RunKey, list[PlannedAction]] = {}
        for action in plan.actions.all():
            by_run.setdefault(run_of(action), []).append(action)
        for row in rows:
            run = RunKey(row.job_id, row.run_start, row.run_restarts)
            self._look_after(row, by_run.get(run, ()))
        return all(row.fate != Fate.OPEN for row in rows)

    def ended_in(self, run: RunKey) -> bool:
        """Whether the cluster tells that a job has failed or completed in just this run, and it is seen no more."""
        ending = None if self.endings is None or run.job_id in self.jobs else self.endings.get(run.job_id)
        return ending is not None and ending.kind in BY_ITSELF and ending.start == run.start

    def settle_others(self, plans: Iterable[Plan]) -> None:
        """The same for victims whose plans are over; `plans`: those that are not, or were not a moment ago."""
        under_way = {plan.pk for plan in plans}
        for plan_id, rows in self._rows.items():
            for row in rows if plan_id not in under_way else ():
                self._look_after(row, ())

    def _look_after(self, row: Victim, actions: Sequence[PlannedAction]) -> None:
        job, now = self.jobs.get(row.job_id), clock.now()
        ending = None if self.endings is None else self.endings.get(row.job_id)
        if job is None and self.endings is None:
            return
        if row.run_restarts < self._latest[row.job_id]:
            found: VictimFate | None = STOPPED_AGAIN
        else:
            found = account(row, job, steps_of(actions) if actions else NO_STEPS, ending, now)
        gone = job is None and (ending is None or ending.kind is EndKind.UNTOLD)
        since = (row.gone_since or now) if gone else None
        if found is None:
            if row.gone_since != since:
                row.gone_since = since
                row.save(update_fields=["gone_since"])
            return
        self._write(row, found, job, since)

    def _write(self, row: Victim, found: VictimFate, job: ObservedJob | None, since: datetime | None) -> None:
        now = clock.now()
        before = row.fate
        if found.fate == Fate.RETURNED and job is not None and row.back_restarts != job.restarts:
            row.back_restarts, row.back_at = job.restarts, now
        settled = row.settled_at or (now if found.settled else None)
        if (row.fate, row.words, row.settled_at, row.gone_since) == (
            found.fate, found.words, settled, since,
        ) and row.back_at != now:  # fmt: skip
            return
        row.fate, row.words, row.settled_at, row.gone_since = found.fate, found.words, settled, since
        row.save()
        if found.kind is not None and before != Fate.LOST:
            self.paused |= incidents.open_incident(row, found.kind)
        elif before == Fate.LOST and found.fate != Fate.LOST:
            incidents.close_found(row)


def told(plan: Plan) -> str:
    """What became of each victim, in sentences: `12 waits. 13 came back. 14 was lost.`"""
    by_fate: dict[str, list[str]] = {}
    for row in Victim.objects.filter(plan=plan):
        by_fate.setdefault(row.fate, []).append(row.job_id)
    said = []
    for fate in TOLD:
        jobs = sorted(by_fate.get(fate, ()), key=lambda job: (len(job), job))
        if len(jobs) == 1:
            said.append(say(f"fates.{fate.value}.one", job=jobs[0]))
        elif jobs:
            said.append(say(f"fates.{fate.value}.many", names=Listed(jobs)))
    return join(*said)


def fates_of(plan: Plan) -> dict[str, str]:
    """The same for the audit log: what became of each victim, by job."""
    return dict(Victim.objects.filter(plan=plan).values_list("job_id", "fate"))
