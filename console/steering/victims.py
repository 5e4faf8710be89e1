"""The victims, followed: a row for each run that was sent a signal or a stop, until it is known what became of it.

No plan is over while one of its victims is not accounted for. A victim that does not come back opens an incident; one
that is seen again after all closes it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import Q, QuerySet

from console.cluster.models import Cluster
from console.core import clock
from console.steering import incidents
from console.steering.facts import run_of
from console.steering.models import STOP_KINDS, ActionState, Fate, IncidentKind, Plan, PlannedAction, Victim
from scheduler.model.actions import LEFT_HELD, ActionKind, OutcomeKind
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.sentence import Listed, join, say
from scheduler.ports import ClusterPort, ClusterUnavailableError

# What became of one victim, by what is seen of its job and what the cluster tells of its end. Nothing is written here.
#
# 1. In the queue and not held by us: it waits. In a later run: it came back. In its own run, when the plan has nothing
#    more to do to it: it was not stopped.
# 2. Not to be seen: how it ended, of squeue or sacct, says whose doing it was. Of what nobody tells it is lost after a
#    while.
# 3. One that came back is watched for a minute: a run that fails so soon is no return.

WATCHED = timedelta(minutes=1)
"""A job that fails within this time of its return has not come back."""
GONE_FOR = timedelta(seconds=10)
"""How long a job of which nobody knows anything is looked for: half a table may have been shown."""
UNTOLD_FOR = timedelta(minutes=10)
"""How long it is waited for those who could tell (slurmdbd)."""
TRIES = 12
"""So many times (a minute) it is tried to put a job back before it counts as lost; it is tried on all the same."""
RELEASES = 3
"""After so many refused releases, half a minute, somebody has to look at it; they are tried on."""
UNFINISHED = frozenset({ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED})
NOTHING_DONE = (OutcomeKind.GONE, OutcomeKind.REFUSED)


@dataclass(frozen=True, slots=True)
class VictimFate:
    """What became of a victim, in a sentence. `settled`: nothing more is to be looked for. `kind`: of the incident."""

    fate: Fate
    words: str = ""
    settled: bool = False
    kind: IncidentKind | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """What the plan still does, or has done, to one victim."""

    to_stop: bool = False
    """A signal, stop or recovery is not over."""
    to_release: bool = False
    cancels: bool = False
    touched: bool = True
    """Something was sent that may have reached it."""
    not_let_go: str = ""
    """What Slurm, or a plugin of the site, says to a release that was asked for again and again."""


OPEN = VictimFate(Fate.OPEN)
NO_STEPS = Steps()


def steps_of(actions: Iterable[PlannedAction]) -> Steps:
    """The steps of one plan for one run."""
    own = list(actions)
    sent = [a for a in own if a.kind in STOP_KINDS or a.kind == ActionKind.SIGNAL]
    return Steps(
        to_stop=any(a.state in UNFINISHED and not _in_vain(a) for a in sent),
        to_release=any(a.state in UNFINISHED for a in own if a.kind == ActionKind.RELEASE),
        cancels=any(a.kind == ActionKind.CANCEL and a.attempts for a in sent),
        touched=any(a.attempts and a.outcome not in NOTHING_DONE for a in sent),
        not_let_go=next((a.detail for a in own if _is_refused(a)), ""),
    )


def _in_vain(action: PlannedAction) -> bool:
    """Whether putting it back was tried often enough."""
    return action.kind == ActionKind.RECOVER and action.attempts >= TRIES


def _is_refused(action: PlannedAction) -> bool:
    said = action.outcome in (OutcomeKind.REFUSED, OutcomeKind.UNKNOWN) and action.detail
    again = action.kind == ActionKind.RELEASE and action.attempts >= RELEASES and action.state in UNFINISHED
    return bool(said) and again and action.detail not in LEFT_HELD


def account(
    victim: Victim, job: ObservedJob | None, steps: Steps, ending: Ending | None, now: datetime
) -> VictimFate | None:
    """What became of it; None while what is known of it stands."""
    if job is not None and job.user[:64] == (victim.user or job.user[:64]):
        return _of_seen(victim, job, steps, now)
    if steps.to_stop:
        return None
    if victim.fate == Fate.OPEN and steps.cancels:
        return VictimFate(Fate.CANCELLED, say("fate.cancelled_by_us"), settled=True)
    if victim.fate == Fate.OPEN and not steps.touched:
        return VictimFate(Fate.SPARED, say("fate.ended_before"), settled=True)
    if victim.fate == Fate.LOST:
        return None
    return _of_gone(victim, ending, now)


# --- Its job is seen --------------------------------------------------------------------------------------


def _of_seen(victim: Victim, job: ObservedJob, steps: Steps, now: datetime) -> VictimFate | None:
    if job.state == JobState.COMPLETING:
        return None
    later = job.restarts > victim.run_restarts
    if job.state == JobState.PENDING:
        return _of_waiting(victim, job, steps, later=later)
    if later:
        return _of_back(victim, job, now)
    return None if steps.to_stop else VictimFate(Fate.SPARED, say("fate.not_stopped"), settled=True)


def _of_waiting(victim: Victim, job: ObservedJob, steps: Steps, *, later: bool) -> VictimFate | None:
    if not job.held:
        return VictimFate(Fate.WAITING, say("fate.waits"))
    if steps.to_release or steps.to_stop:
        if not steps.not_let_go:
            return OPEN
        return VictimFate(Fate.LOST, say("fate.not_let_go", words=steps.not_let_go), kind=IncidentKind.LAUNCH)
    reason = job.slurm_reason.lower().replace("_", " ").strip()
    if later and _is_held_by_slurm(reason):
        words = say("fate.not_launched", state=job.slurm_reason)
        return VictimFate(Fate.LOST, words, kind=IncidentKind.LAUNCH)
    return VictimFate(Fate.WAITING, say(_HOLDERS.get(reason, "fate.held")))


_HOLDERS = {"jobhelduser": "fate.held_by_user", "jobheldadmin": "fate.held_by_admin"}


def _is_held_by_slurm(reason: str) -> bool:
    """Whether Slurm itself holds a job that came back: a node could not start it (`launch failed requeued held`), it
    was requeued too often (`JobHoldMaxRequeue`), no node fits any more (`BadConstraints`), a licence is gone.
    """
    return reason in {"badconstraints", "jobholdmaxrequeue"} or any(
        words in reason for words in ("failed", "limit exceeded", "no longer valid")
    )


def _of_back(victim: Victim, job: ObservedJob, now: datetime) -> VictimFate:
    same = victim.fate == Fate.RETURNED and victim.back_restarts == job.restarts
    over = same and victim.back_at is not None and abs(now - victim.back_at) >= WATCHED
    return VictimFate(Fate.RETURNED, say("fate.came_back"), settled=over)


# --- Its job is seen no more ------------------------------------------------------------------------------


def _of_gone(victim: Victim, ending: Ending | None, now: datetime) -> VictimFate | None:
    since = abs(now - (victim.gone_since or now))
    if ending is None or ending.kind is EndKind.UNTOLD:
        if since < (GONE_FOR if ending is None else UNTOLD_FOR):
            return None
        return VictimFate(Fate.LOST, say("fate.gone"), kind=IncidentKind.GONE)
    if ending.kind is EndKind.ALIVE:
        return None
    back = victim.fate == Fate.RETURNED
    ran_again = back or (ending.start is not None and ending.start > victim.run_start)
    if ending.kind is EndKind.FAILED:
        return _of_failed(ending, ran_again=ran_again)
    if back or (ran_again and ending.kind is EndKind.COMPLETED):
        return VictimFate(Fate.RETURNED, say("fate.came_back"), settled=True)
    return VictimFate(Fate.ENDED, _ended_words(ending), settled=True)


def _of_failed(ending: Ending, *, ran_again: bool) -> VictimFate:
    words = _failed_words(ending)
    if not ran_again:
        text = say("fate.failed", state=words)
        return VictimFate(Fate.LOST, text, kind=IncidentKind.FAILED)
    if ending.start is None or ending.end is None or ending.end - ending.start < WATCHED.total_seconds():
        return VictimFate(Fate.LOST, say("fate.failed_again", state=words), kind=IncidentKind.AT_ONCE)
    return VictimFate(Fate.RETURNED, say("fate.came_back"), settled=True)


def _failed_words(ending: Ending) -> str:
    """`FAILED, signal 10`, `FAILED, exit code 1`, `NODE_FAIL`."""
    if ending.signal:
        return f"{ending.state}, signal {ending.signal}"
    return f"{ending.state}, exit code {ending.exit_code}" if ending.exit_code else ending.state


def _ended_words(ending: Ending) -> str:
    if ending.kind is EndKind.COMPLETED:
        return say("fate.completed")
    if ending.kind is EndKind.TIMED_OUT:
        return say("fate.timed_out")
    return say("fate.cancelled_by", user=ending.by) if ending.by else say("fate.cancelled")


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
Row = TypeVar("Row")


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
    return list(build(cluster.pk, lost=now - LOOKED_FOR, since=now - REMEMBER))


def _fates(cluster: int, lost: datetime, since: datetime) -> QuerySet[Victim, tuple[str, str]]:
    return _followed_since(cluster, lost, since).values_list("job_id", "fate")


def _with_plans(cluster: int, lost: datetime, since: datetime) -> QuerySet[Victim]:
    return _followed_since(cluster, lost, since).select_related("plan__cluster", "plan__cycle")


def _followed_since(cluster: int, lost: datetime, since: datetime) -> QuerySet[Victim]:
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
