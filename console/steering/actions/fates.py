"""What became of one victim, by what is seen of its job and what the cluster tells of its end. Nothing is written here.

1. In the queue and not held by us: it waits. In a later run: it came back. In its own run, when the plan has nothing
   more to do to it: it was not stopped.
2. Not to be seen: how it ended, of squeue or sacct, says whose doing it was. Of what nobody tells it is lost after a
   while.
3. One that came back is watched for a minute: a run that fails so soon is no return.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.steering.models import STOP_KINDS, ActionState, Fate, IncidentKind, PlannedAction, Victim
from scheduler.model.actions import ActionKind, OutcomeKind
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

WATCHED = timedelta(minutes=1)
"""A job that fails within this time of its return has not come back."""
GONE_FOR = timedelta(seconds=10)
"""How long a job of which nobody knows anything is looked for: half a table may have been shown."""
UNTOLD_FOR = timedelta(minutes=10)
"""How long it is waited for those who could tell (slurmdbd)."""
TRIES = 12
"""So many times (a minute) it is tried to put a job back before it counts as lost; it is tried on all the same."""
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
    )


def _in_vain(action: PlannedAction) -> bool:
    """Whether putting it back was tried often enough."""
    return action.kind == ActionKind.RECOVER and action.attempts >= TRIES


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
    if job.held and (steps.to_release or steps.to_stop):
        return OPEN
    if job.held and later and _failed_to_launch(job):
        words = say("fate.not_launched", state=job.slurm_reason)
        return VictimFate(Fate.LOST, words, kind=IncidentKind.LAUNCH)
    return VictimFate(Fate.WAITING, say("fate.held") if job.held else say("fate.waits"))


def _failed_to_launch(job: ObservedJob) -> bool:
    """Slurm's own words for a job that a node could not start: `launch failed requeued held`."""
    return "launch failed" in job.slurm_reason.lower().replace("_", " ")


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
